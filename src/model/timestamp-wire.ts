/**
 * `google.protobuf.Timestamp`, written, read strictly (canonical bytes) and read leniently (any valid protobuf).
 * The caller checks that the instant lies in the years 0001 to 9999.
 */
import { type ByteWriter, beginMessage, type Instant, isInstant, ProtoReader, writeSignedField } from '#base';

const SECONDS_TAG = 0x08;
const NANOS_TAG = 0x10;
const EPOCH: Instant = Object.freeze({ seconds: 0, nanos: 0 });

/** Writes it as the value of that field. */
export function writeTimestamp(writer: ByteWriter, field: number, instant: Instant): void {
  const mark = beginMessage(writer, field);
  if (instant.seconds !== 0) writeSignedField(writer, 1, instant.seconds);
  if (instant.nanos !== 0) writeSignedField(writer, 2, instant.nanos);
  writer.endLength(mark);
}

/** The instant of a canonical message, or undefined for any other encoding. */
export function readTimestamp(bytes: Uint8Array, from: number, to: number): Instant | undefined {
  const reader = new ProtoReader(bytes, from, to);
  let seconds = 0;
  let nanos = 0;
  if (bytes[from] === SECONDS_TAG && from < to) {
    reader.at++;
    seconds = reader.signedVarint();
    if (seconds === 0) return undefined;
  }
  if (!reader.done) {
    if (reader.tag() !== NANOS_TAG) return undefined;
    nanos = reader.signedVarint();
    // Beyond 32 bits another decoder would truncate the number.
    if (nanos === 0 || nanos !== (nanos | 0)) return undefined;
  }
  return reader.done && !reader.failed && !reader.overlong ? { seconds, nanos } : undefined;
}

/** A time as received; valid only if `isInstant` says so. */
export interface SentTimestamp {
  readonly seconds: number | bigint;
  readonly nanos: number;
}

/** Rule of a time. */
export const TIMESTAMP_RULE = 'must lie in the years 0001 to 9999, with 0 to 999,999,999 nanoseconds';

/** The value of a fault. */
export function showTimestamp({ seconds, nanos }: SentTimestamp): string {
  return `${seconds} s ${nanos} ns`;
}

/** Undefined for an invalid instant. */
export function instantOfTimestamp({ seconds, nanos }: SentTimestamp): Instant | undefined {
  return typeof seconds === 'number' && isInstant(seconds, nanos) ? { seconds, nanos } : undefined;
}

/**
 * The time of any valid message; undefined when it is none. A message field that occurs twice is merged, as protobuf
 * wants it: pass what the earlier occurrence gave.
 */
export function mergeTimestamp(reader: ProtoReader, earlier: SentTimestamp = EPOCH): SentTimestamp | undefined {
  const message = reader.message();
  if (reader.failed) return undefined;
  let { seconds, nanos } = earlier;
  while (!message.done) {
    const tag = message.tag();
    if (tag === SECONDS_TAG) seconds = message.int64();
    else if (tag === NANOS_TAG) nanos = message.signedVarint() | 0;
    else message.skipField(tag);
  }
  return message.failed ? undefined : { seconds, nanos };
}
