/**
 * What a node that is to end does with its leads: it hands them over, a few at a time, to whoever takes them.
 *
 * ```
 *   waiting ── an heir, and a place ──> moving ── another node leads ──> gone
 *      ^                                  │ ^── not taken: the next heir ──┐
 *      │                                  └────────────────────────────────┘
 *      └── given up: nobody took it within an election window
 * ```
 * Each hand-over has writes of its group wait for an election. There may be thousands of groups, and elections of all
 * of them at a time would take as long as the slowest: so the others lead on, and take writes, until it is their turn.
 *
 *   C33  A node that is to end, or to lead nothing, has at most `handOversMax` hand-overs under way. An heir that does not take a lead within
 *        `heirWaitMs`, or thrice that if it is there and campaigns, makes way for the next one; when none has, the group
 *        rests for an election window and is led here.
 */
import { CATALOG_GROUP, type NodeId, nodeOf, type ReplicaId } from '#base';
import { type Fact, type Input, lastId, members, type Peer } from '#raft';
import type { CoreLimits } from '../limits.ts';
import type { Group } from './group.ts';
import { inTurn } from './leader-balance.ts';

export interface HandOverPorts {
  readonly limits: Pick<CoreLimits, 'electionWindowMs' | 'handOverMs' | 'handOversMax' | 'heirWaitMs'>;
  readonly monotonicMs: () => number;
  /** Whether a node is about to end, too: it has to hand over once more. */
  readonly isLeaving: (node: NodeId) => boolean;
  readonly step: (group: Group, input: Input) => void;
}

/** A lead on its way. */
interface Moving {
  readonly to: ReplicaId;
  readonly sinceMs: number;
  /** Who was asked, the one who is asked now among them. */
  readonly asked: ReadonlySet<ReplicaId>;
}

/** Where disks are slow so is every election, and a second one beside it makes both slower: it gets so many times. */
const CAMPAIGNING_TIMES = 3;
/** Of those that wait so many are looked at in a turn: where nobody answers thousands would be, again and again. */
const LOOKS = 256;
/** Entries that an heir lacks count by so many: what is in flight makes no difference. */
const LACKS = 64;

export class HandOver {
  readonly #ports: HandOverPorts;
  /** What this node leads and others could, and since when each may be handed over. The next is the first. */
  readonly #waiting = new Map<Group, number>();
  readonly #moving = new Map<Group, Moving>();
  /** What it was given since it has begun: of two nodes that both end neither gives it back. */
  readonly #given = new Set<Group>();
  /** When something was heard of each node last, of whichever group. */
  readonly #heardMs = new Map<NodeId, number>();
  #isBegun = false;
  /** Whether there is another place, or another group, since the last look. */
  #isDue = false;
  /** When a lead was taken last, or the first of those that are to be came to be so. */
  #movedMs = 0;
  /** Since when all others who could lead what waits are about to end; undefined: there is somebody. */
  #stuckSinceMs: number | undefined;

  constructor(ports: HandOverPorts) {
    this.#ports = ports;
  }

  /** Leads that others could have and have not, or that nobody is known to have taken yet. */
  get count(): number {
    let count = this.#moving.size;
    for (const group of this.#waiting.keys()) if (hasOthers(group)) count += 1;
    return count;
  }

  /** Whether it makes no sense to wait: nobody has taken a lead for long, or all others are about to end. */
  isInVain(nowMs: number): boolean {
    const { handOverMs, heirWaitMs } = this.#ports.limits;
    const isStuck = this.#stuckSinceMs !== undefined && nowMs >= this.#stuckSinceMs + heirWaitMs;
    return isStuck || nowMs >= this.#movedMs + handOverMs;
  }

  /** These are to go, and whatever this node is to lead from here on. */
  begin(led: Iterable<Group>): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    this.#movedMs = this.#ports.monotonicMs();
    // New databases and names need the catalog, and so does every other hand-over that the cluster may want.
    const ordered = [...led].toSorted((one, other) => rankOf(one) - rankOf(other));
    for (const group of ordered) this.#add(group);
    this.#drive();
  }

