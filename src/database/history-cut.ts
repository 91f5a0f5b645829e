/**
 * Cuts the bytes of a history, as they arrive, into whole records, and ends before the first one after a point.
 */
import { concatBytes, DatabaseError, NO_BYTES } from '#base';
import { RECORD } from '#kv';
import { decodeDefinitionEntry } from '#model';
import { isControl, type LogPlace, readRecords, type StoredRecord } from './record.ts';
import { readRefusal } from './refusal-record.ts';

/** The last record to keep has at most this revision, and was recorded at this time at the latest. Absent: any. */
export interface CutPoint {
  readonly revision?: number | undefined;
  readonly timeMs?: number | undefined;
}

export class HistoryCut {
  readonly #revisionMax: number;
  readonly #timeMsMax: number;
  /** Position after the records that were returned. */
  #end = 0;
  /** Bytes after them that are no whole record yet. */
  #rest: Uint8Array = NO_BYTES;
  #isOver = false;

  constructor({ revision = Number.POSITIVE_INFINITY, timeMs = Number.POSITIVE_INFINITY }: CutPoint) {
    this.#revisionMax = revision;
    this.#timeMsMax = timeMs;
  }

  /** The record after the point has come: nothing more is returned. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** True if the bytes so far end inside a record. */
  get isCut(): boolean {
    return !this.#isOver && this.#rest.length > 0;
  }

  /** The records that the next bytes complete, and the log place of the last one; undefined when there is none. */
  take(bytes: Uint8Array): { readonly data: Uint8Array; readonly last: LogPlace } | undefined {
    if (this.#isOver) return undefined;
    const all = concatBytes([this.#rest, bytes]);
    const records = readRecords(all, this.#end) ?? [];
    if (typeof records === 'string') {
      throw new DatabaseError('internal', `The record at ${this.#end} of the history cannot be read: ${records}`);
    }
    const behind = records.findIndex((record) => this.#isBehind(record));
    this.#isOver = behind >= 0;
    const last = behind >= 0 ? records[behind - 1] : records.at(-1);
    const from = this.#end;
    this.#end = last?.end ?? from;
    const data = all.subarray(0, this.#end - from);
    this.#rest = all.subarray(data.length);
    return last === undefined ? undefined : { data, last: last.place };
  }

  #isBehind(record: StoredRecord): boolean {
    return record.revision > this.#revisionMax || recordedTimeOf(record) > this.#timeMsMax;
  }
}

/** A record that cannot be read is refused when it is imported. */
function recordedTimeOf(record: StoredRecord): number {
  if (!isControl(record)) return record.recordedTimeMs;
  const read = record.kind === RECORD.DEFINITION ? decodeDefinitionEntry(record.payload) : readRefusal(record);
  return read?.recordedTimeMs ?? 0;
}
