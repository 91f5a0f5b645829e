/**
 * The words of cairn.peer.v1 (proto/cairn/peer/v1/peer.proto): paths, and the messages of Ping; those of Join are in
 * join-messages.ts.
 */
import { type Address, ByteWriter, formatAddress, ProtoReader, writeTextField } from '#base';

export const PING = '/cairn.peer.v1.PeerExchange/Ping';
export const JOIN = '/cairn.peer.v1.PeerExchange/Join';

const PONG_CLUSTER = 1;
const PONG_TAG = 0x0a;

/** What grpc-js is to dial: an IP address or a name, and never another scheme, whatever the host begins with. */
export function targetOf(address: Address): string {
  return `dns:${formatAddress(address)}`;
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

/**
 * Gives a call up that was not answered in time. A deadline of gRPC is a time of the wall clock, which may be set while
 * the call is under way; a timer goes by the clock that only goes on.
 */
export function endAfter(call: { cancel(): void }, timeoutMs: number, answered: Promise<unknown>): void {
  const timer = setTimeout(() => call.cancel(), timeoutMs);
  void answered.finally(() => clearTimeout(timer));
}

export type Nothing = Readonly<Record<string, never>>;
