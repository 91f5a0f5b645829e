/**
 * The port by which the core reaches other nodes. It carries frames (frame.ts) without knowledge of their content.
 *
 * Frames of a lane to one node arrive in order or not at all; lanes do not wait for one another. Nothing is
 * acknowledged: Raft detects losses.
 */
import { type GroupId, type NodeId } from '#base';
import type { Message, ReplicaId } from '#raft';
import type { FrameContent } from './frame.ts';
import type { Peer } from './peer-identity.ts';

export type { Peer } from './peer-identity.ts';

/** A message from one replica of a group to another. */
export interface Envelope<M extends Message = Message> {
  readonly group: GroupId;
  readonly from: ReplicaId;
  readonly to: ReplicaId;
  readonly message: M;
}

/** Each lane has a connection, so that a snapshot delays no append, and an append no heartbeat. */
export type Lane = 'beats' | 'appends' | 'bulk';

export const LANES: readonly Lane[] = ['beats', 'appends', 'bulk'];

export interface PeerLinks {
  /**
   * Accepts the frame and owns it from then on. Returns false when the lane is not connected, or its queue is full.
   * Accepted frames may still be lost.
   */
  send(to: NodeId, lane: Lane, frame: Uint8Array): boolean;
  /** Tells whether the lane to the node is connected. */
  isOpen(to: NodeId, lane: Lane): boolean;
  /** All nodes and their addresses; called again when these change. Closes links to nodes that are not among them. */
  setPeers(peers: readonly Peer[]): void;
  /**
   * Sets the only listener, before the first `setPeers`. The listener owns the frame, whose header was checked against
   * this node, but not its content. While a returned promise is pending, the stream of the frame is not read.
   */
  onFrame(listener: (frame: Uint8Array, lane: Lane) => void | Promise<void>): void;
  /**
   * Sets the only listener. It is called once, in its own event-loop turn, when no lane reaches a node any more: the
   * last frames may be lost, and the node may have ended.
   */
  onUnreachable(listener: (node: NodeId) => void): void;
  /** Sets the only listener. It is called once, in its own event-loop turn, when a lane reaches a node again. */
  onReachable(listener: (node: NodeId) => void): void;
  /** Sends accepted frames for a bounded time, then closes everything. Nothing is sent or received afterwards. */
  close(): Promise<void>;
}

/** Lane of each kind of message. Total: a new kind does not compile without a lane. */
const LANE_OF: Readonly<Record<Envelope['message']['kind'], Lane>> = {
  'pre-vote-request': 'beats',
  'pre-vote-reply': 'beats',
  'vote-request': 'beats',
  'vote-reply': 'beats',
  beat: 'beats',
  'beat-ack': 'beats',
  'read-request': 'beats',
  'read-reply': 'beats',
  'timeout-now': 'beats',
  'term-notice': 'beats',
  // A lagging node that reads no appends must still receive acknowledgements of its own (ADR 0095).
  'append-ack': 'beats',
  'append-reject': 'beats',
  append: 'appends',
  commit: 'appends',
  // It must not overtake the parts of its snapshot.
  'install-snapshot': 'bulk',
};

export function laneOf({ message }: Envelope): Lane {
  return LANE_OF[message.kind];
}

const CONTENTS: Readonly<Record<Lane, ReadonlySet<FrameContent>>> = {
  beats: new Set(['messages']),
  appends: new Set(['messages', 'forwards']),
  bulk: new Set(['messages', 'letter']),
};

/** Tells whether the lane carries frames of that content; `laneOf` assigns messages. */
export function carries(lane: Lane, content: FrameContent): boolean {
  return CONTENTS[lane].has(content);
}
