/**
 * The port by which the core reaches other nodes. It carries frames (frame.ts) without knowledge of their content.
 *
 * Frames of a lane to one node arrive in order or not at all; lanes do not wait for one another. Nothing is
 * acknowledged: Raft detects losses.
 */
import type { Administer, Asker } from './administered.ts';
import type { Newcomer } from './belonging.ts';
import type { Envelope } from './envelope.ts';
import type { FrameContent } from './frame.ts';
import type { JoinReply, JoinRequest } from './join.ts';
import type { PeerObserver } from './observer.ts';
import type { NodeId, NodePlace, Peer } from './place.ts';

export type { Peer } from './place.ts';

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

/** Parameters of links. */
export interface PeerLinksOptions {
  readonly clusterId: string;
  readonly self: NodePlace;
  /** A number that each process of the node draws; other nodes accept one process at a time. */
  readonly run: number;
  /** Called when another node has accepted another process of this node for so long that this one must end. */
  readonly onDuplicate?: (words: string) => void;
  /** Where this node listens for the others; port 0 picks a free one. */
  readonly host: string;
  readonly port: number;
  /** The host that others dial; by default `host`, unless that means every address of this machine. */
  readonly advertisedHost?: string | undefined;
  readonly observer: PeerObserver;
  /** Maximum number of connections to this node; further ones are closed. Absent: unlimited. */
  readonly connectionsMax?: number | undefined;
}

/** Address that the peer port binds, and its connection limit. */
export type PeerPortOptions = Pick<PeerLinksOptions, 'host' | 'port' | 'connectionsMax'>;

/**
 * The peer port, bound before the identity of the node is known: until then it answers that the node is starting, or
 * which cluster it looks for.
 */
export interface PeerPort {
  /** The port that was bound. */
  readonly port: number;
  /** Sets what the node reports of itself until `openLinks`. */
  introduce(newcomer: Newcomer): void;
  /** Opens the links of the node at this port; called once. */
  openLinks(options: PeerLinksOptions): OpenPeerLinks;
}

export interface OpenPeerLinks extends PeerLinks {
  /** The port that was bound. */
  readonly port: number;
  /** Sets the only listener for join requests, and for address updates of nodes. */
  onJoin(listener: (request: JoinRequest, asker?: Asker) => Promise<JoinReply>): void;
  /** Sets the only listener for admin requests. Absent where none are served. */
  onAdmin?(listener: Administer): void;
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
