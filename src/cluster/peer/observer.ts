/**
 * What links tell of themselves, for metrics and the log. They live in another isolate than both.
 */
import type { NodeId } from './place.ts';

export interface PeerObserver {
  /** A frame has left this process. */
  sent(node: NodeId, bytes: number): void;
  /** A frame was refused, or lost with its connection. Whether it was of the lane of beats. */
  sendFailed(node: NodeId, hadBeats: boolean): void;
  received(node: NodeId, bytes: number): void;
  /**
   * A frame or a stream was refused: its sender, as far as that is known, is not who it should be, or takes us for
   * another.
   */
  receiveFailed(node: NodeId | undefined): void;
  /** Whether a node is reached by any lane. */
  active(node: NodeId, isActive: boolean): void;
  roundTrip(node: NodeId, elapsedMs: number): void;
  /** Something that an operator may want to read; of the same kind and node at most once a minute. */
  note(note: PeerNote): void;
}

export interface PeerNote {
  readonly event: 'peer-reached' | 'peer-lost' | 'peer-refuses' | 'peer-refused';
  readonly node: NodeId | undefined;
  readonly reason: string;
}
