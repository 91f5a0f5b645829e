/**
 * Kept refusals as the rows have them: the one of a transaction id, those behind an entry of the log, and what a node
 * asks and does after a crash.
 */
import { assert, ByteWriter, type LogIndex } from '#base';
import type { KvWriter } from '#kv';
import { NO_REFUSALS, type RefusalMark } from './applied.ts';
import { closeRow, isFaultOfRow, openRow, sealRow } from './corruption.ts';
import { numberOfRefusal } from './keys.ts';
import type { DatabaseReader } from './reader.ts';
import { type KeptRefusal, REFUSALS_KEPT, readRefusal } from './refusal-record.ts';
import type { HistoryCheck } from './verify.ts';
import { slices } from './walks.ts';

const PLACE_FORMAT = 1;

export function encodeRefusalPlace(number: number): Uint8Array {
  const row = new ByteWriter(16);
  row.u8(PLACE_FORMAT);
  row.varint(number);
  sealRow(row);
  return row.take();
}

export function readRefusalPlace(key: Uint8Array, value: Uint8Array): number {
  const row = openRow(key, value, PLACE_FORMAT);
  const number = row.varint();
  closeRow(key, row);
  return number;
}

/**
 * The latest refusal of the id that is kept; undefined when there is none. The id may have been committed since, which
 * is to be looked for first.
 */
export function refusalOf(reader: DatabaseReader, transactionId: Uint8Array): KeptRefusal | undefined {
  const placeKey = reader.keys.refusalPlace(transactionId);
  const place = reader.source.kv.get(placeKey);
  if (place === undefined) return undefined;
  const key = reader.keys.refusal(readRefusalPlace(placeKey, place)).slice();
  const value = reader.source.kv.get(key);
  // Between the two gets it may have become the oldest, and gone.
  return value === undefined ? undefined : readRefusal(key, value);
}

/** A refusal as it is sent to another replica. */
export interface StoredRefusal {
  readonly refusal: KeptRefusal;
  readonly value: Uint8Array;
}

/** Those that are kept behind the entry, in log order. */
export function refusalsBehind(reader: DatabaseReader, mark: RefusalMark, index: number): readonly StoredRefusal[] {
  const found: StoredRefusal[] = [];
  if (mark.index <= index) return found;
  for (let { number } = mark; number > 0; number--) {
    const key = reader.keys.refusal(number).slice();
    const value = reader.source.kv.get(key);
    if (value === undefined) break;
    const refusal = readRefusal(key, value);
    if (refusal.place.index <= index) break;
    found.push({ refusal, value });
  }
  return found.toReversed();
}

/**
 * Whether every refusal that came behind the durable entry, and is still kept, is here (D11): each batch with one holds
 * its row, so a batch that is missing shows.
 */
export function verifyRefusals(reader: DatabaseReader, durableIndex: LogIndex): HistoryCheck {
  const applied = reader.applied();
  assert(applied !== undefined, 'What is verified has an applied row');
  const { number: last, index } = applied.refusals;
  if (index <= durableIndex) return { kind: 'whole' };
  const broken = (fault: string): HistoryCheck => ({ kind: 'broken', revision: applied.revision, fault });
  try {
    for (let number = last; number > Math.max(0, last - REFUSALS_KEPT); number--) {
      const key = reader.keys.refusal(number).slice();
      const value = reader.source.kv.get(key);
      if (value === undefined) return broken(`refusal ${number} is missing`);
      if (readRefusal(key, value).place.index <= durableIndex) break;
    }
    return { kind: 'whole' };
  } catch (error) {
    if (!isFaultOfRow(error)) throw error;
    return broken(error.message);
  }
}

/**
 * Takes the refusals back to the durable entry: those behind it go. Those that they have pushed out stay away; the log
 * pushes them out once more. To be followed by `writeRefusalPlaces`, when what is derived is gone.
 */
export async function takeRefusalsBack(store: KvWriter, reader: DatabaseReader, index: LogIndex): Promise<RefusalMark> {
  let mark = NO_REFUSALS;
  const batch = store.batch();
  for await (const rows of slices(reader.source.kv.range(reader.keys.refusals()))) {
    for (const { key, value } of rows) {
      const { place } = readRefusal(key, value);
      if (place.index > index) batch.del(key);
      else mark = { number: numberOfRefusal(key), index: place.index };
    }
  }
  if (batch.count > 0) await store.write(batch);
  return mark;
}

/** Derives the rows of ids anew. */
export async function writeRefusalPlaces(store: KvWriter, reader: DatabaseReader): Promise<void> {
  const batch = store.batch();
  for await (const rows of slices(reader.source.kv.range(reader.keys.refusals()))) {
    for (const { key, value } of rows) {
      const { transactionId } = readRefusal(key, value);
      batch.put(reader.keys.refusalPlace(transactionId), encodeRefusalPlace(numberOfRefusal(key)));
    }
  }
  if (batch.count > 0) await store.write(batch);
}
