/**
 * The records of one flush, from the moment that their transactions are decided until they are in the store, and where
 * the records of these revisions begin.
 */
import { assert, ByteWriter, type GroupId } from '#base';
import type { KvBatch, SegmentStart } from '#kv';
import type { RowKeys } from './keys.ts';
import type { EventPlace } from './posting.ts';
import { type RecordToWrite, readRecord, writeRecord } from './record.ts';
import { writePositionRow } from './small-rows.ts';

/** Most databases are written now and then, a little at a time; one that gets more has grown them once. */
const START_BYTES = 1024;

/** A pending event: canonical bytes, and the id it is stored under if that is not the one in them. */
export interface PendingEvent {
  readonly bytes: Uint8Array;
  readonly storedId?: string | undefined;
}

export class PendingRecords {
  readonly #records = new ByteWriter(START_BYTES);
  readonly #scratch = new ByteWriter();
  readonly #row = new ByteWriter(32);
  #segments: SegmentStart[] = [];
  #firstRevision = 0;
  /** Positions of the records of consecutive revisions. */
  readonly #starts: number[] = [];

  /** Bytes of all records so far. */
  get byteLength(): number {
    return this.#records.length;
  }

  /** The record appended next begins a segment. */
  beginSegment(start: SegmentStart): void {
    this.#segments.push(start);
  }

  /** Notes where the record of the next revision begins. */
  note(revision: number, start: number): void {
    if (this.#starts.length === 0) this.#firstRevision = revision;
    this.#starts.push(start);
  }

  /** Appends the record that was noted last; returns the position of its body. */
  append(record: RecordToWrite): number {
    return this.#position + writeRecord(this.#records, this.#scratch, record);
  }

  /** The event at a place among the records that were appended. */
  event({ revision, index }: EventPlace): PendingEvent {
    const start = (this.#starts[revision - this.#firstRevision] ?? 0) - this.#position;
    const transaction = readRecord(this.#records.view(), start, this.#position);
    assert(typeof transaction === 'object', 'A pending transaction has its record here', [revision, transaction]);
    const { bytes, view } = transaction;
    const storedId = transaction.storedIds.find((stored) => stored.index === index)?.id;
    return { bytes: bytes.subarray(view.body.eventStarts[index], view.body.eventEnds[index]), storedId };
  }

  flushInto(batch: KvBatch, keys: RowKeys, group: GroupId): void {
    for (const [place, start] of this.#starts.entries()) {
      this.#row.reset();
      writePositionRow(this.#row, start);
      batch.put(keys.position(this.#firstRevision + place), this.#row.view());
    }
    if (this.#records.length === 0) return;
    batch.append(group, { position: this.#position, bytes: this.#records.view(), segments: this.#segments });
  }

  clear(): void {
    this.#records.reset();
    this.#starts.length = 0;
    // The store may still have the array that it was given.
    this.#segments = [];
  }

  /** Of the first record. */
  get #position(): number {
    return this.#starts[0] ?? 0;
  }
}
