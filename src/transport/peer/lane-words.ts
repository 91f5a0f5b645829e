/**
 * Messages on the connection of a lane. The dialling node sends a request, receives an answer, and sends records; the
 * other side sends single words.
 *
 * ```
 * dials    := hello record*
 * hello    := "CPLN", u8 format: 3, u8 lane, u16 zero, u32 bytes of the address, header, run, address, crc
 * record   := head, frame              0 bytes are a question: are you there?
 * head     := u32 bytes, u32 the same with every bit turned
 * answers  := answer word*
 * answer   := u8 0, u32 bytes, header, run, crc    accepted, by whom
 *           | u8 1, u32 bytes, UTF-8, crc          refused, and why; the connection ends
 *           | u8 2, u32 bytes, UTF-8, crc          refused, because another process of that node runs
 * run      := u64                                  drawn by each process of a node (TP12)
 * word     := u8 2                     to a question: I am
 *           | u8 3                     unasked: I am here, and may not be reading
 * ```
 * A header is that of a frame without content: it names the sender and the receiver. Numbers are little-endian. A crc
 * is the CRC-32 of everything before it, because a hello or an answer holds for the whole connection (TP10).
 */
import {
  type Address,
  ByteReader,
  ByteWriter,
  decodeUtf8,
  encodeUtf8,
  failure,
  formatAddress,
  ok,
  parseAddress,
  type Result,
} from '#base';
import { beginFrame, type FrameHeader, LANES, type Lane, nativeCrc32, readFrameHeader } from '#cluster';

/** First message of the dialling side. */
export interface Hello {
  readonly header: FrameHeader;
  readonly lane: Lane;
  /** Distinguishes the processes of a node (TP12). */
  readonly run: number;
  /** Address at which the sender listens for other nodes; undefined when it does not announce one. */
  readonly address: Address | undefined;
}

/** Identity of the accepting node, or the reason of a refusal. */
export type LaneAnswer =
  | { readonly kind: 'accepted'; readonly header: FrameHeader; readonly run: number }
  /** `duplicate`: another process of the caller's node was accepted (TP12). */
  | { readonly kind: 'refused' | 'duplicate'; readonly reason: string };

const MAGIC = encodeUtf8('CPLN');
const FORMAT = 3;
const FORMAT_AT = 4;
const HELLO_HEAD_BYTES = 12;
const HEADER_BYTES = 76;
const RUN_BYTES = 8;
const ADDRESS_BYTES_MAX = 1024;
const ACCEPTED = 0;
const REFUSED = 1;
const DUPLICATE = 2;
const ANSWER_HEAD_BYTES = 5;
const ANSWER_BYTES_MAX = 1024;
const CRC_BYTES = 4;

const ANSWERS = { accepted: ACCEPTED, refused: REFUSED, duplicate: DUPLICATE } as const;

/** The first byte of a hello, which differs from that of HTTP/2. */
export const HELLO_BEGINS: number = MAGIC[0] ?? 0;
/** Bytes before a record: its length twice, once inverted. */
export const RECORD_HEAD_BYTES = 8;
export const ASK: Uint8Array = recordHead(0);
export const ECHO_BYTE = 2;
export const ECHO: Uint8Array = Uint8Array.of(ECHO_BYTE);
export const HERE: Uint8Array = Uint8Array.of(3);

export function recordHead(length: number): Uint8Array {
  const head = new DataView(new ArrayBuffer(RECORD_HEAD_BYTES));
  head.setUint32(0, length, true);
  head.setInt32(4, ~length, true);
  return new Uint8Array(head.buffer);
}

/** Length of the record with this head; undefined for an invalid head. */
export function recordLength(head: Uint8Array): number | undefined {
  const reader = new ByteReader(head);
  const length = reader.u32le();
  return reader.u32le() === ~length >>> 0 ? length : undefined;
}

export function writeHello({ header, lane, run, address }: Hello): Uint8Array {
  const text = encodeUtf8(address === undefined ? '' : formatAddress(address));
  const writer = new ByteWriter();
  writer.bytes(MAGIC);
  writer.u8(FORMAT);
  writer.u8(LANES.indexOf(lane));
  writer.u16be(0);
  writer.u32le(text.length);
  beginFrame(writer, header);
  writer.u64le(run);
  writer.bytes(text);
  return sealed(writer);
}

