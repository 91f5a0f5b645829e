/**
 * Transfers leaderships while this node refuses writes, because of its disk or its clock.
 *
 * A leader refuses writes that its own disk cannot take, for all clients of the cluster; a follower accepts entries of
 * a leader with more space (C37). So leadership here blocks writes, and elsewhere it does not. It stays only when the
 * other disks are as full, or too few nodes remain.
 *
 *   C38  While this node refuses writes because of its disk, it transfers the leadership of each group to another voter
 *        whose disk is open as far as it reports, if the others can lead the group without it: every two election
 *        windows, to a different one each time. Other nodes transfer no leaderships to it meanwhile.
 */
import { type NodeId, nodeOf } from '#base';
import type { Input } from '#raft';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import { heirsOf } from './stalled-log.ts';

export interface FullDiskPorts {
  readonly limits: Pick<CoreLimits, 'electionWindowMs'>;
  readonly refusesWrites: () => boolean;
  /** The groups that this node leads. */
  readonly led: () => Iterable<Group>;
  /** Returns whether a node drains, or refuses writes, too. */
  readonly isUnfit: (node: NodeId) => boolean;
  readonly step: (group: Group, input: Input) => void;
}

export class FullDisk {
  readonly #ports: FullDiskPorts;
  /** Per group, the time and number of the last transfers. */
  readonly #attempts = new Map<Group, { readonly atMs: number; readonly count: number }>();

  constructor(ports: FullDiskPorts) {
    this.#ports = ports;
  }

  forget(group: Group): void {
    this.#attempts.delete(group);
  }

  /** Checks whether writes are refused, and which node could lead instead. */
  drive(nowMs: number): void {
    const { limits, refusesWrites, led, isUnfit, step } = this.#ports;
    if (!refusesWrites()) return this.#attempts.clear();
    for (const group of led()) {
      const { atMs, count } = this.#attempts.get(group) ?? { atMs: Number.NEGATIVE_INFINITY, count: 0 };
      if (nowMs < atMs + 2 * limits.electionWindowMs) continue;
      const heirs = heirsOf(group, nowMs).filter((heir) => !isUnfit(nodeOf(heir)));
      const to = heirs[count % Math.max(1, heirs.length)];
      if (to === undefined) continue;
      this.#attempts.set(group, { atMs: nowMs, count: count + 1 });
      step(group, { kind: 'transfer-leadership', to });
    }
  }
}
