/**
 * Transfers leaderships while the disk of the log hangs.
 *
 * Heartbeats need no disk, so a leader with a hanging disk would stay leader forever without committing. The other
 * nodes can elect a leader and commit without it. It keeps the leadership only where they have no quorum.
 *
 *   C29  When an append to the log is not durable after an election window, this node transfers the leadership of each
 *        group that the other voters can lead without it, every two windows, to a different voter each time.
 */
import { type NodeId, nodeOf, type ReplicaId } from '#base';
import { everybody, type Input, standingOf, tally } from '#raft';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { Lifecycle } from './group-lifecycle.ts';
import type { LogFeed } from './log-feed.ts';

/** After such a gap between two checks this thread was suspended, and pending answers of the log are handled first. */
const GAP_MS = 250;

export interface StalledLogPorts {
  readonly limits: CoreLimits;
  readonly feed: Pick<LogFeed, 'waitsSinceMs'>;
  readonly lifecycle: Pick<Lifecycle, 'openGroups'>;
  /** Returns whether a node drains. */
  readonly isLeaving: (node: NodeId) => boolean;
  readonly step: (group: Group, input: Input) => void;
}

export class StalledLog {
  readonly #ports: StalledLogPorts;
  #lookedMs = 0;
  #restsUntilMs = 0;
  /** Number of transfers since the disk hangs. */
  #attempts = 0;

  constructor(ports: StalledLogPorts) {
    this.#ports = ports;
  }

  /** Checks whether the disk hangs. */
  drive(nowMs: number): void {
    const isGap = nowMs - this.#lookedMs > GAP_MS;
    this.#lookedMs = nowMs;
    const { limits, feed, lifecycle, isLeaving, step } = this.#ports;
    const sinceMs = feed.waitsSinceMs;
    if (sinceMs === undefined || nowMs - sinceMs < limits.electionWindowMs) {
      this.#attempts = 0;
      return;
    }
    if (isGap || nowMs < this.#restsUntilMs) return;
    this.#restsUntilMs = nowMs + 2 * limits.electionWindowMs;
    for (const group of lifecycle.openGroups) {
      const heirs = heirsOf(group, nowMs).filter((heir) => !isLeaving(nodeOf(heir)));
      const to = heirs[this.#attempts % Math.max(1, heirs.length)];
      if (to !== undefined) step(group, { kind: 'transfer-leadership', to });
    }
    this.#attempts += 1;
  }
}

/** Other voters that are ready to lead a group of this node; none when they are too few without it. */
export function heirsOf({ raft, self, leads, isAlone }: Group, nowMs: number): readonly ReplicaId[] {
  if (!leads || isAlone) return [];
  const { voters } = raft.membership;
  const isReady = (voter: ReplicaId): boolean => voter !== self && standingOf(raft, voter, nowMs) === 'ready';
  if (tally(voters, isReady) !== 'won') return [];
  return everybody(raft.membership).filter((member) => voters.incoming.includes(member) && isReady(member));
}
