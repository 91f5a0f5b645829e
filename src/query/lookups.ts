/**
 * Single answers: an event, a transaction, what a database was at a revision or at a time.
 */
import { assert, type Instant, instantToMs } from '#base';
import {
  type DatabaseFacts,
  DatabaseReader,
  type DatabaseSource,
  databaseAt,
  findEvent,
  type KeptRefusal,
  refusalOf,
  revisionAtTime,
  type StoredEvent,
  type StoredTransaction,
} from '#database';
import type { Position } from '#model';

/** The event at a position; undefined when its transaction has fewer events. The revision is applied and not 0. */
export function eventAt(source: DatabaseSource, position: Position): StoredEvent | undefined {
  return new DatabaseReader(source).eventAt(position);
}

/** The event known by this id, the stored one, in this stream, if it was committed in the revisions up to `at`. */
export function eventById(
  source: DatabaseSource,
  at: number,
  wanted: { readonly stream: string; readonly id: string },
): StoredEvent | undefined {
  return findEvent(new DatabaseReader(source), { stream: wanted.stream, id: wanted.id, at });
}

/** The transaction of a revision, which is applied and not 0. */
export function transactionAt(source: DatabaseSource, revision: number): StoredTransaction {
  return new DatabaseReader(source).transaction(revision);
}

/** The transaction with this id, its 16 bytes, if it was committed in the revisions up to `at`. */
export function transactionById(source: DatabaseSource, at: number, id: Uint8Array): StoredTransaction | undefined {
  const reader = new DatabaseReader(source);
  const revision = reader.transactionRevision(id);
  return revision === undefined || revision > at ? undefined : reader.transaction(revision);
}

/** The latest refusal of this id that is kept, whether or not the id was committed since. */
export function refusalById(source: DatabaseSource, id: Uint8Array): KeptRefusal | undefined {
  return refusalOf(new DatabaseReader(source), id);
}

/** The facts of a revision, which is applied. */
export function databaseAtRevision(source: DatabaseSource, revision: number): DatabaseFacts {
  const reader = new DatabaseReader(source);
  const applied = reader.applied();
  assert(
    applied !== undefined && applied.revision >= revision,
    'A database is read at a revision it has applied',
    revision,
  );
  return databaseAt(reader, applied, revision);
}

/** The latest revision, at most `at`, that was recorded at the time or before; undefined before its creation. */
export function revisionAtTimestamp(source: DatabaseSource, at: number, time: Instant): number | undefined {
  const reader = new DatabaseReader(source);
  const applied = reader.applied();
  assert(applied !== undefined && applied.revision >= at, 'A database is read at a revision it has applied', at);
  const timeMs = instantToMs(time);
  return timeMs < applied.createdAtMs ? undefined : revisionAtTime(reader, at, timeMs);
}