  /** This node stays: it keeps what it leads. Transfers that are under way go on. */
  end(): void {
    this.#isBegun = false;
    this.#isDue = false;
    this.#stuckSinceMs = undefined;
    for (const forgotten of [this.#waiting, this.#moving, this.#given, this.#heardMs]) forgotten.clear();
  }

  /** Takes note of what has happened in a step. */
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

  /** Something was heard of a node. */
  heard(node: NodeId): void {
    if (this.#isBegun) this.#heardMs.set(node, this.#ports.monotonicMs());
  }

  /** Goes on with the next where one has gone. Called when no step is under way. */
  settle(): void {
    if (this.#isDue) this.#drive();
  }

  /** Looks who has not taken what was handed to it. */
  tick(nowMs: number): void {
    if (!this.#isBegun) return;
    const { heirWaitMs } = this.#ports.limits;
    for (const [group, moving] of this.#moving) {
      const times = this.#isCampaigning(group, moving) ? CAMPAIGNING_TIMES : 1;
      if (nowMs < moving.sinceMs + times * heirWaitMs) continue;
      // Whoever has asked for votes may have lost them, or itself: then the others see to it.
      if (!group.leads) this.#moving.delete(group);
      else this.#tryNext(group, moving, nowMs);
    }
    this.#drive();
  }

  get #hasRoom(): boolean {
    return this.#moving.size < this.#ports.limits.handOversMax;
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
      const [to] = this.#heirsOf(group, nowMs);
      isHopeful ||= this.#hasStaying(group);
      if (to === undefined || nowMs < notBeforeMs) this.#waiting.set(group, notBeforeMs);
      else this.#ask(group, to, { nowMs, asked: new Set() });
    }
    this.#stuckSinceMs = isHopeful ? undefined : (this.#stuckSinceMs ?? nowMs);
  }

  /** Whether the heir campaigns, as far as can be seen: it was told to, and its node was heard since it was asked. */
  #isCampaigning({ timeless, leads }: Group, { to, sinceMs }: Moving): boolean {
    if (!leads) return true;
    const { role } = timeless;
    const isTold = role.kind === 'leader' && role.transfer?.isTold === true;
    return isTold && (this.#heardMs.get(nodeOf(to)) ?? 0) > sinceMs;
  }

  #tryNext(group: Group, { asked }: Moving, nowMs: number): void {
    const next = this.#heirsOf(group, nowMs).find((heir) => !asked.has(heir));
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

  /** Whether another voter stays, though it may be silent at the moment. */
  #hasStaying({ timeless, self }: Group): boolean {
    const { voters } = timeless.membership;
    return members(voters).some((voter) => voter !== self && !this.#ports.isLeaving(nodeOf(voter)));
  }

  /**
   * Who could lead it next, the best first: of those who lack as little, another one for each group. Those who are
   * about to end come last, for they reach others, maybe, that this node does not.
   */
  #heirsOf(group: Group, nowMs: number): readonly ReplicaId[] {
    const { raft, self, id } = group;
    const { role, log, membership } = raft;
    if (role.kind !== 'leader') return [];
    const { limits, isLeaving } = this.#ports;
    // Two beats: whoever ended a moment ago is not asked, for then nobody would lead until that is found out.
    const sinceMs = nowMs - limits.electionWindowMs / 2;
    const heirs: { readonly heir: ReplicaId; readonly rank: number }[] = [];
    const others = members(membership.voters).filter((voter) => voter !== self);
    for (const heir of inTurn(others, id)) {
      const peer = role.peers.get(heir);
      const isLast = isLeaving(nodeOf(heir));
      if (peer === undefined || !isThere(peer, sinceMs) || (isLast && this.#given.has(group))) continue;
      const lacks = Math.floor((lastId(log).index - peer.progress.match) / LACKS);
      heirs.push({ heir, rank: isLast ? Number.MAX_SAFE_INTEGER : lacks });
    }
    return heirs.toSorted((one, other) => one.rank - other.rank).map(({ heir }) => heir);
  }
}

/** Whether this node leads the group, and others vote in it. */
export function hasOthers({ timeless, self, leads }: Group): boolean {
  return leads && members(timeless.membership.voters).some((voter) => voter !== self);
}

function isThere({ hasAnswered, heardMs }: Peer, sinceMs: number): boolean {
  return hasAnswered && heardMs > sinceMs;
}

function rankOf({ id }: Group): number {
  return id === CATALOG_GROUP ? 0 : 1;
}
