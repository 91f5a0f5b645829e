/**
 * The port by which the core talks with other nodes: messages of Raft, and requests that another node leads, all that
 * one turn has for a node at once.
 *
 * Messages may be lost, doubled and reordered; Raft finds out. Frames, connections and addresses are behind it.
 */
import { assert, type NodeId } from '#base';
import type { RegisteredNode } from './outcome.ts';
import type { Envelope } from './peer/envelope.ts';
import type { ForwardItem } from './peer/forward.ts';
import type { Peer } from './peer/links.ts';
import { toStoreId } from './peer/place.ts';
import type { Refrains } from './peer/refrain.ts';
import type { SnapshotLetter } from './peer/snapshot-letter.ts';

export interface Peers {
  /**
   * Takes what this node has to say to another, in order, and the refrains that it is time for. Answers nothing: what
   * was taken may still be lost.
   */
  send(to: NodeId, messages: readonly Envelope[], refrains?: Refrains): void;
  /**
   * The same for requests of clients and answers to them, with which no message overtakes another that was sent later.
   * False: no way leads to the node now, and nothing has left.
   */
  forward(to: NodeId, items: readonly ForwardItem[]): boolean;
  /** Who is where, as the catalog says it, this node among them. */
  setPeers(peers: readonly Peer[]): void;
  /**
   * Takes a letter of a snapshot's transfer; letters to one node arrive in their order. False: not now, try again
   * later. What was taken may still be lost.
   */
  sendLetter(to: NodeId, letter: SnapshotLetter): boolean;
}

/** For a cluster of one node. */
export const noPeers: Peers = {
  send: nobody,
  forward: nobody,
  setPeers: () => undefined,
  sendLetter: () => false,
};

function nobody(to: NodeId): boolean {
  assert(false, 'A cluster of one node has nobody to send to', to);
  return false;
}

/** The nodes that are spoken with, and have said where they are. */
export function peersOf(
  nodes: readonly RegisteredNode[],
  isRemoved: (node: NodeId) => boolean = never,
): readonly Peer[] {
  return nodes
    .filter(({ node, peer }) => peer.port !== 0 && !isRemoved(node))
    .map(({ node, storeId, peer }) => ({ node, store: toStoreId(storeId), ...peer }));
}

function never(): boolean {
  return false;
}
