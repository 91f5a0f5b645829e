/**
 * The port by which the core reaches other nodes. It carries frames (frame.ts) and knows nothing of what is in them.
 *
 * Frames of a lane to one node arrive in the order in which they were taken, or not at all; lanes do not wait for one
 * another. Nothing is acknowledged: Raft finds out what is missing.
 */
import type { Administer, Asker } from './administered.ts';
import type { Newcomer } from './belonging.ts';
import type { Envelope } from './envelope.ts';
import type { FrameContent } from './frame.ts';
import type { JoinReply, JoinRequest } from './join.ts';
import type { PeerObserver } from './observer.ts';
import type { NodeId, NodePlace, Peer } from './place.ts';

export type { Peer } from './place.ts';

/** A connection of its own each, so that a snapshot delays no append, and an append no beat. */
export type Lane = 'beats' | 'appends' | 'bulk';

export const LANES: readonly Lane[] = ['beats', 'appends', 'bulk'];

export interface PeerLinks {
  /**
   * Takes the frame, which is the link's own from here on, or says no: the lane is not connected, or as much as may
   * wait in it waits already. What was taken may still be lost.
   */
  send(to: NodeId, lane: Lane, frame: Uint8Array): boolean;
  /** Whether the lane to the node is connected. */
  isOpen(to: NodeId, lane: Lane): boolean;
  /** All nodes and their addresses; called again when these change. Closes links to nodes that are not among them. */
  setPeers(peers: readonly Peer[]): void;
  /**
   * One listener, set before the first `setPeers`. The frame is the listener's own. Its header has been held against
   * this node, its content has not been looked at. As long as a promise that it returns is pending, nothing more is
   * read from the stream that the frame came by.
   */
  onFrame(listener: (frame: Uint8Array, lane: Lane) => void | Promise<void>): void;
  /**
   * One listener. A node that was reached cannot be reached any more by any lane: what it was sent last may be lost,
   * and it may have ended. Called once for each such loss, in a turn of its own.
   */
  onUnreachable(listener: (node: NodeId) => void): void;
  /** One listener. A way leads to a node to which none did. Called once each time, in a turn of its own. */
  onReachable(listener: (node: NodeId) => void): void;
  /** Gives what was taken a moment to leave, then closes everything. Nothing is taken or heard afterwards. */
  close(): Promise<void>;
}

/** What links need to be opened. */
export interface PeerLinksOptions {
  readonly clusterId: string;
  readonly self: NodePlace;
  /** A number that each process of the node draws; other nodes accept one process at a time. */
  readonly run: number;
  /** Another node hears another process of this node, and has for so long that this one is to end. */
  readonly onDuplicate?: (words: string) => void;
  /** Where this node listens for the others; port 0 picks a free one. */
  readonly host: string;
  readonly port: number;
  /** The host that others dial; by default `host`, unless that means every address of this machine. */
  readonly advertisedHost?: string | undefined;
  readonly observer: PeerObserver;
  /** Connections to this node at a time; one more is closed as it comes. Absent: as many as come. */
  readonly connectionsMax?: number | undefined;
}

/** How the port of a node for others is bound. */
export type PeerPortOptions = Pick<PeerLinksOptions, 'host' | 'port' | 'connectionsMax'>;

/**
 * The port of a node for others, bound before it is known which node that is: until then it says that it is starting,
 * or what it looks for.
 */
export interface PeerPort {
  /** The port that was bound. */
  readonly port: number;
  /** What the node says of itself until `openLinks`. */
  introduce(newcomer: Newcomer): void;
  /** The links of the node that it has become, by this port; called once. */
  openLinks(options: PeerLinksOptions): OpenPeerLinks;
}

export interface OpenPeerLinks extends PeerLinks {
  /** The port that was bound. */
  readonly port: number;
  /** One listener: a store asks to join this cluster, or a node of it says where it is. */
  onJoin(listener: (request: JoinRequest, asker?: Asker) => Promise<JoinReply>): void;
  /** One listener: an operator asks something of the cluster. Absent where none can. */
  onAdmin?(listener: Administer): void;
}

/** Which lane a message takes. Total: a new kind of message does not compile until it is said where it goes. */
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
  // A lagging node reads no more appends, and must receive what others have of its own all the same (ADR 0095).
  'append-ack': 'beats',
  'append-reject': 'beats',
  append: 'appends',
  commit: 'appends',
  // Behind the chunks of its snapshot, which it must not overtake.
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

/** Whether frames of that content travel by the lane at all; which messages do, `laneOf` says. */
export function carries(lane: Lane, content: FrameContent): boolean {
  return CONTENTS[lane].has(content);
}
