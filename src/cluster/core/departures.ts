/**
 * Nodes that should lead nothing another one could, as they announce themselves: draining nodes, which also get no new
 * replicas, and nodes that refuse writes because of their disks or their clocks (C38, C41).
 *
 * Correctness does not depend on it. An announcement may be lost, is repeated, and expires when it is no longer
 * repeated: a node that did not stop after all, is back, or has space again is like any other.
 */
import type { NodeId } from '#base';
import type { GroupPorts } from '../group/group-ports.ts';
import type { DepartureItem } from '../peer/forward.ts';

export interface DeparturesPorts extends Pick<GroupPorts, 'node' | 'limits' | 'monotonicMs' | 'post'> {
  /** All connected nodes. */
  readonly others: () => Iterable<NodeId>;
  /** Returns whether this node refuses writes as a leader. */
  readonly refusesWrites: () => boolean;
}

export class Departures {
  readonly #ports: DeparturesPorts;
  /** Expiry of the announcements of draining nodes, and of nodes that refuse writes. */
  readonly #untilMs: Readonly<Record<DepartureItem['kind'], Map<NodeId, number>>> = {
    leaving: new Map(),
    full: new Map(),
  };
  #isLeaving = false;
  #tellMs = 0;

  constructor(ports: DeparturesPorts) {
    this.#ports = ports;
  }

  /** Announces from now on that this node drains. */
  leave(): void {
    this.#isLeaving = true;
    this.#tellMs = 0;
    this.tick(this.#ports.monotonicMs());
  }

  /** Stops the announcement, because the node stays. */
  stay(): void {
    this.#isLeaving = false;
  }

  /** Another node has announced its state. */
  heard(node: NodeId, { kind }: DepartureItem): void {
    this.#untilMs[kind].set(node, this.#ports.monotonicMs() + this.#ports.limits.leavingMs);
  }

  isLeaving(node: NodeId): boolean {
    return node === this.#ports.node ? this.#isLeaving : this.#isBelieved('leaving', node);
  }

  /** Returns whether another node should lead nothing that others can: it drains, or refuses writes. */
  isUnfit(node: NodeId): boolean {
    return this.isLeaving(node) || this.#isBelieved('full', node);
  }

  tick(nowMs: number): void {
    const kind = this.#isLeaving ? 'leaving' : 'full';
    if (nowMs < this.#tellMs || (!this.#isLeaving && !this.#ports.refusesWrites())) return;
    const { limits, others, post } = this.#ports;
    this.#tellMs = nowMs + limits.leavingAnnounceMs;
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
