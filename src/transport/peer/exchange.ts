/**
 * The words of cairn.peer.v1 (proto/cairn/peer/v1/peer.proto): paths, metadata, and the one message that has a field.
 */
import { Metadata } from '@grpc/grpc-js';
import { ByteWriter, failure, NO_BYTES, ok, ProtoReader, type Result } from '#base';
import { beginFrame, type FrameHeader, LANES, type Lane, readFrameHeader } from '#cluster';

export const DELIVER = '/cairn.peer.v1.PeerExchange/Deliver';
export const PING = '/cairn.peer.v1.PeerExchange/Ping';

const HELLO = 'cairn-hello-bin';
const LANE = 'cairn-lane';
const ADDRESS = 'cairn-address';

/** Field 1, length-delimited. */
const FRAME_TAG = 0x0a;
const FRAME_HEAD_BYTES = 6;
const PORT_MAX = 65_535;

/** What a stream says before anything else. */
export interface Hello {
  readonly header: FrameHeader;
  readonly lane: Lane;
  /** Where whoever greets listens for other nodes; undefined when it is not said. */
  readonly address: PeerAddress | undefined;
}

export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}

/** A DeliverRequest. */
export function writeRequest(frame: Uint8Array): Buffer {
  const head = new ByteWriter(FRAME_HEAD_BYTES);
  head.u8(FRAME_TAG);
  head.varint(frame.length);
  return Buffer.concat([head.view(), frame]);
}

/** The frame of a DeliverRequest, a view of it; empty when there is none. */
export function readRequest(message: Buffer): Uint8Array {
  const reader = new ProtoReader(message);
  let frame = NO_BYTES;
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === FRAME_TAG) {
      const start = reader.lengthDelimited();
      frame = message.subarray(start, reader.at);
    } else reader.skipField(tag);
  }
  return reader.failed ? NO_BYTES : frame;
}

/** The messages without fields. grpc-js takes undefined for no message at all. */
export const NOTHING: Nothing = {};
export const writeNothing = (): Buffer => Buffer.alloc(0);
export const readNothing = (): Nothing => NOTHING;
export type Nothing = Readonly<Record<string, never>>;

/** host:port, an IPv6 address in brackets. */
export function formatAddress({ host, port }: PeerAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function greeting({ header, lane, address }: Hello): Metadata {
  const writer = new ByteWriter();
  beginFrame(writer, header);
  const metadata = new Metadata();
  metadata.set(HELLO, Buffer.from(writer.view()));
  metadata.set(LANE, lane);
  if (address !== undefined) metadata.set(ADDRESS, formatAddress(address));
  return metadata;
}

/** Who greets, and whom; the failure says what is wrong with it. */
export function readGreeting(metadata: Metadata): Result<Hello, string> {
  const [hello] = metadata.get(HELLO);
  const [name] = metadata.get(LANE);
  if (!Buffer.isBuffer(hello)) return failure(`the metadata ${HELLO} is missing`);
  const lane = LANES.find((each) => each === name);
  if (lane === undefined) return failure(`the metadata ${LANE} is one of ${LANES.join(', ')}`);
  const header = readFrameHeader(hello);
  return header.kind === 'failure' ? header : ok({ header: header.value, lane, address: readAddress(metadata) });
}

function readAddress(metadata: Metadata): PeerAddress | undefined {
  const [text] = metadata.get(ADDRESS);
  const [, bracketed, plain, digits] =
    /^(?:\[([\da-f:.]{2,45})\]|([\w.-]{1,255})):(\d{1,5})$/i.exec(String(text)) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  return host !== undefined && port >= 1 && port <= PORT_MAX ? { host, port } : undefined;
}
