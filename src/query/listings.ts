/** Lists the streams, subjects and event types of a database at a revision. */
import { assert, decodeUtf8, encodeUtf8 } from '#base';
import { DatabaseReader, type DatabaseSource, HEAD_KIND, type HeadKind, walkHeads } from '#database';
import { historyCost } from './bounds.ts';
import { NamesInHistory } from './names-in-history.ts';
import type { Cancellation } from './query-events.ts';

export interface ListedName {
  readonly name: string;
  /** The revision of its first event. */
  readonly firstRevision: number;
}

export interface Listing {
  /** The revision of the read. It must be applied before. */
  readonly at: number;
  /** Only names with this prefix. */
  readonly prefix?: string | undefined;
  /** Only names after it, in the order of their UTF-8 bytes. */
  readonly after?: string | undefined;
  /** Maximum number of names; absent: all. */
  readonly limit?: number | undefined;
  readonly signal?: Cancellation | undefined;
}

export function listStreams(source: DatabaseSource, listing: Listing): AsyncGenerator<readonly ListedName[]> {
  return listNames(source, { kind: HEAD_KIND.STREAM, listing });
}

export function listSubjects(source: DatabaseSource, listing: Listing): AsyncGenerator<readonly ListedName[]> {
  return listNames(source, { kind: HEAD_KIND.SUBJECT, listing });
}

export function listEventTypes(source: DatabaseSource, listing: Listing): AsyncGenerator<readonly ListedName[]> {
  return listNames(source, { kind: HEAD_KIND.TYPE, listing });
}

/** Minimum number of skipped heads of later names before the history is considered. */
const HEADS_SKIPPED_MIN = 256;
/** Maximum number of names in memory during one walk over the history. */
const NAMES_MAX = 16_384;
const NAMES_PER_SLICE = 256;

export interface NamesToList {
  readonly kind: HeadKind;
  readonly listing: Listing;
  /** Skipped heads of later names before a walk over the history; default: the cost of that walk. */
  readonly headsSkippedMax?: number;
  /** Names in memory during a walk over the history; default NAMES_MAX. */
  readonly namesMax?: number;
}

/**
 * Names in the order of their UTF-8 bytes, in slices that may be empty.
 *
 * There are two ways. The heads are in order, but include names that appeared after the revision; the history up to
 * the revision has no later names, but all of it must be read before the first name is known. So the listing reads
 * heads until the skipped ones have cost as much as the history would, then finds the next NAMES_MAX names in the
 * history, and alternates. (Q4)
 */
export async function* listNames(source: DatabaseSource, wanted: NamesToList): AsyncGenerator<readonly ListedName[]> {
  const { at, after, limit = Number.POSITIVE_INFINITY } = wanted.listing;
  const reader = new DatabaseReader(source, { lends: true });
  const place: Place = { after: after === undefined ? undefined : encodeUtf8(after), left: limit };
  let goesOn = at > 0 && limit > 0;
  try {
    while (goesOn)
      goesOn = (yield* listHeads(reader, wanted, place)) && (yield* listFromHistory(reader, wanted, place));
  } finally {
    reader.release();
  }
}

/** Progress of a listing. */
interface Place {
  after: Uint8Array | undefined;
  left: number;
}

/** Lists from the heads. Returns true when they have become too expensive, false when the listing is done. */
async function* listHeads(
  reader: DatabaseReader,
  { kind, listing, headsSkippedMax }: NamesToList,
  place: Place,
): AsyncGenerator<readonly ListedName[], boolean> {
  const { at, prefix = '', signal } = listing;
  const walk = { kind, prefix: encodeUtf8(prefix), ...(place.after === undefined ? {} : { after: place.after }) };
  let skipped = 0;
  let skippedMax = headsSkippedMax ?? HEADS_SKIPPED_MIN;
  for await (const heads of walkHeads(reader, walk)) {
    if (signal?.aborted === true) return false;
    const names = heads.filter(({ firstRevision }) => firstRevision <= at);
    yield names.slice(0, place.left).map(({ name, firstRevision }) => listed(name.term, firstRevision));
    place.left -= names.length;
    if (place.left <= 0) return false;
    place.after = heads.at(-1)?.name.term ?? place.after;
    skipped += heads.length - names.length;
    if (skipped >= skippedMax) skippedMax = headsSkippedMax ?? skippedMaxOf(reader, at);
    if (skipped >= skippedMax) return true;
  }
  return false;
}

function skippedMaxOf(reader: DatabaseReader, at: number): number {
  return Math.max(HEADS_SKIPPED_MIN, historyCost(reader, { first: 1, last: at }));
}

/** Lists from the history. Returns true when there may be more names, false when the listing is done. */
async function* listFromHistory(
  reader: DatabaseReader,
  { kind, listing, namesMax = NAMES_MAX }: NamesToList,
  place: Place,
): AsyncGenerator<readonly ListedName[], boolean> {
  const { at, prefix = '', signal } = listing;
  const max = Math.min(place.left, namesMax);
  const walk = new NamesInHistory(reader, { kind, at, prefix: encodeUtf8(prefix), after: place.after, max });
  while (await walk.step()) {
    reader.release();
    yield [];
    if (signal?.aborted === true) return false;
  }
  const { names, overflowed } = walk.take();
  for (let from = 0; from < names.length; from += NAMES_PER_SLICE) {
    const slice = names.slice(from, from + NAMES_PER_SLICE);
    yield slice.map(({ term, firstRevision }) => listed(term, firstRevision));
    if (signal?.aborted === true) return false;
  }
  place.left -= names.length;
  place.after = names.at(-1)?.term ?? place.after;
  return overflowed && place.left > 0;
}

function listed(term: Uint8Array | undefined, firstRevision: number): ListedName {
  const name = term === undefined ? undefined : decodeUtf8(term);
  assert(name !== undefined, 'A listed name is UTF-8', term);
  return { name, firstRevision };
}
