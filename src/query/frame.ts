/**
 * Encodes events for the wire: the stored bytes, followed by the server fields, collected in one buffer.
 *
 * ```
 * event      canonical bytes | suffix
 * suffix     13 revision | 14 index, unless 0 | 15 recorded time | 8 {"revision": text}, log scans | 1 stored id, if other
 *
 * messages   (00 length(u32 BE) event)*                      Event after Event, each framed for gRPC
 * replies    (00 length(u32 BE) 0A length event)*            the same, each inside a SubscribeEventsReply
 * batch       00 length(u32 BE) (0A length event)* 10 read at   one EventBatch
 * log         00 length(u32 BE) (0A length transaction)*        one LogBatch
 * ```
 * The last value of a repeated protobuf field wins, so the stored id goes after the client's. An event is copied once,
 * from where it was read to the buffer; the common suffix of a transaction is encoded once. Nothing is decoded, and
 * nothing is allocated per event. (Q9)
 */
import { assert, encodeUtf8, NO_BYTES, varintLength } from '#base';
import type { StoredEvent } from '#database';

/** Wrapping of the events, as pictured above. */
export type Framing = 'messages' | 'replies' | 'batch';

export interface FrameOptions {
  readonly framing: Framing;
  /** True adds the extension attribute "revision", which ScanDatabaseLog promises. Default false. */
  readonly logScan?: boolean;
  /** The revision that each batch reports as its read revision; absent: none. */
  readonly readAt?: number;
  /** Initial capacity; a buffer that is taken before it is full never grows. Default 64 KiB. */
  readonly startBytes?: number;
}

const START_BYTES = 64 * 1024;
const HEADER_BYTES = 5;
/** Fields 13 and 15 and the extension, with the largest numbers, take 53 bytes. */
const SUFFIX_BYTES_MAX = 64;
/** Header, tag and length of the wrapped event, field 14. */
const WRAPPING_BYTES_MAX = HEADER_BYTES + 6 + 6;
/** Length from which a view and a native copy cost less than a loop. */
const LONG_RUN_BYTES = 64;

const TAG_ID = 0x0a;
const TAG_WRAPPED = 0x0a;
const TAG_READ_AT = 0x10;
const READ_AT_BYTES_MAX = 9;
const TAG_EXTENSIONS = 0x42;
const TAG_REVISION = 0x68;
const TAG_INDEX = 0x70;
const TAG_RECORDED_TIME = 0x7a;
/** Beginning of an entry of the extensions: the key, and a CloudEventAttributeValue of kind ce_string. */
const REVISION_KEY = encodeUtf8('\n\brevision');
const TAG_ENTRY_VALUE = 0x12;
const TAG_CE_STRING = 0x1a;

/** A buffer of framed events: append until it is large enough, then take it. */
export class EventFrames {
  readonly #framing: Framing;
  readonly #logScan: boolean;
  readonly #readAt: number | undefined;
  readonly #startBytes: number;
  /** Empty until the first event, and again after `take`. */
  #bytes: Uint8Array = NO_BYTES;
  #length = 0;
  #eventCount = 0;

  /** The suffix of one transaction: the part before field 14, then the part after it. */
  readonly #suffix: Uint8Array = new Uint8Array(SUFFIX_BYTES_MAX);
  #suffixMiddle = 0;
  #suffixLength = 0;
  #revision = -1;
  #recordedTimeMs = -1;

  constructor(options: FrameOptions) {
    this.#framing = options.framing;
    this.#logScan = options.logScan ?? false;
    this.#readAt = options.readAt;
    this.#startBytes = options.startBytes ?? START_BYTES;
  }

  /** Bytes since the last `take`. */
  get byteLength(): number {
    return this.#length;
  }

  /** Events since the last `take`. */
  get eventCount(): number {
    return this.#eventCount;
  }

  append(event: StoredEvent): void {
    this.beginTransaction(event.position.revision, event.recordedTimeMs);
    if (event.storedId === undefined) this.appendBytes(event.bytes, 0, event.bytes.length, event.position.index);
    else this.#appendRenamed(event, encodeUtf8(event.storedId));
  }

