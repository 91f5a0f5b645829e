/**
 * What follows for requests when a group of several replicas has another leader, or none.
 *
 *   requests that wait     another node leads: proposals are forwarded to it, reads are asked there
 *                          nobody has taken the lead that was handed over: they go on here
 *                          nobody leads for too long: refused, they were never entries
 *
 * It is told of roles while effects are carried out, and acts on them when no step is under way.
 *
 *   C11  What a leader had proposed when it lost the lead is answered with its outcome, as not committed when another
 *        entry is committed at its index, or as unknown; never as failed.
 *   C12  Who does not lead a group adds no entries to it, and tells other nodes who does.
 */
import { type NodeId, nodeOf, type ReplicaId } from '#base';
import type { Fact, Input } from '#raft';
import type { CoreLimits } from '../limits.ts';
import type { ReadBarrier } from '../requests/read-barrier.ts';
import { noLeader, outcomeUnknown } from '../requests/refusals.ts';
import type { Reporter } from '../thread/reporter.ts';
import type { Group } from './group.ts';
import type { GroupTimers } from './group-timers.ts';
import { HandOver } from './hand-over.ts';

/** How often it is looked whether anything has waited for too long. */
const EXPIRE_MS = 500;

export interface LeadershipPorts {
  readonly limits: CoreLimits;
  readonly reporter: Reporter;
  readonly timers: GroupTimers;
  readonly reads: ReadBarrier;
  /** Takes proposals that wait to where they can be taken in. */
  readonly passOn: (group: Group) => void;
  /** Proposes what waits in a group that this node leads. */
  readonly release: (group: Group) => void;
  /** Whether another node drains. */
  readonly isLeaving: (node: NodeId) => boolean;
  readonly monotonicMs: () => number;
  readonly step: (group: Group, input: Input) => void;
}

/** Who has waited since then, or longer, waits no more: for a leader, and for what became of an entry. */
interface Late {
  readonly waitingSinceMs: number;
  readonly inDoubtSinceMs: number;
}

export class Leadership {
  readonly #ports: LeadershipPorts;
  readonly #leading = new Set<Group>();
  readonly #following = new Set<Group>();
  /** Groups for which somebody has waited: there may be thousands for which nobody does. */
  readonly #waiting = new Set<Group>();
  /** Groups that have a new leader since the last turn. */
  #led = new Set<Group>();
  /** Groups that this node goes on leading, for nobody took them. */
  #kept = new Set<Group>();
  #expireMs = 0;
  readonly handOver: HandOver;

  constructor(ports: LeadershipPorts) {
    this.#ports = ports;
    this.handOver = new HandOver(ports);
  }

  /** How many groups this node leads. */
  get ledCount(): number {
    return this.#leading.size;
  }

  get led(): Iterable<Group> {
    return this.#leading;
  }

  /** Groups that other nodes lead. */
  get followedCount(): number {
    return this.#following.size;
  }

  /** Asks others to take the lead of whatever this node leads, from here on: it is about to end. */
  leave(): void {
    this.handOver.begin(this.#leading);
  }

  /** Keeps what this node leads, from here on. */
  stay(): void {
    this.handOver.end();
  }

  /** Somebody begins to wait for other nodes, or for a leader of the group. */
  waits(group: Group): void {
    this.#waiting.add(group);
  }

  /** Answers whoever waits for other nodes: what they say from here on is not heard any more. */
  giveUp(): void {
    for (const group of this.#ports.timers.groups) if (!group.isAlone) this.giveUpIn(group);
  }

  /** Answers whoever waits in a group, for whatever it is. */
  giveUpIn(group: Group): void {
    // What is in flight is in doubt, too.
    group.proposals.doubt(this.#ports.monotonicMs());
    this.#refuse(group, { waitingSinceMs: Number.POSITIVE_INFINITY, inDoubtSinceMs: Number.POSITIVE_INFINITY });
  }

  /** Takes note of what has happened in a step. */
  note(group: Group, fact: Fact): void {
    this.handOver.note(group, fact);
    if (fact.kind === 'transfer-given-up') this.#kept.add(group);
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
    this.#kept.delete(group);
    this.#waiting.delete(group);
    this.handOver.forget(group);
    this.#ports.timers.forget(group);
  }

  /** Goes on with what waited for a leader that is known now. */
  settle(): void {
    this.handOver.settle();
    this.#goOn();
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

  /** Gives up what has waited for too long, hand-overs among it. */
  tick(nowMs: number): void {
    this.handOver.tick(nowMs);
    if (nowMs < this.#expireMs) return;
    this.#expireMs = nowMs + EXPIRE_MS;
    const { leaderWaitMs, outcomeWaitMs } = this.#ports.limits;
    const late = { waitingSinceMs: nowMs - leaderWaitMs, inDoubtSinceMs: nowMs - outcomeWaitMs };
    for (const group of this.#waiting) {
      if (group.proposals.count + group.reads.count === 0) this.#waiting.delete(group);
      else if (!group.isAlone) this.#refuse(group, late);
    }
  }

  /** What came while a lead was to go has waited for that. */
  #goOn(): void {
    if (this.#kept.size === 0) return;
    const kept = this.#kept;
    this.#kept = new Set();
    for (const group of kept) if (group.isOpen && group.isReady) this.#ports.release(group);
  }

  #refuse(group: Group, { waitingSinceMs, inDoubtSinceMs }: Late): void {
    const { reporter } = this.#ports;
    const late = [...group.proposals.takeLate(waitingSinceMs), ...group.reads.takeLate(waitingSinceMs)];
    if (late.length > 0) reporter.refuse(late, noLeader(group.title));
    const unknown = group.proposals.takeUnknown(inDoubtSinceMs);
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
