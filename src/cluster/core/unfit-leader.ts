/**
 * Transfers leaderships while this node is unfit to lead: the disk of its log hangs, or it refuses writes because of
 * its disk or its clock, or a member needs a state whose history is damaged here.
 *
 * Heartbeats need no disk, so a leader with a hanging disk would stay leader forever without committing. And a leader
 * refuses writes that its own disk cannot take, for all clients of the cluster; a follower accepts entries of a leader
 * with more space (C37). So leadership here blocks writes, and elsewhere it does not. It stays only where the other
 * voters have no quorum, or are as unfit.
 *
 *   C29  When an append to the log is not durable after an election window, this node transfers the leadership of each
 *        group that the other voters can lead without it, every two windows, to a different voter each time, but to
 *        none that drains.
 *   C38  While this node refuses writes because of its disk, or of its clock (C41), it does the same, to voters that
 *        report no such reason. Other nodes transfer no leaderships to it meanwhile.
 *   C47  While a member needs the state of a group whose history is damaged here, this node does the same with this
 *        group: it could not send that state, and the member would never catch up.
 */
import { type NodeId, nodeOf, type ReplicaId } from '#base';
import { everybody, memberStateOf, voteResult } from '#raft';
import type { Group } from '../group/group.ts';
import type { GroupPorts } from '../group/group-ports.ts';
import type { LogFeed } from './log-feed.ts';

/** After such a gap between two checks this thread was suspended, and pending answers of the log are handled first. */
const GAP_MS = 250;

export interface UnfitLeaderPorts extends Pick<GroupPorts, 'limits' | 'led' | 'isLeaving' | 'step'> {
  readonly feed: Pick<LogFeed, 'waitsSinceMs'>;
  readonly refusesWrites: () => boolean;
  /** Open groups whose histories are damaged here. */
  readonly damaged: () => readonly Group[];
  /** Returns whether a node drains, or refuses writes, too. */
  readonly isUnfit: (node: NodeId) => boolean;
}

export class UnfitLeader {
  readonly #ports: UnfitLeaderPorts;
  #lookedMs = 0;
  /** Per group, the time and number of the last transfers since this node is unfit. */
  readonly #attempts = new Map<Group, { readonly atMs: number; readonly count: number }>();

  constructor(ports: UnfitLeaderPorts) {
    this.#ports = ports;
  }

  forget(group: Group): void {
    this.#attempts.delete(group);
  }

  /** Checks whether this node is unfit, and which nodes could lead instead. */
  drive(nowMs: number): void {
    const { limits, led, refusesWrites, damaged, isLeaving, isUnfit, step } = this.#ports;
    const isGap = nowMs - this.#lookedMs > GAP_MS;
    this.#lookedMs = nowMs;
    const isStalled = this.#isStalled(nowMs);
    const isUnable = isStalled || refusesWrites();
    // A replica with a damaged history still votes, and acknowledges entries.
    const hurt = isUnable ? [] : damaged();
    // Not when it leads nothing for a moment: the next transfer must not go to the same voter.
    if (!isUnable && hurt.length === 0) return this.#attempts.clear();
    const groups = isUnable ? led() : hurt.filter(owesState);
    if (isStalled && isGap) return;
    const isExcluded = isStalled ? isLeaving : isUnfit;
    for (const group of groups) {
      const { atMs, count } = this.#attempts.get(group) ?? { atMs: Number.NEGATIVE_INFINITY, count: 0 };
      if (nowMs < atMs + 2 * limits.electionWindowMs) continue;
      const targets = targetsOf(group, nowMs, !isUnable).filter((target) => !isExcluded(nodeOf(target)));
      const to = targets[count % Math.max(1, targets.length)];
      if (to === undefined) continue;
      this.#attempts.set(group, { atMs: nowMs, count: count + 1 });
      step(group, { kind: 'transfer-leadership', to });
    }
  }

  #isStalled(nowMs: number): boolean {
    const sinceMs = this.#ports.feed.waitsSinceMs;
    return sinceMs !== undefined && nowMs - sinceMs >= this.#ports.limits.electionWindowMs;
  }
}

/** Returns whether this node leads the group, and a member lacks entries that the log no longer has. */
function owesState({ raft: { role } }: Group): boolean {
  return role.kind === 'leader' && [...role.peers.values()].some(({ progress }) => progress.kind === 'snapshot');
}

/** Other voters that are ready to lead a group of this node; none when they are too few. */
function targetsOf({ raft, self, leads, isAlone }: Group, nowMs: number, canFollow: boolean): readonly ReplicaId[] {
  if (!leads || isAlone) return [];
  const { voters } = raft.membership;
  const isReady = (voter: ReplicaId): boolean => voter !== self && memberStateOf(raft, voter, nowMs) === 'ready';
  if (voteResult(voters, (voter) => (voter === self ? canFollow : isReady(voter))) !== 'won') return [];
  return everybody(raft.membership).filter((member) => voters.incoming.includes(member) && isReady(member));
}
