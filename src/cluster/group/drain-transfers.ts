/**
 * Transfers the leaderships of a draining node, a few at a time, to nodes that accept them.
 *
 * ```
 *   waiting ── a target, and a slot ──> moving ── another node leads ──> gone
 *      ^                                 │ ^── not taken: the next target ──┐
 *      │                                 └──────────────────────────────────┘
 *      └── not taken by any target within an election window
 * ```
 * During each transfer, writes of its group wait for an election. There may be thousands of groups, and concurrent
 * elections of all of them would take as long as the slowest; so the other groups stay led here and accept writes until
 * it is their turn.
 *
 *   C33  A draining node has at most `transfersMax` transfers in progress. When a target does not become leader within
 *        `transferWaitMs`, or three times that if it answers and campaigns, the next target is tried; when none
 *        succeeds, the group stays led here for an election window.
 */
import { CATALOG_GROUP, type NodeId, nodeOf, type ReplicaId } from '#base';
import { type Fact, lastId, members, type Peer } from '#raft';
import type { Group } from './group.ts';
import type { GroupPorts } from './group-ports.ts';
import { inTurn } from './leader-balance.ts';

export type DrainTransfersPorts = Pick<GroupPorts, 'limits' | 'monotonicMs' | 'isLeaving' | 'step'>;

/** A transfer in progress. */
interface Moving {
  readonly to: ReplicaId;
  readonly sinceMs: number;
  /** Targets tried so far, including the current one. */
  readonly asked: ReadonlySet<ReplicaId>;
}

/** On slow disks elections are slow, and a second one slows both: factor of the wait for a target that campaigns. */
const CAMPAIGNING_TIMES = 3;
/** Maximum number of waiting groups checked per turn: without answers thousands would be checked again and again. */
const LOOKS = 256;
/** Granularity of the lag of a target: entries in flight make no difference. */
const LACKS = 64;

export class DrainTransfers {
  readonly #ports: DrainTransfersPorts;
  /** Leaderships that other nodes could take, with the earliest time of their transfer. The next one is first. */
  readonly #waiting = new Map<Group, number>();
  readonly #moving = new Map<Group, Moving>();
  /** Leaderships received since the drain started: of two draining nodes neither transfers them back. */
  readonly #given = new Set<Group>();
  /** Time of the last message of each node, for any group. */
  readonly #heardMs = new Map<NodeId, number>();
  #isBegun = false;
  /** True when a slot or a group has become available since the last check. */
  #isDue = false;
  /** Time of the last successful transfer, or of the first waiting leadership. */
  #movedMs = 0;
  /** Time since which all possible targets drain; undefined: there is another one. */
  #stuckSinceMs: number | undefined;

  constructor(ports: DrainTransfersPorts) {
    this.#ports = ports;
  }

  /** Leaderships that other nodes could take and are not known to have taken. */
  get count(): number {
    let count = this.#moving.size;
    for (const group of this.#waiting.keys()) if (hasOthers(group)) count += 1;
    return count;
  }

  /** Returns whether waiting is useless: no leadership was taken for long, or all targets drain. */
  hasStalled(nowMs: number): boolean {
    const { transfersIdleMs, transferWaitMs } = this.#ports.limits;
    const isStuck = this.#stuckSinceMs !== undefined && nowMs >= this.#stuckSinceMs + transferWaitMs;
    return isStuck || nowMs >= this.#movedMs + transfersIdleMs;
  }

  /** Starts transferring these leaderships and all later ones. */
  begin(led: Iterable<Group>): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    this.#movedMs = this.#ports.monotonicMs();
    // The catalog is transferred first: new databases and names need it, and so do further transfers.
    const ordered = [...led].toSorted((one, other) => rankOf(one) - rankOf(other));
    for (const group of ordered) this.#add(group);
    this.#drive();
  }

