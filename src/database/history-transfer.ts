/**
 * Sends a history to a replica that has less of it: the records after those that it has, in parts (D16).
 *
 * ```
 * part := record*
 * ```
 * It ends at the applied row as it is when the export begins. That is a consistent mark without a snapshot of the
 * store: records never change, and later ones are after the mark (D3, D7). Each record names its entry in the log, so
 * every part ends at a known log index.
 */
import { messageOf } from '#base';
import { faultInBody } from '#model';
import type { Applied } from './applied.ts';
import type { GroupMark } from './applied-state.ts';
import { HistoryChain, type HistoryPoint } from './chain.ts';
import { compareHistory, decodePoint } from './compare-history.ts';
import { unexpectedRow } from './corruption.ts';
import { DatabaseReader, type DatabaseSource } from './reader.ts';
import { isControl, type LogPlace, readRecords, type StoredRecord } from './record.ts';

/** Complete records; none when only the log index is left to send. */
export interface HistoryPart {
  readonly data: Uint8Array;
  /** Log index of a replica after it has installed the part. */
  readonly last: LogPlace;
  readonly isLast: boolean;
}

export class HistoryExport {
  readonly #reader: DatabaseReader;
  readonly #mark: Applied;
  /** Position of the next record. */
  #at: number;

  /** Begins after the point that a replica has reached. As text: why its history is not a prefix of this one. */
  static open(source: DatabaseSource, there: Uint8Array): HistoryExport | string {
    const point = decodePoint(there);
    if (point === undefined) return 'it does not say where it ends';
    const verdict = compareHistory(source, point);
    if (typeof verdict === 'object') return `${verdict.what} is ${verdict.there} there, and ${verdict.here} here`;
    return new HistoryExport(source, verdict === 'beyond' ? undefined : point);
  }

  /** Without a point the other replica has more than this one, and needs nothing. */
  private constructor(source: DatabaseSource, point: HistoryPoint | undefined) {
    const reader = new DatabaseReader(source, { lends: true });
    const mark = reader.applied();
    if (mark === undefined) throw unexpectedRow(reader.keys.applied(), 'the applied row is missing');
    this.#reader = reader;
    this.#mark = mark;
    this.#at = point === undefined ? mark.end : endOf(reader, point);
  }

  /** The members of the group at the mark. */
  get group(): GroupMark {
    return this.#mark.group;
  }

  /** The next part, of at most so many bytes, or of one record. Not called again after the last one. */
  async next(bytesMax: number): Promise<HistoryPart> {
    const { index, term, end: to } = this.#mark;
    if (this.#at >= to) return { data: new Uint8Array(0), last: { index, term }, isLast: true };
    this.#reader.release();
    const { bytes, end, place } = await this.#reader.recordBytes({ from: this.#at, to }, bytesMax);
    this.#at = end;
    const isLast = end === to;
    return { data: bytes.slice(), last: isLast ? { index, term } : place, isLast };
  }
}

/** Position after the records up to the point. */
function endOf(reader: DatabaseReader, { revision, control }: HistoryPoint): number {
  const transactions = revision === 0 ? 0 : reader.transactionHead(revision).end;
  return Math.max(transactions, control === undefined ? 0 : reader.controlAt(control.position).end);
}

/** Records of another replica that continue a history; `data` has their bytes. */
export interface CheckedRecords {
  readonly records: readonly StoredRecord[];
  readonly data: Uint8Array;
}

/**
 * Checks that the records of another replica continue at the end of this one, and are complete. It changes nothing, and
 * returns a fault as text, because the other replica may be the damaged one. `DatabaseMachine.install` installs checked
 * records.
 */
export class HistoryImport {
  readonly #source: DatabaseSource;
  #chain: HistoryChain;
  #end: number;

  constructor(source: DatabaseSource, applied: Applied) {
    this.#source = source;
    this.#chain = new HistoryChain(source.sha256, applied);
    this.#end = applied.end;
  }

  /** End of the valid records so far. */
  get point(): HistoryPoint {
    return this.#chain;
  }

  /** Log index of that end. */
  get index(): number {
    return this.#chain.index;
  }

  /** The records of a part, or its fault; then none of them counts. */
  take(data: Uint8Array): CheckedRecords | string {
    try {
      const chain = new HistoryChain(this.#source.sha256, this.#chain);
      const records = this.#read(data, chain);
      if (typeof records === 'string') return `After revision ${chain.revision} and entry ${chain.index}: ${records}`;
      this.#chain = chain;
      this.#end += data.length;
      return { records, data };
    } catch (error) {
      return messageOf(error);
    }
  }

  #read(data: Uint8Array, chain: HistoryChain): readonly StoredRecord[] | string {
    const records = readRecords(data, this.#end) ?? [];
    if (typeof records === 'string') return records;
    for (const record of records) {
      const fault = chain.take(record);
      if (fault !== undefined) return fault;
      if (isControl(record)) continue;
      // The chain hash says only that the sender has this body. Readers of stored events trust their form.
      const faultInside = faultInBody(record.view.body);
      if (faultInside !== undefined) return `in revision ${record.revision}, ${faultInside}`;
    }
    return (records.at(-1)?.end ?? this.#end) === this.#end + data.length ? records : 'it ends inside a record';
  }
}
