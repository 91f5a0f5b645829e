/**
 * What links tell of themselves, for metrics and the log. They live in another isolate than both.
 */
import type { NodeId } from './place.ts';

/**
 * Why a frame of another node was dropped, or a stream of them refused: bytes that are no frame; of another cluster;
 * for another node or store; from another node than has opened the stream, or with another store; from another process
 * than the one of its node that is heard (TP12); with what another lane carries; from a node that the catalog does not
 * name, about anything but the catalog; from one that was removed; one stream too many; to a node that is closing; a
 * connection that was not let in, for want of TLS or a certificate.
 */
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
  /** A frame was refused, or lost with its connection. Whether it was of the lane of beats. */
  sendFailed(node: NodeId, hadBeats: boolean): void;
  received(node: NodeId, bytes: number): void;
  /** A frame or a stream was refused. The node is who has opened its stream, as far as that is known. */
  receiveFailed(node: NodeId | undefined, fault: FrameFault): void;
  /** No more appends are read of a node, until those that were read are in log and state. */
  stoppedReading(): void;
  /** Whether a node is reached by any lane. */
  active(node: NodeId, isActive: boolean): void;
  /** A node of the catalog was reached, and refuses this one. Called at every attempt. */
  refuses(node: NodeId, reason: string): void;
  /** A node of the catalog refuses this process, because it hears another one of this node; undefined: none does. */
  duplicate(reason: string | undefined): void;
  roundTrip(node: NodeId, elapsedMs: number): void;
  /** Something that an operator may want to read; of the same kind and node at most once a minute. */
  note(note: PeerNote): void;
}

export interface PeerNote {
  readonly event: 'peer-reached' | 'peer-lost' | 'peer-refuses' | 'peer-refused';
  readonly node: NodeId | undefined;
  readonly reason: string;
}
