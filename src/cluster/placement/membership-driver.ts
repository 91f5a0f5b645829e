/**
 * Moves groups that this node leads to their wanted membership, one step of `planMembership` at a time.
 *
 * Its state is disposable: groups with pending steps are found again whenever one gets a leader, a membership, or
 * another goal. So a lost leadership, a restart and a failed change need no special handling; the leader looks at the
 * group as it is. A group at its goal costs nothing.
 */
import { assert, CATALOG_GROUP, type GroupId } from '#base';
import {
  changeInTheWay,
  everybody,
  type Fact,
  type Input,
  type MemberState,
  type MembershipRefusal,
  memberStateOf,
  type Target,
} from '#raft';
import type { Freshness } from '../catalog/freshness.ts';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import { type MembershipStep, type MembershipView, planMembership } from './membership-plan.ts';

export interface MembershipDriverPorts {
  readonly limits: CoreLimits;
  /** The wanted membership of the group; undefined when it should not change. */
  readonly wanted: (group: GroupId) => Target | undefined;
  /** The placement that the catalog waits to see settled for the group; undefined if there is none. */
  readonly unsettled: (group: GroupId) => number | undefined;
  /** The group has reached this placement, and its remaining members know it. */
  readonly settle: (group: GroupId, placement: number) => void;
  readonly freshness: Pick<Freshness, 'now' | 'isSince'>;
  readonly step: (group: Group, input: Input) => void;
}

/** The report to the catalog is repeated when the catalog does not show it after this time. */
const REPORT_AGAIN_MS = 1000;

/** A group that has not reached its goal. */
interface Journey {
  /** No earlier check: an attempt to transfer its leadership delays its writes. */
  restsUntilMs: number;
  transfers: number;
  /** Time at which this node became its leader. */
  readonly since: number;
  /** The placement for which the group has repeated its report. */
  proven: number | undefined;
}

export class MembershipDriver {
  readonly #ports: MembershipDriverPorts;
  /** The next one to check is first. */
  readonly #journeys = new Map<Group, Journey>();
  #lookMs = 0;
  #isOpen = true;

  constructor(ports: MembershipDriverPorts) {
    this.#ports = ports;
  }

  /** Next time to call `drive`; undefined when every group is at its goal. */
  get deadlineMs(): number | undefined {
    return this.#journeys.size === 0 ? undefined : this.#lookMs;
  }

  /** Records an event of a step. */
  note(group: Group, fact: Fact): void {
    if (fact.kind === 'became-leader' || fact.kind === 'membership-changed') this.review(group);
    else if (fact.kind === 'became-follower') this.#journeys.delete(group);
  }

  /** The group has another goal, or another state. */
  review(group: Group): void {
    if (!this.#isOpen || !group.leads || this.#journeys.has(group)) return;
    if (this.#ports.wanted(group.id) === undefined) return;
    const since = this.#ports.freshness.now();
    this.#journeys.set(group, { restsUntilMs: 0, transfers: 0, since, proven: undefined });
  }

  forget(group: Group): void {
    this.#journeys.delete(group);
  }

  /** The node drains: other leaders continue. */
  close(): void {
    this.#isOpen = false;
    this.#journeys.clear();
  }

  /** Resumes; the caller reviews the groups that this node leads. */
  open(): void {
    this.#isOpen = true;
  }

  /** A step of this driver was refused. Steps are only requested when they make sense; the rest is retried. */
  onRefused(refusal: MembershipRefusal): void {
    assert(refusal.kind !== 'malformed', 'A group is wanted to be what a group can be', refusal);
  }

  /** Takes the next step with some of the groups. */
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

  /** Returns whether the group is still on its way. */
  #take(group: Group, target: Target, journey: Journey, nowMs: number): boolean {
    const next = planMembership(viewOf(group, nowMs), target);
    if (next.kind === 'done') return this.#finish(group, target, journey, nowMs);
    // Every node always has the catalog; its wanted membership does not depend on replicas that others have removed.
    const isFresh = next.kind === 'wait' || group.id === CATALOG_GROUP || this.#ports.freshness.isSince(journey.since);
    if (!isFresh) return true;
    if (next.kind === 'change') this.#ports.step(group, { kind: 'change-membership', target: next.target });
    else if (next.kind === 'transfer') this.#transfer(group, next, journey, nowMs);
    return true;
  }

  /** The group has reached its membership. Returns whether it is still on its way: a replica must be removed. */
  #finish(group: Group, target: Target, journey: Journey, nowMs: number): boolean {
    const placement = this.#ports.unsettled(group.id);
    if (placement === undefined) return false;
    if (journey.proven === placement) {
      journey.restsUntilMs = nowMs + REPORT_AGAIN_MS;
      this.#ports.settle(group.id, placement);
    } else {
      journey.proven = placement;
      this.#ports.step(group, { kind: 'change-membership', target, isRepeated: true });
    }
    return true;
  }

  /** A different target each time, because one of them may be unable to win. */
  #transfer(
    group: Group,
    { to }: MembershipStep & { readonly kind: 'transfer' },
    journey: Journey,
    nowMs: number,
  ): void {
    const successor = to[journey.transfers % to.length];
    assert(successor !== undefined, 'There is a transfer target', group.id);
    journey.transfers += 1;
    journey.restsUntilMs = nowMs + 2 * this.#ports.limits.electionWindowMs;
    this.#ports.step(group, { kind: 'transfer-leadership', to: successor });
  }
}

function viewOf({ raft, self }: Group, nowMs: number): MembershipView {
  const { membership } = raft;
  const states = new Map<Group['self'], MemberState>();
  for (const member of everybody(membership))
    if (member !== self) states.set(member, memberStateOf(raft, member, nowMs));
  return { self, membership, isBusy: changeInTheWay(raft) !== undefined, states };
}
