/**
 * Brings the groups that this node leads to the membership that they should have, one step of `planMembership` at a
 * time.
 *
 * It remembers nothing that matters: which groups are not there yet is found again whenever one gets a leader, a
 * membership, or another goal. So a lost lead, a restart, or a change that failed to commit is nothing special; whoever
 * leads looks at the group as it is. A group that is where it should be costs nothing.
 */
import { assert, CATALOG_GROUP, type GroupId } from '#base';
import {
  changeInTheWay,
  everybody,
  type Fact,
  type Input,
  type MembershipRefusal,
  type Standing,
  standingOf,
  type Target,
} from '#raft';
import type { Freshness } from '../catalog/freshness.ts';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import { type MembershipStep, type MembershipView, planMembership } from './membership-plan.ts';

export interface MembershipDriverPorts {
  readonly limits: CoreLimits;
  /** What the group should be; undefined when nobody wants it to be anything else than it is. */
  readonly wanted: (group: GroupId) => Target | undefined;
  /**
   * The placement for which the catalog waits for the word that the group is what it should be; undefined if for none.
   */
  readonly unsettled: (group: GroupId) => number | undefined;
  /** The group is what this placement wants it to be, and its members know it, whoever of the former ones is gone. */
  readonly settle: (group: GroupId, placement: number) => void;
  readonly freshness: Pick<Freshness, 'now' | 'isSince'>;
  readonly step: (group: Group, input: Input) => void;
}

/** The catalog is told again when it does not show after so long that it has heard. */
const TOLD_MS = 1000;

/** A group that is not where it should be. */
interface Journey {
  /** Not looked at before: an attempt to hand it over holds its writers up. */
  restsUntilMs: number;
  handOvers: number;
  /** When this node had begun to lead the group. */
  readonly since: number;
  /** The placement for which the group has said once more what it is. */
  proven: number | undefined;
}

export class MembershipDriver {
  readonly #ports: MembershipDriverPorts;
  /** The next to be looked at is the first. */
  readonly #journeys = new Map<Group, Journey>();
  #lookMs = 0;
  #isOpen = true;

  constructor(ports: MembershipDriverPorts) {
    this.#ports = ports;
  }

  /** When `drive` is next worth calling; undefined when every group is where it should be. */
  get deadlineMs(): number | undefined {
    return this.#journeys.size === 0 ? undefined : this.#lookMs;
  }

  /** Takes note of what has happened in a step. */
  note(group: Group, fact: Fact): void {
    if (fact.kind === 'became-leader' || fact.kind === 'membership-changed') this.review(group);
    else if (fact.kind === 'became-follower') this.#journeys.delete(group);
  }

  /** The group has another goal, or another state. */
  review(group: Group): void {
    if (!this.#isOpen || !group.leads || this.#journeys.has(group)) return;
    if (this.#ports.wanted(group.id) === undefined) return;
    const since = this.#ports.freshness.now();
    this.#journeys.set(group, { restsUntilMs: 0, handOvers: 0, since, proven: undefined });
  }

  forget(group: Group): void {
    this.#journeys.delete(group);
  }

  /** The node drains: others go on with what is under way. */
  close(): void {
    this.#isOpen = false;
    this.#journeys.clear();
  }

  /** The caller reviews the groups that this node leads. */
  open(): void {
    this.#isOpen = true;
  }

  /**
   * The answer to a step of this driver. Only that what it asks for makes sense is certain; the rest is tried again.
   */
  onRefused(refusal: MembershipRefusal): void {
    assert(refusal.kind !== 'malformed', 'A group is wanted to be what a group can be', refusal);
  }

  /** Takes the next step with each of some groups. */
  drive(nowMs: number): void {
    if (this.#journeys.size === 0 || nowMs < this.#lookMs) return;
    const { membershipLookMs, membershipLooks } = this.#ports.limits;
    this.#lookMs = nowMs + membershipLookMs;
    for (const [group, journey] of [...this.#journeys].slice(0, membershipLooks)) {
      this.#journeys.delete(group);
      const target = group.isOpen && group.leads ? this.#ports.wanted(group.id) : undefined;
      if (target === undefined) continue;
      if (nowMs < journey.restsUntilMs || this.#take(group, target, journey, nowMs)) this.#journeys.set(group, journey);
    }
  }

  /** Whether the group is still on its way. */
  #take(group: Group, target: Target, journey: Journey, nowMs: number): boolean {
    const next = planMembership(viewOf(group, nowMs), target);
    if (next.kind === 'done') return this.#finish(group, target, journey, nowMs);
    // Every node holds the catalog for ever; what is wanted of it depends on no copy that others have given up.
    const isFresh = next.kind === 'wait' || group.id === CATALOG_GROUP || this.#ports.freshness.isSince(journey.since);
    if (!isFresh) return true;
    if (next.kind === 'change') this.#ports.step(group, { kind: 'change-membership', target: next.target });
    else if (next.kind === 'hand-over') this.#handOver(group, next, journey, nowMs);
    return true;
  }

  /** The group is where it should be. Whether it is still on its way: somebody is to leave its copy behind. */
  #finish(group: Group, target: Target, journey: Journey, nowMs: number): boolean {
    const placement = this.#ports.unsettled(group.id);
    if (placement === undefined) return false;
    if (journey.proven === placement) {
      journey.restsUntilMs = nowMs + TOLD_MS;
      this.#ports.settle(group.id, placement);
    } else {
      journey.proven = placement;
      this.#ports.step(group, { kind: 'change-membership', target, isRepeated: true });
    }
    return true;
  }

  /** Another one each time, for one of them may be unable to win. */
  #handOver(
    group: Group,
    { to }: MembershipStep & { readonly kind: 'hand-over' },
    journey: Journey,
    nowMs: number,
  ): void {
    const successor = to[journey.handOvers % to.length];
    assert(successor !== undefined, 'There is somebody to hand over to', group.id);
    journey.handOvers += 1;
    journey.restsUntilMs = nowMs + 2 * this.#ports.limits.electionWindowMs;
    this.#ports.step(group, { kind: 'transfer-leadership', to: successor });
  }
}

function viewOf({ raft, self }: Group, nowMs: number): MembershipView {
  const { membership } = raft;
  const standings = new Map<Group['self'], Standing>();
  for (const member of everybody(membership))
    if (member !== self) standings.set(member, standingOf(raft, member, nowMs));
  return { self, membership, isBusy: changeInTheWay(raft) !== undefined, standings };
}
