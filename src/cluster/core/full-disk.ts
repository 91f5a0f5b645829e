/**
 * What a node does that refuses writes, for want of room on its disk or for its clock: it hands over what others can
 * lead.
 *
 * A leader refuses what its own disk may not take, for all clients of the cluster; a follower takes in what a leader
 * with more room has taken (C37). So a lead costs writes here, and nothing where the disk is open. Only where the
 * others are as full, or too few, it stays.
 *
 *   C38  While writes are refused for the room on this node's disk, it asks other voters, whose disks are open as far as
 *        they say, to take the lead of each group that they can lead without it: again every two election windows,
 *        another one each time. Nobody hands leads to it by choice meanwhile.
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
  /** Whether a node is about to end, or refuses writes, too. */
  readonly isUnfit: (node: NodeId) => boolean;
  readonly step: (group: Group, input: Input) => void;
}

export class FullDisk {
  readonly #ports: FullDiskPorts;
  /** When each group that is led here was handed over last, and how often. */
  readonly #attempts = new Map<Group, { readonly atMs: number; readonly count: number }>();

  constructor(ports: FullDiskPorts) {
    this.#ports = ports;
  }

  forget(group: Group): void {
    this.#attempts.delete(group);
  }

  /** Looks whether writes are refused, and who could lead in its place. */
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
