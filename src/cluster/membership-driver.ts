/**
 * Brings the groups that this node leads to the membership that they should have, one step of `planMembership` at a time.
 *
 * It remembers nothing that matters: which groups are not there yet is found again whenever one gets a leader, a
 * membership, or another goal. So a lost lead, a restart, or a change that failed to commit is nothing special; whoever
 * leads looks at the group as it is. A group that is where it should be costs nothing.
 */
import { assert, type GroupId } from '#base';
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
import type { Group } from './group.ts';
import type { CoreLimits } from './limits.ts';
import { type MembershipStep, type MembershipView, planMembership } from './membership-plan.ts';

export interface MembershipDriverPorts {
  readonly limits: CoreLimits;
  /** What the group should be; undefined when nobody wants it to be anything else than it is. */
  readonly wanted: (group: GroupId) => Target | undefined;
  readonly step: (group: Group, input: Input) => void;
}

/** A group that is not where it should be. */
interface Journey {
  /** Not looked at before: an attempt to hand it over holds its writers up. */
  restsUntilMs: number;
  handOvers: number;
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
    this.#journeys.set(group, { restsUntilMs: 0, handOvers: 0 });
  }

  forget(group: Group): void {
    this.#journeys.delete(group);
  }

  /** The node drains: others go on with what is under way. */
  close(): void {
    this.#isOpen = false;
    this.#journeys.clear();
  }

  /** The answer to a step of this driver. Only that what it asks for makes sense is certain; the rest is tried again. */
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
    if (next.kind === 'change') this.#ports.step(group, { kind: 'change-membership', target: next.target });
    else if (next.kind === 'hand-over') this.#handOver(group, next, journey, nowMs);
    return next.kind !== 'done';
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
