/**
 * `cairn.v1.TransactionBody`: the bytes of a transaction that are logged, hashed and stored.
 *
 * ```
 * 09 recorded_time_ms (8 bytes LE)   first and of fixed width, so that the leader writes it in place
 * 12 10 transaction_id (16 bytes)
 * 18 origin                          omitted when unspecified
 * 22 options                         omitted when there are none
 * 7A event                           one for each, in canonical form
 * ```
 */
import {
  assert,
  type ByteWriter,
  formatUuid,
  NO_BYTES,
  ProtoReader,
  WIRE_FIXED64,
  writeBytesField,
  writeTag,
  writeVarintField,
} from '#base';
import { Faults } from './faults.ts';
import { TRANSACTION_EVENTS_MAX } from './limits.ts';
import { isOrigin, NO_OPTIONS, type Origin, type TransactionOptions } from './transaction.ts';
import { decodeTransactionOptions, encodeTransactionOptions } from './transaction-options.ts';

const UUID_BYTES = 16;
/** Offset of the 8 bytes of recorded_time_ms in a body. */
const RECORDED_TIME_AT = 1;
const RECORDED_TIME_TAG = 0x09;
const TRANSACTION_ID_TAG = 0x12;
const ORIGIN_TAG = 0x18;
const OPTIONS_TAG = 0x22;
const EVENTS_FIELD = 15;
const EVENTS_TAG = 0x7a;

export interface TransactionBody {
  /** 16 bytes. */
  readonly transactionId: Uint8Array;
  readonly origin: Origin;
  readonly options: TransactionOptions;
  /** Canonical bytes of each event. */
  readonly events: readonly Uint8Array[];
}

/** Offsets into `bytes`. */
export interface TransactionBodyView {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** Unix milliseconds; 0 until the leader sets it. */
  readonly recordedTimeMs: number;
  readonly transactionIdStart: number;
  readonly origin: Origin;
  /** −1 when there are no options. */
  readonly optionsStart: number;
  readonly optionsEnd: number;
  /** Event i is `[eventStarts[i], eventEnds[i])`. */
  readonly eventStarts: readonly number[];
  readonly eventEnds: readonly number[];
}

/** The recorded time is 0 until `stampRecordedTime`. */
export function writeTransactionBody(writer: ByteWriter, body: TransactionBody): void {
  assert(body.transactionId.length === UUID_BYTES, 'A transaction_id has 16 bytes', body.transactionId.length);
  writeTag(writer, 1, WIRE_FIXED64);
  writer.u64le(0);
  writeBytesField(writer, 2, body.transactionId);
  if (body.origin !== 0) writeVarintField(writer, 3, body.origin);
  const options = body.options === NO_OPTIONS ? NO_BYTES : encodeTransactionOptions(body.options);
  if (options.length > 0) writeBytesField(writer, 4, options);
  for (const event of body.events) writeBytesField(writer, EVENTS_FIELD, event);
}

/** Writes the leader's time into the body at `bodyStart`. */
export function stampRecordedTime(bytes: Uint8Array, bodyStart: number, recordedTimeMs: number): void {
  assert(Number.isSafeInteger(recordedTimeMs) && recordedTimeMs >= 0, 'Recorded time is whole ms', recordedTimeMs);
  let rest = recordedTimeMs;
  for (let i = 0; i < 8; i++) {
    bytes[bodyStart + RECORDED_TIME_AT + i] = rest % 0x100;
    rest = Math.floor(rest / 0x100);
  }
}

/** Reads a body that `writeTransactionBody` wrote; other bytes are a corruption of stored data. */
export function readTransactionBody(bytes: Uint8Array, start: number, end: number): TransactionBodyView {
  const body = bodyIn(bytes, start, end, true);
  if (typeof body === 'string') assert(false, body, [start, end]);
  return body;
}

/**
 * The body in any bytes, or the rule that they break. Options and events are not checked. In bytes that are not stored,
 * events beyond the limit are not collected, because few bytes may have millions of empty ones; and options come once,
 * because decoders of other software merge them, and the database reads the last.
 */
export function bodyIn(bytes: Uint8Array, start: number, end: number, isStored: boolean): TransactionBodyView | string {
  const reader = new ProtoReader(bytes, start, end);
  if (reader.tag() !== RECORDED_TIME_TAG) return 'A transaction body begins with its recorded time';
  const recordedTimeMs = reader.fixed64();
  const isNamed = reader.tag() === TRANSACTION_ID_TAG;
  const transactionIdStart = reader.lengthDelimited();
  if (!isNamed || reader.at - transactionIdStart !== UUID_BYTES) return 'A transaction body has a transaction_id';

  let origin = 0;
  let optionsStart = -1;
  let optionsEnd = -1;
  const eventStarts: number[] = [];
  const eventEnds: number[] = [];
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === EVENTS_TAG) {
      if (!isStored && eventStarts.length === TRANSACTION_EVENTS_MAX)
        return `A transaction body has at most ${TRANSACTION_EVENTS_MAX} events`;
      eventStarts.push(reader.lengthDelimited());
      eventEnds.push(reader.at);
    } else if (tag === OPTIONS_TAG) {
      if (!isStored && optionsStart !== -1) return 'A transaction body has options once';
      optionsStart = reader.lengthDelimited();
      optionsEnd = reader.at;
    } else if (tag === ORIGIN_TAG) origin = reader.varint();
    else reader.fail();
  }
  if (reader.failed || !isOrigin(origin)) return 'A transaction body holds known fields only';
  return {
    bytes,
    start,
    end,
    recordedTimeMs,
    transactionIdStart,
    origin,
    optionsStart,
    optionsEnd,
    eventStarts,
    eventEnds,
  };
}

/** The options of a stored body. */
export function optionsOfBody(body: TransactionBodyView): TransactionOptions {
  if (body.optionsStart === -1) return NO_OPTIONS;
  const faults = new Faults();
  const options = decodeTransactionOptions(body.bytes.subarray(body.optionsStart, body.optionsEnd), 'options', faults);
  assert(options !== undefined, 'Stored options are in canonical wire form', faults.violations);
  return options;
}

/** Lowercase. */
export function transactionIdOfBody({ bytes, transactionIdStart }: TransactionBodyView): string {
  return formatUuid(bytes.subarray(transactionIdStart, transactionIdStart + UUID_BYTES));
}
