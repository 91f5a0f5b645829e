/**
 * The facts of a database at one of its revisions, and the revision that it had reached at a time.
 */
import { type DatabaseId, parseUuid, type Sha256, toLogIndex, toRevision, toTerm } from '#base';
import type { Applied } from './applied.ts';
import type { DatabaseReader } from './reader.ts';
import type { TransactionHead } from './record.ts';

/** At revision 0 the recorded time is that of creation. */
export type DatabaseFacts = Pick<TransactionHead, 'revision' | 'recordedTimeMs' | 'chainHash' | 'totalEvents'>;

/** H(0) = SHA-256(the 16 bytes of the id of the instance that the history began with). */
export function genesisHash(sha256: Sha256, rootId: string): Uint8Array {
  return sha256([parseUuid(rootId) ?? new Uint8Array(0)]);
}

/** A database as the catalog creates it. */
export interface NewDatabase {
  readonly databaseId: DatabaseId;
  /** The instance that its history began with, if it is not its own. */
  readonly rootId?: DatabaseId | undefined;
  readonly createdAtMs: number;
  /** First membership of its group, as opaque bytes. */
  readonly membership: Uint8Array;
}

const FIRST_ID = 1;

/** The state of a database at revision 0. */
export function newDatabase(sha256: Sha256, { databaseId, rootId = databaseId, ...rest }: NewDatabase): Applied {
  const { createdAtMs, membership } = rest;
  return {
    databaseId,
    rootId,
    createdAtMs,
    index: toLogIndex(0),
    term: toTerm(0),
    logStart: toLogIndex(0),
    group: { index: toLogIndex(0), membership },
    revision: toRevision(0),
    chainHash: genesisHash(sha256, rootId),
    recordedTimeMs: createdAtMs,
    totalEvents: 0,
    end: 0,
    segmentStart: 0,
    nextStreamId: FIRST_ID,
    nextTypeId: FIRST_ID,
    nextSourceId: FIRST_ID,
    definitions: 0,
    control: undefined,
  };
}

/** The facts of a revision that is applied. */
export async function databaseAt(reader: DatabaseReader, applied: Applied, revision: number): Promise<DatabaseFacts> {
  // The applied row has the facts of the latest revision.
  if (revision === applied.revision) return applied;
  if (revision > 0) return reader.headLater(revision);
  const chainHash = genesisHash(reader.source.sha256, applied.rootId);
  return { revision, recordedTimeMs: applied.createdAtMs, chainHash, totalEvents: 0 };
}

/**
 * The latest revision within `(low, high]` whose head passes the test; `low` when there is none. After a revision that
 * fails none may pass, so this is a binary search: a get and a read for each step.
 */
export async function lastRevision(
  reader: DatabaseReader,
  { low, high }: { readonly low: number; readonly high: number },
  passes: (head: TransactionHead) => boolean,
): Promise<number> {
  let [last, end] = [low, high];
  while (last < end) {
    const middle = Math.ceil((last + end) / 2);
    if (passes(await reader.headLater(middle))) last = middle;
    else end = middle - 1;
  }
  return last;
}
