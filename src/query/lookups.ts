/** Lookups of one event, one transaction, or the facts of a database at a revision or time. */
import { assert, type Instant, instantToMs } from '#base';
import {
  type Applied,
  type DatabaseFacts,
  DatabaseReader,
  type DatabaseSource,
  databaseAt,
  findEvent,
  type KeptRefusal,
  lastRevision,
  refusalOf,
  type StoredEvent,
  type StoredTransaction,
} from '#database';
import { transactionOf } from './history-scan.ts';

/** The event with this stored id in this stream, if it was committed at or before revision `at`. */
export function eventById(
  source: DatabaseSource,
  at: number,
  wanted: { readonly stream: string; readonly id: string },
): Promise<StoredEvent | undefined> {
  return findEvent(new DatabaseReader(source), { stream: wanted.stream, id: wanted.id, at });
}

/** The transaction of a revision, which is applied and not 0. */
export function transactionAt(source: DatabaseSource, revision: number): Promise<StoredTransaction> {
  return transactionOf(new DatabaseReader(source), revision);
}

/** The transaction with this id (16 bytes), if it was committed at or before revision `at`. */
export async function transactionById(
  source: DatabaseSource,
  at: number,
  id: Uint8Array,
): Promise<StoredTransaction | undefined> {
  const reader = new DatabaseReader(source);
  const revision = reader.transactionRevision(id);
  return revision === undefined || revision > at ? undefined : transactionOf(reader, revision);
}

/** The latest stored refusal of this id, whether or not the id was committed since. */
export function refusalById(source: DatabaseSource, id: Uint8Array): Promise<KeptRefusal | undefined> {
  return refusalOf(new DatabaseReader(source), id);
}

/** The facts of an applied revision. */
export async function databaseAtRevision(source: DatabaseSource, revision: number): Promise<DatabaseFacts> {
  const reader = new DatabaseReader(source);
  return databaseAt(reader, appliedAt(reader, revision), revision);
}

/** The latest revision, at most `at`, recorded at or before the time; undefined before the database was created. */
export async function revisionAtTimestamp(
  source: DatabaseSource,
  at: number,
  time: Instant,
): Promise<number | undefined> {
  const reader = new DatabaseReader(source);
  const timeMs = instantToMs(time);
  if (timeMs < appliedAt(reader, at).createdAtMs) return undefined;
  // Recorded time never goes back (D5).
  return lastRevision(reader, { low: 0, high: at }, ({ recordedTimeMs }) => recordedTimeMs <= timeMs);
}

function appliedAt(reader: DatabaseReader, at: number): Applied {
  const applied = reader.applied();
  assert(applied !== undefined && applied.revision >= at, 'A database is read at a revision it has applied', at);
  return applied;
}
