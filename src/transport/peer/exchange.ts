/**
 * Paths of cairn.peer.v1 (proto/cairn/peer/v1/peer.proto), and the messages of Ping; those of Join are in
 * join-messages.ts.
 */
import { ByteWriter, ProtoReader, writeTextField, writeVarintField } from '#base';
import type { Belonging } from '#cluster';

export const PING = '/cairn.peer.v1.PeerExchange/Ping';
export const JOIN = '/cairn.peer.v1.PeerExchange/Join';

const PONG = { CLUSTER_ID: 1, STORE_ID: 2, MAY_FOUND: 3, SEEDS: 4 } as const;
const WIRE_TYPES = 8;
const TEXT = 2;
/** More addresses than any node names. */
const SEEDS_MAX = 1_000;

/** A PingReply: the cluster of the answering node, or its state when it belongs to none. */
export function writePong(belonging: Belonging): Buffer {
  const writer = new ByteWriter();
  if (belonging.kind === 'member') writeTextField(writer, PONG.CLUSTER_ID, belonging.clusterId);
  if (belonging.kind === 'new') {
    writeTextField(writer, PONG.STORE_ID, belonging.storeId);
    writeVarintField(writer, PONG.MAY_FOUND, belonging.mayFound ? 1 : 0);
    for (const seed of belonging.seeds) writeTextField(writer, PONG.SEEDS, seed);
  }
  return Buffer.from(writer.view());
}

/** Reads a PingReply; an invalid one is read as that of a starting node. */
export function readPong(message: Buffer): Belonging {
  const reader = new ProtoReader(message);
  const text = (): string => message.toString('utf8', reader.lengthDelimited(), reader.at);
  const seeds: string[] = [];
  let [clusterId, storeId, mayFound] = ['', '', false];
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === PONG.CLUSTER_ID * WIRE_TYPES + TEXT) clusterId = text();
    else if (tag === PONG.STORE_ID * WIRE_TYPES + TEXT) storeId = text();
    else if (tag === PONG.MAY_FOUND * WIRE_TYPES) mayFound = reader.varint() === 1;
    else if (tag === PONG.SEEDS * WIRE_TYPES + TEXT && seeds.length < SEEDS_MAX) seeds.push(text());
    else reader.skipField(tag);
  }
  if (reader.failed) return { kind: 'starting' };
  if (clusterId !== '') return { kind: 'member', clusterId };
  return storeId === '' ? { kind: 'starting' } : { kind: 'new', storeId, mayFound, seeds };
}
