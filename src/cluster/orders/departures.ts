/**
 * Which nodes are to lead nothing that another one could, as they say themselves: those that are about to end, which
 * would hand leads on at once, and get no copies either; and those that would refuse what is written, for want of room
 * on their disks or for their clocks (C38, C41).
 *
 * Nothing depends on it. What is said may be lost, is said again and again, and is forgotten when it is not said any
 * more: a node that did not end after all, or that is back, or has room again, is one like any other.
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
  /** Whether this node refuses what it is to write as a leader. */
  readonly refusesWrites: () => boolean;
}

export class Departures {
  readonly #ports: DeparturesPorts;
  /** Until when each is believed to be as it said, of those that are about to end, and of those without room. */
  readonly #untilMs: Readonly<Record<DepartureItem['kind'], Map<NodeId, number>>> = {
    leaving: new Map(),
    full: new Map(),
  };
  #isLeaving = false;
  #tellMs = 0;

  constructor(ports: DeparturesPorts) {
    this.#ports = ports;
  }

  /** This node is about to end, and says so from now on. */
  leave(): void {
    this.#isLeaving = true;
    this.#tellMs = 0;
    this.tick(this.#ports.monotonicMs());
  }

  /** This node stays after all; the others forget what it said. */
  stay(): void {
    this.#isLeaving = false;
  }

  /** Another node says that it is so. */
  heard(node: NodeId, { kind }: DepartureItem): void {
    this.#untilMs[kind].set(node, this.#ports.monotonicMs() + this.#ports.limits.leavingMs);
  }

  isLeaving(node: NodeId): boolean {
    return node === this.#ports.node ? this.#isLeaving : this.#isBelieved('leaving', node);
  }

  /** Whether another node is to lead nothing that others could: it is about to end, or has no room. */
  isUnfit(node: NodeId): boolean {
    return this.isLeaving(node) || this.#isBelieved('full', node);
  }

  tick(nowMs: number): void {
    const kind = this.#isLeaving ? 'leaving' : 'full';
    if (nowMs < this.#tellMs || (!this.#isLeaving && !this.#ports.refusesWrites())) return;
    const { limits, others, post } = this.#ports;
    this.#tellMs = nowMs + limits.leavingTellMs;
    for (const node of others()) post(node, { kind });
  }

  #isBelieved(kind: DepartureItem['kind'], node: NodeId): boolean {
    const untilMs = this.#untilMs[kind].get(node);
    if (untilMs === undefined) return false;
    if (this.#ports.monotonicMs() < untilMs) return true;
    this.#untilMs[kind].delete(node);
    return false;
  }
}
