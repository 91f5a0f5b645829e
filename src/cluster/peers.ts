/**
 * The port by which the core talks with other nodes: messages of Raft, all that one turn has for a node at once.
 *
 * Messages may be lost, doubled and reordered; Raft finds out. Frames, connections and addresses are behind it.
 */
import { assert, type NodeId } from '#base';
import type { Envelope } from './peer/envelope.ts';

export interface Peers {
  /** Takes what this node has to say to another, in order. Answers nothing: what was taken may still be lost. */
  send(to: NodeId, messages: readonly Envelope[]): void;
}

/** For a cluster of one node. */
export const noPeers: Peers = {
  send: (to) => assert(false, 'A cluster of one node has nobody to send to', to),
};
