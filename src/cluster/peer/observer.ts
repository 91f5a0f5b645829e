/** Receives events of links for metrics and the log, which run in another thread. */
import { type NodeId } from '#base';

/** Reason why a frame of another node was dropped, or its stream refused (`cairn_peer_dropped_frames_total`, TP12). */
export type DropReason =
  | 'malformed'
  | 'cluster'
  | 'receiver'
  | 'sender'
  | 'duplicate'
  | 'lane'
  | 'stranger'
  | 'removed'
  | 'crowded'
  | 'closing'
  | 'handshake';

/** Reason why a frame was dropped, for metrics and the log. */
export interface FrameFault {
  readonly kind: DropReason;
  readonly words: string;
}

export interface PeerObserver {
  /** A frame has left this process. */
  sent(node: NodeId, bytes: number): void;
  /** A frame was refused, or lost with its connection. `hadBeats`: it was of the heartbeat lane. */
  sendFailed(node: NodeId, hadBeats: boolean): void;
  received(node: NodeId, bytes: number): void;
  /** A frame or a stream was refused. `node` is the opener of its stream, if known. */
  receiveFailed(node: NodeId | undefined, fault: FrameFault): void;
  /** Appends of a node are not read until the previous ones are in log and state. */
  stoppedReading(): void;
  /** Reports whether any lane reaches a node. */
  active(node: NodeId, isActive: boolean): void;
  /** A node of the catalog was reached, and refuses this one. Called at each attempt. */
  refuses(node: NodeId, reason: string): void;
  /** Reason why a node of the catalog refuses this process as a duplicate (TP12); undefined: none does. */
  duplicate(reason: string | undefined): void;
  roundTrip(node: NodeId, elapsedMs: number): void;
  /** Something for operators to read; at most once a minute for each kind and node. */
  note(note: PeerNote): void;
}

export interface PeerNote {
  readonly event: 'peer-reached' | 'peer-lost' | 'peer-refuses' | 'peer-refused';
  readonly node: NodeId | undefined;
  readonly reason: string;
}
