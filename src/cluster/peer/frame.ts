/**
 * The header of a frame, the unit that one node sends to another. For its content see peer-codec.ts and
 * forward-bytes.ts.
 *
 * ```
 *   0  4  "CPFR"
 *   4  4  CRC-32 of everything after it
 *   8  1  format: 1
 *   9  1  kind of the content: 1 messages, 2 forwarded requests and answers to them, 3 a letter of a snapshot's
 *         transfer
 *  10  2  0
 *  12 16  cluster_id
 *  28  8  from: node      36 16  from: store
 *  52  8  to: node        60 16  to: store
 *  76     content
 * ```
 * Numbers are little-endian. See docs/formats/peer-frames.md.
 */
import { ByteReader, ByteWriter, type Crc32, failure, formatUuid, isNodeId, ok, type Result, uuidBytes } from '#base';
import { type PeerIdentity, toStoreId } from './peer-identity.ts';

/** Maximum length of a frame: an entry of 2 MiB, and the fields before it. */
export const FRAME_BYTES_MAX: number = 4 * 2 ** 20;

const MAGIC = 0x52465043;
const FORMAT = 1;
const KINDS = { messages: 1, forwards: 2, letter: 3 } as const;
const CRC_AT = 4;
const CHECKED_FROM = 8;
const UUID_BYTES = 16;
const HEADER_BYTES = 76;

/** The content of a frame is of one kind. */
export type FrameContent = keyof typeof KINDS;

/** Cluster, sender and receiver of a frame. */
export interface FrameHeader {
  readonly clusterId: string;
  readonly from: PeerIdentity;
  readonly to: PeerIdentity;
}

export interface ReceivedHeader extends FrameHeader {
  readonly content: FrameContent;
}

/** Writes the header, with room for the checksum. The content follows. */
export function beginFrame(
  writer: ByteWriter,
  { clusterId, from, to }: FrameHeader,
  content: FrameContent = 'messages',
): void {
  writer.u32le(MAGIC);
  writer.u32le(0);
  writer.u8(FORMAT);
  writer.u8(KINDS[content]);
  writer.u16be(0);
  writer.bytes(uuidBytes(clusterId));
  for (const { node, store } of [from, to]) {
    writer.u64le(node);
    writer.bytes(uuidBytes(store));
  }
}

/** Writes the checksum into a complete frame. */
export function sealFrame(frame: Uint8Array, crc32: Crc32): Uint8Array {
  const crc = new ByteWriter(CRC_AT);
  crc.u32le(crc32(frame.subarray(CHECKED_FROM)));
  frame.set(crc.view(), CRC_AT);
  return frame;
}

/** Reads the header only; `openFrame` verifies the rest. The failure is the fault in words. */
export function readFrameHeader(frame: Uint8Array): Result<ReceivedHeader, string> {
  if (frame.length > FRAME_BYTES_MAX) return failure(`${frame.length} bytes; a frame has at most ${FRAME_BYTES_MAX}`);
  if (frame.length < HEADER_BYTES) return failure(`${frame.length} bytes; a frame has at least ${HEADER_BYTES}`);
  const reader = new ByteReader(frame);
  if (reader.u32le() !== MAGIC) return failure('bytes that do not begin with CPFR are no frame');
  reader.skip(CHECKED_FROM - CRC_AT);
  const format = reader.u8();
  if (format !== FORMAT) return failure(`format ${format} is unknown here, ${FORMAT} would be known`);
  const kind = reader.u8();
  const content = contentOf(kind);
  if (content === undefined || reader.u16be() !== 0) return failure(`content of kind ${kind} is unknown here`);
  const clusterId = formatUuid(reader.bytes(UUID_BYTES));
  const from = readPlace(reader);
  const to = readPlace(reader);
  if (from === undefined || to === undefined) return failure('a node id is an integer from 1 to 2^32 - 1');
  return ok({ clusterId, from, to, content });
}

/** The content, if the frame is undamaged. */
export function openFrame(frame: Uint8Array, crc32: Crc32): Result<ByteReader, string> {
  const stored = new ByteReader(frame, CRC_AT).u32le();
  const found = crc32(frame.subarray(CHECKED_FROM));
  if (stored !== found) return failure(`its checksum is ${stored}, its content gives ${found}`);
  return ok(new ByteReader(frame, HEADER_BYTES));
}

function contentOf(kind: number): FrameContent | undefined {
  if (kind === KINDS.messages) return 'messages';
  if (kind === KINDS.forwards) return 'forwards';
  return kind === KINDS.letter ? 'letter' : undefined;
}

function readPlace(reader: ByteReader): PeerIdentity | undefined {
  const node = reader.u64le();
  const store = toStoreId(formatUuid(reader.bytes(UUID_BYTES)));
  return isNodeId(node) && !reader.failed ? { node, store } : undefined;
}