  /** Cancels the drain: the node keeps its leaderships. Transfers in progress continue. */
  end(): void {
    this.#isBegun = false;
    this.#isDue = false;
    this.#stuckSinceMs = undefined;
    for (const forgotten of [this.#waiting, this.#moving, this.#given, this.#heardMs]) forgotten.clear();
  }

  /** Records an event of a step. */
  note(group: Group, fact: Fact): void {
    if (!this.#isBegun) return;
    if (fact.kind === 'became-leader') {
      this.#moving.delete(group);
      this.#given.add(group);
      this.#add(group);
    } else if (fact.kind === 'membership-changed') {
      if (!this.#moving.has(group)) this.#add(group);
    } else if (fact.kind === 'became-follower') this.#follows(group, fact.leader);
    else if (fact.kind === 'transfer-given-up' && this.#moving.get(group)?.to === fact.to) {
      this.#moving.delete(group);
      this.#isDue = true;
      this.#waiting.set(group, this.#ports.monotonicMs() + this.#ports.limits.electionWindowMs);
    }
  }

  forget(group: Group): void {
    this.#waiting.delete(group);
    this.#moving.delete(group);
    this.#given.delete(group);
  }

  /** A message of a node has arrived. */
  heard(node: NodeId): void {
    if (this.#isBegun) this.#heardMs.set(node, this.#ports.monotonicMs());
  }

  /** Starts the next transfer when one is complete. Called between steps. */
  settle(): void {
    if (this.#isDue) this.#drive();
  }

  /** Checks for transfers that have timed out. */
  tick(nowMs: number): void {
    if (!this.#isBegun) return;
    const { transferWaitMs } = this.#ports.limits;
    for (const [group, moving] of this.#moving) {
      const times = this.#isCampaigning(group, moving) ? CAMPAIGNING_TIMES : 1;
      if (nowMs < moving.sinceMs + times * transferWaitMs) continue;
      // The target may have lost the election, or have stopped; the other members then elect a leader.
      if (!group.leads) this.#moving.delete(group);
      else this.#tryNext(group, moving, nowMs);
    }
    this.#drive();
  }

  get #hasRoom(): boolean {
    return this.#moving.size < this.#ports.limits.transfersMax;
  }

  #add(group: Group): void {
    if (!hasOthers(group)) return;
    if (this.#waiting.size + this.#moving.size === 0) this.#movedMs = this.#ports.monotonicMs();
    this.#waiting.set(group, 0);
    this.#isDue = true;
  }

  #follows(group: Group, leader: ReplicaId | undefined): void {
    this.#waiting.delete(group);
    if (leader === undefined || !this.#moving.delete(group)) return;
    this.#movedMs = this.#ports.monotonicMs();
    this.#isDue = true;
  }

  #drive(): void {
    this.#isDue = false;
    const nowMs = this.#ports.monotonicMs();
    let isHopeful = this.#moving.size > 0 || this.#waiting.size > LOOKS;
    let looks = Math.min(LOOKS, this.#waiting.size);
    for (const [group, notBeforeMs] of this.#waiting) {
      if (looks === 0 || !this.#hasRoom) break;
      looks -= 1;
      this.#waiting.delete(group);
      const [to] = this.#targetsOf(group, nowMs);
      isHopeful ||= this.#hasStaying(group);
      if (to === undefined || nowMs < notBeforeMs) this.#waiting.set(group, notBeforeMs);
      else this.#ask(group, to, { nowMs, asked: new Set() });
    }
    this.#stuckSinceMs = isHopeful ? undefined : (this.#stuckSinceMs ?? nowMs);
  }

  /** Returns whether the target seems to campaign: it has received the request, and has sent a message since. */
  #isCampaigning({ timeless, leads }: Group, { to, sinceMs }: Moving): boolean {
    if (!leads) return true;
    const { role } = timeless;
    const isAsked = role.kind === 'leader' && role.transfer?.isAsked === true;
    return isAsked && (this.#heardMs.get(nodeOf(to)) ?? 0) > sinceMs;
  }

  #tryNext(group: Group, { asked }: Moving, nowMs: number): void {
    const next = this.#targetsOf(group, nowMs).find((target) => !asked.has(target));
    if (next !== undefined) this.#ask(group, next, { nowMs, asked });
  }

  #ask(
    group: Group,
    to: ReplicaId,
    { nowMs, asked }: { readonly nowMs: number; readonly asked: Moving['asked'] },
  ): void {
    this.#moving.set(group, { to, sinceMs: nowMs, asked: new Set([...asked, to]) });
    this.#ports.step(group, { kind: 'transfer-leadership', to });
  }

  /** Returns whether another voter does not drain, even if it is silent at the moment. */
  #hasStaying({ timeless, self }: Group): boolean {
    const { voters } = timeless.membership;
    return members(voters).some((voter) => voter !== self && !this.#ports.isLeaving(nodeOf(voter)));
  }

  /**
   * Possible targets, the best first: among those with the smallest lag, a different one for each group. Draining nodes
   * come last, because they may reach nodes that this one does not.
   */
  #targetsOf(group: Group, nowMs: number): readonly ReplicaId[] {
    const { raft, self, id } = group;
    const { role, log, membership } = raft;
    if (role.kind !== 'leader') return [];
    const { limits, isLeaving } = this.#ports;
    // Two heartbeats: a node that stopped a moment ago is not chosen, because the group would have no leader until that
    // is detected.
    const sinceMs = nowMs - limits.electionWindowMs / 2;
    const targets: { readonly target: ReplicaId; readonly rank: number }[] = [];
    const others = members(membership.voters).filter((voter) => voter !== self);
    for (const target of inTurn(others, id)) {
      const peer = role.peers.get(target);
      const isLast = isLeaving(nodeOf(target));
      if (peer === undefined || !isThere(peer, sinceMs) || (isLast && this.#given.has(group))) continue;
      const lacks = Math.floor((lastId(log).index - peer.progress.match) / LACKS);
      targets.push({ target, rank: isLast ? Number.MAX_SAFE_INTEGER : lacks });
    }
    return targets.toSorted((one, other) => one.rank - other.rank).map(({ target }) => target);
  }
}

/** Returns whether this node leads the group, and others vote in it. */
export function hasOthers({ timeless, self, leads }: Group): boolean {
  return leads && members(timeless.membership.voters).some((voter) => voter !== self);
}

function isThere({ hasAnswered, heardMs }: Peer, sinceMs: number): boolean {
  return hasAnswered && heardMs > sinceMs;
}

function rankOf({ id }: Group): number {
  return id === CATALOG_GROUP ? 0 : 1;
}
