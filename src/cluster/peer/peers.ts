/**
 * The port by which the core communicates with other nodes: Raft messages and forwarded requests, all of one turn for a
 * node at once.
 *
 * Messages may be lost, duplicated and reordered; Raft handles that. The port hides frames, connections and addresses.
 */
import { assert, type NodeId } from '#base';
import type { RegisteredNode } from '../outcome.ts';
import type { ForwardItem } from './forward.ts';
import type { Envelope, Peer } from './links.ts';
import { toStoreId } from './peer-identity.ts';
import type { SentTables } from './sent-table.ts';
import type { SnapshotLetter } from './snapshot-letter.ts';

export interface Peers {
  /**
   * Sends messages to another node, in order, and its delta-encoded tables that are due. Accepted messages
   * may still be lost.
   */
  send(to: NodeId, messages: readonly Envelope[], tables?: SentTables): void;
  /**
   * Sends forwarded requests and answers to them; messages that are sent later do not overtake them. Returns false when
   * there is no connection to the node, and nothing was sent.
   */
  forward(to: NodeId, items: readonly ForwardItem[]): boolean;
  /** Sets the addresses of all nodes in the catalog, including this one. */
  setPeers(peers: readonly Peer[]): void;
  /**
   * Sends a message of a snapshot transfer; messages to one node arrive in order. Returns false when it must be tried
   * again later. Accepted messages may still be lost.
   */
  sendLetter(to: NodeId, letter: SnapshotLetter): boolean;
}

/** For a cluster of one node. */
export const noPeers: Peers = {
  send: noReceiver,
  forward: noReceiver,
  setPeers: () => undefined,
  sendLetter: () => false,
};

function noReceiver(to: NodeId): boolean {
  assert(false, 'A cluster of one node sends no messages', to);
  return false;
}

/** The nodes with a known address that may be contacted. */
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
