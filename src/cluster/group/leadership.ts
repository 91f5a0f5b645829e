/**
 * Handles waiting requests when a group of several replicas gets another leader, or loses it.
 *
 *   requests that wait     another node leads: proposals are forwarded to it, reads are asked there
 *                          the leadership was not transferred: they continue here
 *                          no leader for too long: refused, they were never entries
 *
 * It is notified of roles while effects are carried out, and acts on them between steps.
 *
 *   C11  Proposals in flight when a leader loses its leadership are answered with their outcome, as not committed when
 *        another entry is committed at their index, or as unknown; never as failed.
 *   C12  A node that does not lead a group adds no entries to it, and names the leader to other nodes.
 */
import { nodeOf, type ReplicaId } from '#base';
import type { Fact } from '#raft';
import { noLeader, outcomeUnknown } from '../refusals.ts';
import { DrainTransfers } from './drain-transfers.ts';
import type { Group } from './group.ts';
import type { GroupPorts } from './group-ports.ts';
import type { ReadBarrier } from './read-barrier.ts';

/** Interval of the checks for timeouts. */
const EXPIRE_MS = 500;

export interface LeadershipPorts extends GroupPorts {
  readonly reads: ReadBarrier;
  readonly intake: { passOn(group: Group): void; release(group: Group): void };
}

/** Start times before which a wait has timed out: for a leader, and for an outcome. */
interface Late {
  readonly waitingSinceMs: number;
  readonly inDoubtSinceMs: number;
}

export class Leadership {
  readonly #ports: LeadershipPorts;
  readonly #leading = new Set<Group>();
  readonly #following = new Set<Group>();
  /** Groups with waiting requests; there may be thousands without any. */
  readonly #waiting = new Set<Group>();
  /** Groups that have a new leader since the last turn. */
  #led = new Set<Group>();
  /** Groups that stay led here after a failed transfer. */
  #kept = new Set<Group>();
  #expireMs = 0;
  readonly transfers: DrainTransfers;

  constructor(ports: LeadershipPorts) {
    this.#ports = ports;
    this.transfers = new DrainTransfers(ports);
  }

  /** Number of groups that this node leads. */
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

  /** Transfers all current and later leaderships of this node, because it drains. */
  leave(): void {
    this.transfers.begin(this.#leading);
  }

  /** Keeps the leaderships of this node from now on. */
  stay(): void {
    this.transfers.end();
  }

  /** A request starts to wait for other nodes, or for a leader of the group. */
  waits(group: Group): void {
    this.#waiting.add(group);
  }

  /** Refuses all requests that wait for other nodes, whose messages are no longer handled. */
  giveUp(): void {
    for (const group of this.#ports.timers.groups) if (!group.isAlone) this.giveUpIn(group);
  }

  /** Refuses all waiting requests of a group. */
  giveUpIn(group: Group): void {
    // The outcome of proposals in flight becomes unknown, too.
    group.proposals.doubt(this.#ports.monotonicMs());
    this.#refuse(group, { waitingSinceMs: Number.POSITIVE_INFINITY, inDoubtSinceMs: Number.POSITIVE_INFINITY });
  }

  /** Records an event of a step. */
  note(group: Group, fact: Fact): void {
    this.transfers.note(group, fact);
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
    this.transfers.forget(group);
    this.#ports.timers.forget(group);
  }

  /** Continues requests that waited for a leader. */
  settle(): void {
    this.transfers.settle();
    this.#goOn();
    if (this.#led.size === 0) return;
    const led = this.#led;
    this.#led = new Set();
    for (const group of led) {
      const { leader } = group;
      if (!group.isOpen || leader === undefined || group.leads) continue;
      this.#ports.intake.passOn(group);
      this.#ports.reads.askAll(group);
    }
  }

  /** Refuses requests and transfers that have timed out. */
  tick(nowMs: number): void {
    this.transfers.tick(nowMs);
    if (nowMs < this.#expireMs) return;
    this.#expireMs = nowMs + EXPIRE_MS;
    const { leaderWaitMs, outcomeWaitMs } = this.#ports.limits;
    const late = { waitingSinceMs: nowMs - leaderWaitMs, inDoubtSinceMs: nowMs - outcomeWaitMs };
    for (const group of this.#waiting) {
      if (group.proposals.count + group.reads.count === 0) this.#waiting.delete(group);
      else if (!group.isAlone) this.#refuse(group, late);
    }
  }

  /** Requests that arrived during a failed transfer continue. */
  #goOn(): void {
    if (this.#kept.size === 0) return;
    const kept = this.#kept;
    this.#kept = new Set();
    for (const group of kept) if (group.isOpen && group.isReady) this.#ports.intake.release(group);
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
