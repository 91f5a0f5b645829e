/**
 * The words of cairn.peer.v1 (proto/cairn/peer/v1/peer.proto): paths, metadata, and the messages of Deliver and Ping;
 * those of Join are in join-messages.ts.
 */
import { Metadata } from '@grpc/grpc-js';
import {
  type Address,
  ByteWriter,
  failure,
  formatAddress,
  NO_BYTES,
  ok,
  ProtoReader,
  parseAddress,
  type Result,
  writeTextField,
} from '#base';
import { beginFrame, type FrameHeader, LANES, type Lane, readFrameHeader } from '#cluster';

export const DELIVER = '/cairn.peer.v1.PeerExchange/Deliver';
export const PING = '/cairn.peer.v1.PeerExchange/Ping';
export const JOIN = '/cairn.peer.v1.PeerExchange/Join';

const HELLO = 'cairn-hello-bin';
const LANE = 'cairn-lane';
const ADDRESS = 'cairn-address';

/** Field 1, length-delimited. */
const FRAME_TAG = 0x0a;
const FRAME_HEAD_BYTES = 6;
const PONG_CLUSTER = 1;
const PONG_TAG = 0x0a;

/** What a stream says before anything else. */
export interface Hello {
  readonly header: FrameHeader;
  readonly lane: Lane;
  /** Where whoever greets listens for other nodes; undefined when it is not said. */
  readonly address: Address | undefined;
}

/** What grpc-js is to dial: an IP address or a name, and never another scheme, whatever the host begins with. */
export function targetOf(address: Address): string {
  return `dns:${formatAddress(address)}`;
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
/** A PingReply: the cluster of whoever answers. */
export function writePong(clusterId: string): Buffer {
  const writer = new ByteWriter();
  writeTextField(writer, PONG_CLUSTER, clusterId);
  return Buffer.from(writer.view());
}

/** The cluster in a PingReply; undefined when it is not said. */
export function readPong(message: Buffer): string | undefined {
  const reader = new ProtoReader(message);
  let clusterId: string | undefined;
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === PONG_TAG) clusterId = message.toString('utf8', reader.lengthDelimited(), reader.at);
    else reader.skipField(tag);
  }
  return reader.failed ? undefined : clusterId;
}

export type Nothing = Readonly<Record<string, never>>;

export function greeting({ header, lane, address }: Hello): Metadata {
  const writer = new ByteWriter();
  beginFrame(writer, header);
  const metadata = new Metadata();
  metadata.set(HELLO, Buffer.from(writer.view()));
  metadata.set(LANE, lane);
  if (address !== undefined) metadata.set(ADDRESS, formatAddress(address));
  return metadata;
}

/**
 * Gives a call up that was not answered in time. A deadline of gRPC is a time of the wall clock, which may be set while
 * the call is under way; a timer goes by the clock that only goes on.
 */
export function endAfter(call: { cancel(): void }, timeoutMs: number, answered: Promise<unknown>): void {
  const timer = setTimeout(() => call.cancel(), timeoutMs);
  void answered.finally(() => clearTimeout(timer));
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

function readAddress(metadata: Metadata): Address | undefined {
  const [text] = metadata.get(ADDRESS);
  return parseAddress(String(text));
}
