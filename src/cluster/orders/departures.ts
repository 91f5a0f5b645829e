/**
 * Which nodes are about to end, as they say themselves: such a node gets no leads and no copies that another one could
 * have, for it would hand the leads on at once, and be away a moment later.
 *
 * Nothing depends on it. What is said may be lost, is said again and again, and is forgotten when it is not said any
 * more: a node that did not end after all, or that is back, is one like any other.
 */
import type { NodeId } from '#base';
import type { CoreLimits } from '../limits.ts';
import type { DepartureItem } from '../peer/forward.ts';

export interface DeparturesPorts {
  readonly node: NodeId;
  readonly limits: Pick<CoreLimits, 'leavingTellMs' | 'leavingMs'>;
  /** Everybody who is spoken with. */
  readonly others: () => Iterable<NodeId>;
  readonly monotonicMs: () => number;
  /** Says something to another node at the end of the turn; it may be lost. */
  readonly post: (to: NodeId, item: DepartureItem) => void;
}

export class Departures {
  readonly #ports: DeparturesPorts;
  /** Until when each is believed to be about to end. */
  readonly #untilMs = new Map<NodeId, number>();
  #isLeaving = false;
  #tellMs = 0;

  constructor(ports: DeparturesPorts) {
    this.#ports = ports;
  }

  /** This node is about to end, and says so from now on. */
  leave(): void {
    this.#isLeaving = true;
    this.tick(this.#ports.monotonicMs());
  }

  /** Another node says that it is. */
  heard(node: NodeId): void {
    this.#untilMs.set(node, this.#ports.monotonicMs() + this.#ports.limits.leavingMs);
  }

  isLeaving(node: NodeId): boolean {
    if (node === this.#ports.node) return this.#isLeaving;
    const untilMs = this.#untilMs.get(node);
    if (untilMs === undefined) return false;
    if (this.#ports.monotonicMs() < untilMs) return true;
    this.#untilMs.delete(node);
    return false;
  }

  tick(nowMs: number): void {
    if (!this.#isLeaving || nowMs < this.#tellMs) return;
    const { limits, others, post } = this.#ports;
    this.#tellMs = nowMs + limits.leavingTellMs;
    for (const node of others()) post(node, { kind: 'leaving' });
  }
}
