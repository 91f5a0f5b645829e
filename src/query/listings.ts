/**
 * Which streams, subjects and event types a database has, at a revision.
 */
import { assert, decodeUtf8, encodeUtf8 } from '#base';
import { DatabaseReader, type DatabaseSource, HEAD_KIND, type HeadContent, type HeadKind, walkHeads } from '#database';
import type { Cancellation } from './query-events.ts';

export interface ListedName {
  readonly name: string;
  /** The revision of its first event. */
  readonly firstRevision: number;
}

export interface Listing {
  /** The revision to read at. It is applied before the listing begins. */
  readonly at: number;
  /** Only names that begin with it. */
  readonly prefix?: string | undefined;
  /** Only names behind it, in the order of their UTF-8 bytes. */
  readonly after?: string | undefined;
  /** Names at most; absent: all. */
  readonly limit?: number | undefined;
  readonly signal?: Cancellation | undefined;
}

export function listStreams(source: DatabaseSource, listing: Listing): AsyncGenerator<readonly ListedName[]> {
  return listNames(source, HEAD_KIND.STREAM, listing);
}

export function listSubjects(source: DatabaseSource, listing: Listing): AsyncGenerator<readonly ListedName[]> {
  return listNames(source, HEAD_KIND.SUBJECT, listing);
}

export function listEventTypes(source: DatabaseSource, listing: Listing): AsyncGenerator<readonly ListedName[]> {
  return listNames(source, HEAD_KIND.TYPE, listing);
}

/** Names in the order of their UTF-8 bytes, in slices that may be empty. */
async function* listNames(
  source: DatabaseSource,
  kind: HeadKind,
  listing: Listing,
): AsyncGenerator<readonly ListedName[]> {
  const { at, prefix = '', after, limit = Number.POSITIVE_INFINITY, signal } = listing;
  const behind = after === undefined ? {} : { after: encodeUtf8(after) };
  let left = limit;
  for await (const heads of walkHeads(new DatabaseReader(source), {
    kind,
    prefix: encodeUtf8(prefix),
    at,
    ...behind,
  })) {
    if (signal?.aborted === true) return;
    const names = heads.slice(0, left).map(listed);
    left -= names.length;
    yield names;
    if (left <= 0) return;
  }
}

function listed(head: HeadContent): ListedName {
  const name = head.name.term === undefined ? undefined : decodeUtf8(head.name.term);
  assert(name !== undefined, 'A listed name is UTF-8', head.name.term);
  return { name, firstRevision: head.firstRevision };
}
