// Two nodes of one cluster with their frame codecs, whose sessions are deterministic.
import { type Random, replicaOf, toGroupId, toNodeId } from '#base';
import { nativeCrc32 } from '#cluster';
import type { Message } from '#raft';
import type { Envelope } from '../../../src/cluster/peer/links.ts';
import { type IncomingFrame, PeerCodec } from '../../../src/cluster/peer/peer-codec.ts';
import { type PeerIdentity, toStoreId } from '../../../src/cluster/peer/peer-identity.ts';

export const CLUSTER = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';
export const NORTH: PeerIdentity = { node: toNodeId(1), store: toStoreId('0199a5c8-3c1e-7a2b-9f00-000000000001') };
export const SOUTH: PeerIdentity = { node: toNodeId(2), store: toStoreId('0199a5c8-3c1e-7a2b-9f00-000000000002') };

let drawn = 0;

/** A codec with unique sessions, unless the first session is given. */
export function codecOf(self: PeerIdentity, clusterId: string = CLUSTER, session?: number): PeerCodec {
  let next = session;
  const random: Random = {
    bytes: (length) => {
      drawn += 1;
      const value = next ?? drawn;
      if (next !== undefined) next += 1;
      return Uint8Array.from({ length }, (_, at) => Math.floor(value / 256 ** (length - 1 - at)));
    },
  };
  return new PeerCodec({ clusterId, self, crc32: nativeCrc32, random });
}

/** A message from a replica of North to one of South; the group determines the replicas. */
export function say(group: number, message: Message): Envelope {
  const [from, to] = [replicaOf(NORTH.node, group % 7), replicaOf(SOUTH.node, group % 5)];
  return { group: toGroupId(group), from, to, message };
}

/** The opposite direction. */
export function reply(group: number, message: Message): Envelope {
  const { from: to, to: from } = say(group, message);
  return { group: toGroupId(group), from, to, message };
}

/** All messages of a frame, the rows of its delta tables first. */
export function messagesIn({ tables, messages }: Pick<IncomingFrame, 'tables' | 'messages'>): readonly Envelope[] {
  const { beats, answers } = tables;
  return [...(beats?.rows.values() ?? []), ...(answers?.rows.values() ?? []), ...messages];
}
