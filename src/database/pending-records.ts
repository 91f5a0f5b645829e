/**
 * The records of one flush, from their decision until they are in the store, and the rows with the positions of
 * records.
 */
import { assert, ByteWriter, type GroupId } from '#base';
import type { KvBatch, SegmentStart } from '#kv';
import { putRow } from './corruption.ts';
import type { RowKeys } from './keys.ts';
import type { EventPlace } from './posting.ts';
import { type ControlToWrite, type RecordToWrite, readTransaction, writeControl, writeRecord } from './record.ts';
import { writeNumberRow } from './small-rows.ts';

/** Most databases are written now and then, a little at a time; one that gets more has grown them once. */
const START_BYTES = 1024;

/** A pending event: canonical bytes, and the id it is stored under if that is not the one in them. */
export interface PendingEvent {
  readonly bytes: Uint8Array;
  readonly storedId?: string | undefined;
}

interface PendingRow {
  readonly key: Uint8Array;
  readonly position: number;
}

export class PendingRecords {
  readonly #records = new ByteWriter(START_BYTES);
  readonly #scratch = new ByteWriter();
  readonly #row = new ByteWriter(32);
  #segments: SegmentStart[] = [];
  /** Position of the first record in the history. */
  #position = 0;
  #firstRevision = 0;
  /** Positions of the records of consecutive revisions. */
  readonly #starts: number[] = [];
  /** The rows of control records. A later row replaces an earlier one with the same key. */
  readonly #rows: PendingRow[] = [];

  /** Bytes of all records so far. */
  get byteLength(): number {
    return this.#records.length;
  }

  /** Position after the records. */
  get #end(): number {
    return this.#position + this.#records.length;
  }

  /** The next record begins at this position. */
  begin(position: number): void {
    if (this.#records.length === 0) this.#position = position;
  }

  /** It begins a segment, too. */
  beginSegment(start: SegmentStart): void {
    this.#segments.push(start);
  }

  /** Notes where the record of the next revision begins. */
  note(revision: number, start: number): void {
    if (this.#starts.length === 0) this.#firstRevision = revision;
    this.#starts.push(start);
  }

  /** Notes a row with the position of a control record. */
  noteRow(row: PendingRow): void {
    this.#rows.push(row);
  }

  /** Appends the record that was begun last; returns the position of its body. */
  append(record: RecordToWrite): number {
    return this.#position + writeRecord(this.#records, this.#scratch, record);
  }

  /** The same for a control record; returns the position after it. */
  appendControl(record: ControlToWrite): number {
    writeControl(this.#records, this.#scratch, record);
    return this.#end;
  }

  /** The same for a record of another replica. */
  appendWhole(bytes: Uint8Array): void {
    this.#records.bytes(bytes);
  }

  /** The event at a place among the records that were appended. */
  event({ revision, index }: EventPlace): PendingEvent {
    const start = (this.#starts[revision - this.#firstRevision] ?? 0) - this.#position;
    const transaction = readTransaction(this.#records.view(), start, this.#position);
    assert(typeof transaction === 'object', 'A pending transaction has its record here', [revision, transaction]);
    const { bytes, view } = transaction;
    const storedId = transaction.storedIds.find((stored) => stored.index === index)?.id;
    return { bytes: bytes.subarray(view.body.eventStarts[index], view.body.eventEnds[index]), storedId };
  }

  flushInto(batch: KvBatch, keys: RowKeys, group: GroupId): void {
    for (const [place, start] of this.#starts.entries()) {
      this.#put(batch, keys.position(this.#firstRevision + place), start);
    }
    for (const { key, position } of this.#rows) this.#put(batch, key, position);
    if (this.#records.length === 0) return;
    batch.append(group, { position: this.#position, bytes: this.#records.view(), segments: this.#segments });
  }

  clear(): void {
    this.#records.reset();
    this.#starts.length = 0;
    this.#rows.length = 0;
    // The store may still have the array that it was given.
    this.#segments = [];
  }

  #put(batch: KvBatch, key: Uint8Array, position: number): void {
    this.#row.reset();
    writeNumberRow(this.#row, position);
    putRow(batch, key, this.#row);
  }
}
