// Two nodes of one cluster and the codecs by which they talk, with sessions from a seed.
import { type Random, replicaOf, toGroupId } from '#base';
import { nativeCrc32 } from '#cluster';
import type { Message } from '#raft';
import type { Envelope } from '../../../src/cluster/peer/envelope.ts';
import { type IncomingFrame, PeerCodec } from '../../../src/cluster/peer/peer-codec.ts';
import { type NodePlace, toNodeId, toStoreId } from '../../../src/cluster/peer/place.ts';

export const CLUSTER = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';
export const NORTH: NodePlace = { node: toNodeId(1), store: toStoreId('0199a5c8-3c1e-7a2b-9f00-000000000001') };
export const SOUTH: NodePlace = { node: toNodeId(2), store: toStoreId('0199a5c8-3c1e-7a2b-9f00-000000000002') };

let drawn = 0;

/** A codec whose sessions are never those of another, unless the first of them is given. */
export function codecOf(self: NodePlace, clusterId: string = CLUSTER, session?: number): PeerCodec {
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

/** From a replica of North to one of South; which ones follows from the group. */
export function say(group: number, message: Message): Envelope {
  const [from, to] = [replicaOf(NORTH.node, group % 7), replicaOf(SOUTH.node, group % 5)];
  return { group: toGroupId(group), from, to, message };
}

/** The other way. */
export function reply(group: number, message: Message): Envelope {
  const { from: to, to: from } = say(group, message);
  return { group: toGroupId(group), from, to, message };
}

/** All messages of a frame: the rows of its tables first. */
export function messagesIn({ tables, messages }: Pick<IncomingFrame, 'tables' | 'messages'>): readonly Envelope[] {
  const { beats, answers } = tables;
  return [...(beats?.rows.values() ?? []), ...(answers?.rows.values() ?? []), ...messages];
}