/** Length of the hello that begins so; undefined while it is unknown. */
export function helloLength(bytes: Uint8Array): number | undefined {
  if (bytes.length < HELLO_HEAD_BYTES) return undefined;
  // The length in another format is unknown, and its sender waits for an answer.
  if (bytes[FORMAT_AT] !== FORMAT) return HELLO_HEAD_BYTES;
  const addressBytes = Math.min(ADDRESS_BYTES_MAX, addressLength(bytes));
  return HELLO_HEAD_BYTES + HEADER_BYTES + RUN_BYTES + addressBytes + CRC_BYTES;
}

/** Reads a complete hello; the failure is the fault in words. */
export function readHello(bytes: Uint8Array): Result<Hello, string> {
  if (MAGIC.some((byte, at) => bytes[at] !== byte)) return failure('the stream has no greeting');
  const [, , , , format, lane] = bytes;
  if (format !== FORMAT) return failure(`streams of format ${format} are unknown here, ${FORMAT} would be known`);
  const named = LANES[lane ?? LANES.length];
  if (named === undefined) return failure(`lane ${lane} is invalid: use 0 to ${LANES.length - 1}`);
  if (addressLength(bytes) > ADDRESS_BYTES_MAX) return failure('its address is too long');
  const headerEnd = HELLO_HEAD_BYTES + HEADER_BYTES;
  const header = readFrameHeader(bytes.subarray(HELLO_HEAD_BYTES, headerEnd));
  if (header.kind === 'failure') return header;
  if (!isWhole(bytes)) return failure('the greeting is damaged');
  const run = new ByteReader(bytes, headerEnd).u64le();
  const address = parseAddress(decodeUtf8(bytes.subarray(headerEnd + RUN_BYTES, -CRC_BYTES)) ?? '');
  return ok({ header: header.value, lane: named, run, address });
}

export function writeAnswer(answer: LaneAnswer): Uint8Array {
  const body = new ByteWriter();
  if (answer.kind === 'accepted') {
    beginFrame(body, answer.header);
    body.u64le(answer.run);
  } else body.bytes(encodeUtf8(answer.reason).subarray(0, ANSWER_BYTES_MAX));
  const writer = new ByteWriter();
  writer.u8(ANSWERS[answer.kind]);
  writer.u32le(body.length);
  writer.bytes(body.view());
  return sealed(writer);
}

/** Length of the answer that begins so; undefined while it is unknown. */
export function answerLength(bytes: Uint8Array): number | undefined {
  if (bytes.length < ANSWER_HEAD_BYTES) return undefined;
  return ANSWER_HEAD_BYTES + Math.min(ANSWER_BYTES_MAX, new ByteReader(bytes, 1).u32le()) + CRC_BYTES;
}

/** Reads a complete answer. An invalid one is read as a refusal. */
export function readAnswer(bytes: Uint8Array): LaneAnswer {
  const body = bytes.subarray(ANSWER_HEAD_BYTES, -CRC_BYTES);
  if (!isWhole(bytes)) return { kind: 'refused', reason: 'what answers there is no node, or its answer is damaged' };
  if (bytes[0] === REFUSED || bytes[0] === DUPLICATE) {
    const reason = decodeUtf8(body) ?? 'it refuses, and not in words';
    return { kind: bytes[0] === DUPLICATE ? 'duplicate' : 'refused', reason };
  }
  const header = readFrameHeader(body);
  const run = new ByteReader(body, HEADER_BYTES);
  const value = run.u64le();
  if (bytes[0] !== ACCEPTED || run.failed) return { kind: 'refused', reason: 'what answers there is no node' };
  if (header.kind === 'failure') return { kind: 'refused', reason: header.reason };
  return { kind: 'accepted', header: header.value, run: value };
}

/** The written bytes, with their checksum. */
function sealed(writer: ByteWriter): Uint8Array {
  writer.u32le(nativeCrc32(writer.view()));
  return writer.take();
}

function isWhole(bytes: Uint8Array): boolean {
  const end = bytes.length - CRC_BYTES;
  return new ByteReader(bytes, end).u32le() === nativeCrc32(bytes.subarray(0, end));
}

function addressLength(hello: Uint8Array): number {
  return new ByteReader(hello, HELLO_HEAD_BYTES - 4).u32le();
}
