/**
 * What follows for requests when a group of several replicas has another leader, or none.
 *
 *   requests that wait     another node leads: proposals are forwarded to it, reads are asked there
 *                          nobody leads for too long: refused, they were never entries
 *
 * It is told of roles while effects are carried out, and acts on them when no step is under way.
 *
 *   C11  What a leader had proposed when it lost the lead is answered with its outcome, as not committed when another
 *        entry is committed at its index, or as unknown; never as failed.
 *   C12  Who does not lead a group adds no entries to it, and tells other nodes who does.
 */
import { nodeOf, type ReplicaId } from '#base';
import { type Fact, type Input, isVoter } from '#raft';
import type { Group } from './group.ts';
import type { GroupTimers } from './group-timers.ts';
import type { CoreLimits } from './limits.ts';
import type { ReadBarrier } from './read-barrier.ts';
import { noLeader, outcomeUnknown } from './refusals.ts';
import type { Reporter } from './reporter.ts';

/** How often it is looked whether anything has waited for too long: there may be thousands of groups. */
const EXPIRE_MS = 500;

export interface LeadershipPorts {
  readonly limits: CoreLimits;
  readonly reporter: Reporter;
  readonly timers: GroupTimers;
  readonly reads: ReadBarrier;
  /** Takes proposals that wait to where they can be taken in. */
  readonly passOn: (group: Group) => void;
  readonly monotonicMs: () => number;
  readonly step: (group: Group, input: Input) => void;
}

export class Leadership {
  readonly #ports: LeadershipPorts;
  readonly #leading = new Set<Group>();
  readonly #following = new Set<Group>();
  /** Groups that have a new leader since the last turn. */
  #led = new Set<Group>();
  #expireMs = 0;

  constructor(ports: LeadershipPorts) {
    this.#ports = ports;
  }

  /** Groups that this node leads. */
  get ledCount(): number {
    return this.#leading.size;
  }

  /** Groups that other nodes lead. */
  get followedCount(): number {
    return this.#following.size;
  }

  /** Whether this node leads a group that others could lead. */
  get leadsOthers(): boolean {
    for (const group of this.#leading) if (successorOf(group) !== undefined) return true;
    return false;
  }

  /** Asks others to take the lead of whatever this node leads: it is about to end. */
  handOver(): void {
    const led = Array.from(this.#leading, (group) => ({ group, to: successorOf(group) }));
    for (const { group, to } of led) {
      if (to !== undefined) this.#ports.step(group, { kind: 'transfer-leadership', to });
    }
  }

  /** Takes note of what has happened in a step. */
  note(group: Group, fact: Fact): void {
    if (fact.kind === 'became-leader') this.#lead(group);
    else if (fact.kind === 'became-candidate' || fact.kind === 'became-pre-candidate') this.#lose(group);
    else if (fact.kind === 'became-follower') this.#follow(group, fact.leader);
    else if (fact.kind !== 'membership-changed') return;
    this.#ports.timers.review(group);
  }

  forget(group: Group): void {
    this.#leading.delete(group);
    this.#following.delete(group);
    this.#led.delete(group);
    this.#ports.timers.forget(group);
  }

  /** Goes on with what waited for a leader that is known now. */
  settle(): void {
    if (this.#led.size === 0) return;
    const led = this.#led;
    this.#led = new Set();
    for (const group of led) {
      const { leader } = group;
      if (!group.isOpen || leader === undefined || group.leads) continue;
      this.#ports.passOn(group);
      this.#ports.reads.askAll(group);
    }
  }

  /** Gives up what has waited for too long. */
  expire(nowMs: number): void {
    if (nowMs < this.#expireMs) return;
    this.#expireMs = nowMs + EXPIRE_MS;
    for (const group of this.#ports.timers.groups) {
      if (group.proposals.count + group.reads.count > 0 && !group.isAlone) this.#giveUp(group, nowMs);
    }
  }

  #giveUp(group: Group, nowMs: number): void {
    const { limits, reporter } = this.#ports;
    const lateMs = nowMs - limits.leaderWaitMs;
    const late = [...group.proposals.takeLate(lateMs), ...group.reads.takeLate(lateMs)];
    if (late.length > 0) reporter.refuse(late, noLeader(group.title));
    const unknown = group.proposals.takeUnknown(nowMs - limits.outcomeWaitMs);
    if (unknown.length > 0) reporter.refuse(unknown, outcomeUnknown(group.title));
  }

  #lead(group: Group): void {
    this.#leading.add(group);
    this.#ports.reporter.led({ group: group.id, node: nodeOf(group.self) });
  }

  #lose(group: Group): void {
    if (this.#following.delete(group)) this.#ports.reporter.led({ group: group.id, node: undefined });
  }

  #follow(group: Group, leader: ReplicaId | undefined): void {
    const led = this.#leading.delete(group);
    group.proposals.doubt(this.#ports.monotonicMs());
    if (leader !== undefined) {
      this.#following.add(group);
      this.#led.add(group);
      this.#ports.reporter.led({ group: group.id, node: nodeOf(leader) });
    } else if (led) this.#ports.reporter.led({ group: group.id, node: undefined });
    else this.#lose(group);
  }
}

/** The other voter that lacks the least; undefined when there is none. */
function successorOf({ raft, self }: Group): ReplicaId | undefined {
  const { role, membership } = raft;
  if (role.kind !== 'leader') return undefined;
  const voters = [...role.peers].filter(([id]) => id !== self && isVoter(membership.voters, id));
  return voters.toSorted(([, one], [, other]) => other.progress.match - one.progress.match)[0]?.[0];
}
