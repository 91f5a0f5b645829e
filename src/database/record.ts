/**
 * One transaction as the log keeps it: the proto message `LoggedTransaction`, and inside it `TransactionBody`.
 *
 * ```
 * record  08 revision | 12 20 chain hash (32) | (1a stored id)* | 20 total events | 7a length body
 * body    09 recorded time ms (8, little-endian) | 12 10 transaction id (16) | 18 origin | 22 options | (7a length event)*
 * ```
 * Fields stand in this order; those with their default value are left out. Here they are only found, by offset: what
 * options and events hold is the business of #model.
 */
import { ByteReader, type ByteWriter, encodeUtf8, varintLength } from '#base';
import { HASH_BYTES } from './applied.ts';

const TAG = { REVISION: 0x08, CHAIN_HASH: 0x12, STORED_ID: 0x1a, TOTAL_EVENTS: 0x20, BODY: 0x7a } as const;
const BODY_TAG = { RECORDED_TIME: 0x09, TRANSACTION_ID: 0x12, ORIGIN: 0x18, OPTIONS: 0x22, EVENT: 0x7a } as const;
const STORED_ID_TAG = { INDEX: 0x08, ID: 0x12 } as const;
const TRANSACTION_ID_BYTES = 16;

/** Where the recorded time stands in a body: 8 bytes, little-endian, behind their tag. */
export const RECORDED_TIME_AT = 1;

/** A stored event id that is not the one the client wrote. */
export interface StoredId {
  /** Place of the event in its transaction, 0-based. */
  readonly index: number;
  readonly id: string;
}

export interface RecordHead {
  readonly revision: number;
  readonly chainHash: Uint8Array;
  readonly storedIds: readonly StoredId[];
  /** Events in the revisions 1 to `revision`. */
  readonly totalEvents: number;
}

/** A record's head, and where its body is in the array that was read. */
export interface RecordView extends RecordHead {
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

/** A body's parts by offset in the array that was read; a start of −1 means absent. */
export interface BodyView {
  readonly recordedTimeMs: number;
  readonly transactionIdStart: number;
  readonly origin: number;
  readonly optionsStart: number;
  readonly optionsEnd: number;
  /** Start of the first event's tag. */
  readonly eventsStart: number;
  readonly end: number;
}

/** Writes a record up to its body, including the body's tag and length. Returns the count of bytes. */
export function writeRecordHead(into: ByteWriter, head: RecordHead, bodyLength: number): number {
  const from = into.length;
  into.u8(TAG.REVISION);
  into.varint(head.revision);
  into.u8(TAG.CHAIN_HASH);
  into.u8(HASH_BYTES);
  into.bytes(head.chainHash);
  for (const stored of head.storedIds) writeStoredId(into, stored);
  if (head.totalEvents > 0) {
    into.u8(TAG.TOTAL_EVENTS);
    into.varint(head.totalEvents);
  }
  into.u8(TAG.BODY);
  into.varint(bodyLength);
  return into.length - from;
}

function writeStoredId(into: ByteWriter, stored: StoredId): void {
  const id = encodeUtf8(stored.id);
  const indexBytes = stored.index === 0 ? 0 : 1 + varintLength(stored.index);
  into.u8(TAG.STORED_ID);
  into.varint(indexBytes + 1 + varintLength(id.length) + id.length);
  if (stored.index !== 0) {
    into.u8(STORED_ID_TAG.INDEX);
    into.varint(stored.index);
  }
  into.u8(STORED_ID_TAG.ID);
  into.varint(id.length);
  into.bytes(id);
}

/** Undefined when the bytes `[from, to)` are not a record. */
export function readRecord(bytes: Uint8Array, from: number, to: number): RecordView | undefined {
  const reader = new ByteReader(bytes, from, to);
  if (reader.u8() !== TAG.REVISION) return undefined;
  const revision = reader.varint();
  if (reader.u8() !== TAG.CHAIN_HASH || reader.u8() !== HASH_BYTES) return undefined;
  const chainHash = reader.bytes(HASH_BYTES);
  const storedIds: StoredId[] = [];
  let tag = reader.u8();
  for (; tag === TAG.STORED_ID; tag = reader.u8()) {
    const stored = readStoredId(reader);
    if (stored === undefined) return undefined;
    storedIds.push(stored);
  }
  let totalEvents = 0;
  if (tag === TAG.TOTAL_EVENTS) {
    totalEvents = reader.varint();
    tag = reader.u8();
  }
  const bodyLength = reader.varint();
  if (tag !== TAG.BODY || reader.failed || bodyLength !== reader.left) return undefined;
  return { revision, chainHash, storedIds, totalEvents, bodyStart: reader.at, bodyEnd: to };
}

function readStoredId(reader: ByteReader): StoredId | undefined {
  const end = reader.varint() + reader.at;
  let tag = reader.u8();
  let index = 0;
  if (tag === STORED_ID_TAG.INDEX) {
    index = reader.varint();
    tag = reader.u8();
  }
  const id = reader.utf8(reader.varint());
  if (tag !== STORED_ID_TAG.ID || reader.failed || reader.at !== end) return undefined;
  return { index, id };
}

/** Undefined when the bytes `[from, to)` are not a body; its events are found, not looked into. */
export function readBody(bytes: Uint8Array, from: number, to: number): BodyView | undefined {
  const reader = new ByteReader(bytes, from, to);
  if (reader.u8() !== BODY_TAG.RECORDED_TIME) return undefined;
  const recordedTimeMs = reader.u64le();
  let transactionIdStart = -1;
  let origin = 0;
  let optionsStart = -1;
  let optionsEnd = -1;
  let at = reader.at;
  while (reader.left > 0) {
    at = reader.at;
    const tag = reader.u8();
    if (tag === BODY_TAG.EVENT) break;
    if (tag === BODY_TAG.TRANSACTION_ID) {
      if (reader.varint() !== TRANSACTION_ID_BYTES) return undefined;
      transactionIdStart = reader.at;
      reader.skip(TRANSACTION_ID_BYTES);
    } else if (tag === BODY_TAG.ORIGIN) {
      origin = reader.varint();
    } else if (tag === BODY_TAG.OPTIONS) {
      const length = reader.varint();
      optionsStart = reader.at;
      reader.skip(length);
      optionsEnd = reader.at;
    } else return undefined;
    at = reader.at;
  }
  if (reader.failed) return undefined;
  return { recordedTimeMs, transactionIdStart, origin, optionsStart, optionsEnd, eventsStart: at, end: to };
}

/** A walk over the events of a body: `[start, end)` is the current one, `offset` the place of its length. */
export class EventWalk {
  offset = 0;
  start = 0;
  end = 0;
  #reader: ByteReader;

  constructor(bytes: Uint8Array, body: BodyView) {
    this.#reader = new ByteReader(bytes, body.eventsStart, body.end);
  }

  /** False at the end, and when what follows is no event (`failed` tells). */
  next(): boolean {
    if (this.#reader.left === 0) return false;
    if (this.#reader.u8() !== BODY_TAG.EVENT) return this.#stop();
    this.offset = this.#reader.at;
    const length = this.#reader.varint();
    this.start = this.#reader.at;
    this.#reader.skip(length);
    this.end = this.#reader.at;
    return !this.#reader.failed;
  }

  get failed(): boolean {
    return this.#reader.failed;
  }

  #stop(): false {
    this.#reader.skip(-1);
    return false;
  }
}
