/**
 * What a node does when the disk of its log stands still: it hands over what others can lead.
 *
 * Beats wait for no disk, so a leader without one would go on leading for ever and answer nobody. The others are well:
 * they can elect, and a quorum of them can commit, without it. Only where there is no such quorum it keeps the lead.
 *
 *   C29  When a batch of the log has not become durable for an election window, this node asks other voters to take the
 *        lead of each group that they can lead without it, again every two windows, another one each time.
 */
import { type NodeId, nodeOf, type ReplicaId } from '#base';
import { everybody, type Input, standingOf, tally } from '#raft';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';

/** After such a gap between two looks this thread stood still, and what the log has said meanwhile is heard first. */
const GAP_MS = 250;

export interface StalledLogPorts {
  readonly limits: CoreLimits;
  /** When the oldest batch was handed to the log that is not durable yet; undefined when all are. */
  readonly waitsSinceMs: () => number | undefined;
  readonly groups: () => Iterable<Group>;
  /** Whether a node is about to end. */
  readonly isLeaving: (node: NodeId) => boolean;
  readonly step: (group: Group, input: Input) => void;
}

export class StalledLog {
  readonly #ports: StalledLogPorts;
  #lookedMs = 0;
  #restsUntilMs = 0;
  /** How often leads were handed over since the disk stands still. */
  #attempts = 0;

  constructor(ports: StalledLogPorts) {
    this.#ports = ports;
  }

  /** Looks whether the disk stands still. */
  drive(nowMs: number): void {
    const isGap = nowMs - this.#lookedMs > GAP_MS;
    this.#lookedMs = nowMs;
    const { limits, waitsSinceMs, groups, isLeaving, step } = this.#ports;
    const sinceMs = waitsSinceMs();
    if (sinceMs === undefined || nowMs - sinceMs < limits.electionWindowMs) {
      this.#attempts = 0;
      return;
    }
    if (isGap || nowMs < this.#restsUntilMs) return;
    this.#restsUntilMs = nowMs + 2 * limits.electionWindowMs;
    for (const group of groups()) {
      const heirs = heirsOf(group, nowMs).filter((heir) => !isLeaving(nodeOf(heir)));
      const to = heirs[this.#attempts % Math.max(1, heirs.length)];
      if (to !== undefined) step(group, { kind: 'transfer-leadership', to });
    }
    this.#attempts += 1;
  }
}

/** The other voters that are ready to lead a group of this node; none when they are too few without it. */
export function heirsOf({ raft, self, leads, isAlone }: Group, nowMs: number): readonly ReplicaId[] {
  if (!leads || isAlone) return [];
  const { voters } = raft.membership;
  const isReady = (voter: ReplicaId): boolean => voter !== self && standingOf(raft, voter, nowMs) === 'ready';
  if (tally(voters, isReady) !== 'won') return [];
  return everybody(raft.membership).filter((member) => voters.incoming.includes(member) && isReady(member));
}