  /** Sets the fields that the following events share. Free while they do not change. */
  beginTransaction(revision: number, recordedTimeMs: number): void {
    if (revision === this.#revision && recordedTimeMs === this.#recordedTimeMs) return;
    this.#revision = revision;
    this.#recordedTimeMs = recordedTimeMs;
    let at = putVarint(this.#suffix, putByte(this.#suffix, 0, TAG_REVISION), revision);
    this.#suffixMiddle = at;
    at = putTimestamp(this.#suffix, at, recordedTimeMs);
    if (this.#logScan) at = putRevisionExtension(this.#suffix, at, revision);
    this.#suffixLength = at;
  }

  /** Appends the event `[from, to)` of `source`, which belongs to the current transaction. */
  appendBytes(source: Uint8Array, from: number, to: number, index: number): void {
    const indexBytes = index === 0 ? 0 : 1 + varintLength(index);
    const count = to - from;
    let at = this.#open(count + this.#suffixLength + indexBytes);
    const bytes = this.#bytes;
    if (count < LONG_RUN_BYTES) for (let n = 0; n < count; n++) bytes[at + n] = source[from + n] ?? 0;
    else bytes.set(source.subarray(from, to), at);
    at = this.#putSuffix(at + count, index);
    this.#length = at;
    this.#eventCount++;
  }

  /** Returns the buffer: whole gRPC messages; empty when nothing was appended. */
  take(): Uint8Array {
    if (this.#eventCount === 0) return NO_BYTES;
    if (this.#framing === 'batch') this.#closeBatch();
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = NO_BYTES;
    this.#length = 0;
    this.#eventCount = 0;
    return taken;
  }

  #closeBatch(): void {
    if (this.#readAt !== undefined) {
      this.#reserve(READ_AT_BYTES_MAX);
      this.#length = putVarint(this.#bytes, putByte(this.#bytes, this.#length, TAG_READ_AT), this.#readAt);
    }
    putHeader(this.#bytes, 0, this.#length - HEADER_BYTES);
  }

  #appendRenamed(event: StoredEvent, id: Uint8Array): void {
    const { bytes, position } = event;
    const indexBytes = position.index === 0 ? 0 : 1 + varintLength(position.index);
    const idBytes = 1 + varintLength(id.length) + id.length;
    let at = this.#open(bytes.length + this.#suffixLength + indexBytes + idBytes);
    this.#bytes.set(bytes, at);
    at = this.#putSuffix(at + bytes.length, position.index);
    at = putVarint(this.#bytes, putByte(this.#bytes, at, TAG_ID), id.length);
    this.#bytes.set(id, at);
    this.#length = at + id.length;
    this.#eventCount++;
  }

  /** Reserves room for an event of this size with its suffix, writes its prefix, returns the offset of the event. */
  #open(eventBytes: number): number {
    assert(this.#revision >= 0, 'A transaction is begun before its events are framed');
    this.#reserve(eventBytes + WRAPPING_BYTES_MAX);
    const bytes = this.#bytes;
    if (this.#framing === 'messages') return putHeader(bytes, this.#length, eventBytes);
    let at = this.#length;
    if (this.#framing === 'replies') at = putHeader(bytes, at, 1 + varintLength(eventBytes) + eventBytes);
    // The header of a batch is written once its length is known.
    else if (at === 0) at = HEADER_BYTES;
    return putVarint(bytes, putByte(bytes, at, TAG_WRAPPED), eventBytes);
  }

  #putSuffix(start: number, index: number): number {
    const bytes = this.#bytes;
    const suffix = this.#suffix;
    let at = start;
    for (let n = 0; n < this.#suffixMiddle; n++) bytes[at++] = suffix[n] ?? 0;
    if (index > 0) at = putVarint(bytes, putByte(bytes, at, TAG_INDEX), index);
    for (let n = this.#suffixMiddle; n < this.#suffixLength; n++) bytes[at++] = suffix[n] ?? 0;
    return at;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#startBytes, 2 * this.#bytes.length, this.#length + count));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

/** Stored transactions in one LogBatch. */
export function frameTransactions(transactions: readonly { readonly bytes: Uint8Array }[]): Uint8Array {
  const sizes = transactions.map(({ bytes }) => 1 + varintLength(bytes.length) + bytes.length);
  const messageBytes = sizes.reduce((sum, size) => sum + size, 0);
  const framed = new Uint8Array(HEADER_BYTES + messageBytes);
  let at = putHeader(framed, 0, messageBytes);
  for (const { bytes } of transactions) {
    at = putVarint(framed, putByte(framed, at, TAG_WRAPPED), bytes.length);
    framed.set(bytes, at);
    at += bytes.length;
  }
  return framed;
}

function putHeader(into: Uint8Array, at: number, messageBytes: number): number {
  into[at] = 0;
  into[at + 1] = messageBytes >>> 24;
  into[at + 2] = messageBytes >>> 16;
  into[at + 3] = messageBytes >>> 8;
  into[at + 4] = messageBytes;
  return at + HEADER_BYTES;
}

function putByte(into: Uint8Array, at: number, byte: number): number {
  into[at] = byte;
  return at + 1;
}

function putVarint(into: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  while (rest > 0x7f) {
    into[at++] = (rest % 0x80) | 0x80;
    rest = rest < 2 ** 31 ? rest >>> 7 : Math.floor(rest / 0x80);
  }
  into[at] = rest;
  return at + 1;
}

function putTimestamp(into: Uint8Array, start: number, unixMs: number): number {
  const seconds = Math.floor(unixMs / 1000);
  const nanos = (unixMs - seconds * 1000) * 1_000_000;
  let at = start + 2;
  if (seconds > 0) at = putVarint(into, putByte(into, at, 0x08), seconds);
  if (nanos > 0) at = putVarint(into, putByte(into, at, 0x10), nanos);
  into[start] = TAG_RECORDED_TIME;
  into[start + 1] = at - start - 2;
  return at;
}

function putRevisionExtension(into: Uint8Array, start: number, revision: number): number {
  const text = String(revision);
  let at = putByte(into, start, TAG_EXTENSIONS);
  at = putByte(into, at, REVISION_KEY.length + 4 + text.length);
  into.set(REVISION_KEY, at);
  at = putByte(into, at + REVISION_KEY.length, TAG_ENTRY_VALUE);
  at = putByte(into, at, text.length + 2);
  at = putByte(into, at, TAG_CE_STRING);
  at = putByte(into, at, text.length);
  for (let n = 0; n < text.length; n++) into[at++] = text.charCodeAt(n);
  return at;
}
