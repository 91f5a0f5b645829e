/**
 * Admission of proposals: decides which may become entries, assigns their times, and proposes those of one group
 * together.
 *
 * Refused before anything is appended: requests while draining, for groups that are gone, user writes on a nearly full
 * disk, and requests beyond a limit. A request for a group that another node leads is forwarded to it. An accepted
 * request is answered, unless the process ends first (C2).
 */
import { CATALOG_GROUP, type DatabaseError, nodeOf, toDatabaseId, unreachable, uuidv7 } from '#base';
import type { Proposed, Refusal } from '#raft';
import type { Group } from '../group/group.ts';
import type { GroupPorts } from '../group/group-ports.ts';
import type { Waiting } from '../group/group-proposals.ts';
import { type Commands, type CreateRequest, isForeign, type NewDatabase, type Proposal } from '../link.ts';
import type { Placement, SpreadView } from '../placement/placement.ts';
import {
  backlogFull,
  clockFault,
  clockSkewed,
  diskFull,
  draining,
  levelNotReached,
  memoryFull,
  noLeader,
  notLeader,
  uncommittedFull,
  waitingFull,
} from '../refusals.ts';
import type { Forwards } from './forwards.ts';

export interface IntakePorts extends GroupPorts {
  readonly placement: Placement;
  /** The view for placing databases. */
  readonly view: () => SpreadView;
  readonly forwards: Forwards;
  /** Time by which the clock of this node is ahead of the others, if it is too far to assign times (C41). */
  readonly clockFar: () => number | undefined;
  /** Feature level of the cluster: nothing above it is written. */
  readonly level: () => number;
}

/** Requests of one turn, from this node or another. */
type Requests = Pick<Commands, 'proposals' | 'creates'>;

/** Accepted proposals, by group. */
type Admitted = Map<Group, Offer>;

interface Offer {
  readonly proposals: Proposal[];
  bytes: number;
}

export class Intake {
  readonly #ports: IntakePorts;
  #isOpen = true;

  constructor(ports: IntakePorts) {
    this.#ports = ports;
  }

  /** Refuses everything from now on; accepted requests continue. */
  close(): void {
    this.#isOpen = false;
  }

  take({ proposals, creates }: Requests): void {
    const sinceMs = this.#ports.monotonicMs();
    const admitted: Admitted = new Map();
    for (const proposal of proposals) this.#admit({ proposal, sinceMs }, admitted);
    for (const request of creates) this.#create(request, sinceMs, admitted);
    this.#proposeAll(admitted);
  }

  /** Accepts requests again that another node has refused. */
  takeAgain(waiting: readonly Waiting[]): void {
    const admitted: Admitted = new Map();
    for (const each of waiting) this.#admit(each, admitted);
    this.#proposeAll(admitted);
  }

  /** Proposes requests that waited for the group to become ready. */
  release(group: Group): void {
    if (group.isTransferring) return;
    const admitted: Proposal[] = [];
    for (const { proposal } of group.proposals.takeWaiting()) {
      const fault = this.#diskFault(proposal);
      if (fault === undefined) admitted.push(proposal);
      else this.#refuse(proposal, fault);
    }
    if (admitted.length > 0) this.#propose(group, admitted);
  }

  /** Forwards requests that waited for a leader to the node that leads. */
  passOn(group: Group): void {
    for (const waiting of group.proposals.takeWaiting()) this.#wait(group, waiting);
  }

  /** Carries out the answer to a `propose` input. */
  onProposed(group: Group, answer: Proposed): void {
    const { entered, refused } = group.proposals.admit(answer);
    for (const { proposal, index } of entered) {
      if (isForeign(proposal.token)) this.#ports.forwards.accepted(proposal.token, index, answer.term);
      else if (proposal.tellsAdmission) this.#ports.reporter.admitted(proposal.token);
    }
    if (answer.refused === undefined) return;
    const tokens = refused.map(({ token }) => token);
    this.#ports.reporter.refuse(tokens, describe(group, answer.refused));
  }

  #admit(waiting: Waiting, admitted: Admitted): void {
    const { proposal } = waiting;
    const group = this.#ports.touch(proposal.group);
    // The disk of the leader decides. Below the hard level the outcome would not arrive here (C37).
    const isElsewhere = group?.leads === false && this.#ports.disk() !== 'read-only';
    const fault = isElsewhere ? undefined : this.#diskFault(proposal);
    const refusal = this.#isOpen ? (fault ?? this.#aboveLevel(proposal)) : draining();
    if (group === undefined) return this.#refuse(proposal, refusal ?? this.#ports.absence(proposal.group));
    const offer = admitted.get(group);
    const error = refusal ?? this.#pressure(group, proposal, offer?.bytes);
    if (error !== undefined) return this.#refuse(proposal, error);
    if (!group.isReady || group.isTransferring) return this.#wait(group, waiting);
    const { length } = proposal.payload;
    this.#ports.memory.taken.bytes += length;
    if (offer === undefined) admitted.set(group, { proposals: [proposal], bytes: length });
    else {
      offer.proposals.push(proposal);
      offer.bytes += length;
    }
  }

  #proposeAll(admitted: Admitted): void {
    this.#ports.memory.taken.bytes = 0;
    for (const [group, { proposals }] of admitted) this.#propose(group, proposals);
  }

  /** Waits until this node leads the group; if another one does, the request is forwarded. */
  #wait(group: Group, waiting: Waiting): void {
    const { leader } = group;
    const { proposal, sinceMs } = waiting;
    if (leader === undefined || group.leads) group.proposals.wait(proposal, sinceMs);
    else if (proposal.staysHere) this.#refuse(proposal, notLeader(group.title, nodeOf(leader)));
    else this.#ports.forwards.ask(nodeOf(leader), waiting);
  }

  #propose(group: Group, asked: readonly Proposal[]): void {
    const { machines, clock, step } = this.#ports;
    const proposals = this.#datable(group, asked);
    if (proposals.length === 0) return;
    // Only the leader knows which nodes answer, so a new database is placed now, however long the request has waited.
    const payloads = proposals.map(({ creates, payload }) => (creates === undefined ? payload : this.#encode(creates)));
    if (group.id !== CATALOG_GROUP) {
      // A clock that is behind only repeats the last time; a time that cannot be encoded would be permanent.
      const nowMs = Math.max(0, clock.nowMs());
      const fault = clockFault(nowMs);
      if (fault !== undefined) {
        for (const proposal of proposals) this.#refuse(proposal, fault);
        return;
      }
      const recordedTimeMs = group.nextRecordedTime(nowMs);
      for (const payload of payloads) machines.stamp(payload, recordedTimeMs);
    }
    group.proposals.offer(proposals);
    step(group, { kind: 'propose', payloads });
  }

  /** Refuses proposals that need a time while the clock is wrong; returns the others. */
  #datable({ id }: Group, proposals: readonly Proposal[]): readonly Proposal[] {
    const aheadMs = this.#ports.clockFar();
    if (aheadMs === undefined) return proposals;
    const isDated = ({ creates }: Proposal): boolean => id !== CATALOG_GROUP || creates !== undefined;
    const fault = clockSkewed(aheadMs, this.#ports.limits.clockSkewMsMax);
    for (const proposal of proposals.filter(isDated)) this.#refuse(proposal, fault);
    return proposals.filter((proposal) => !isDated(proposal));
  }

  #refuse(proposal: Proposal, error: DatabaseError): void {
    this.#ports.reporter.refuse([proposal.token], error);
  }

  /** Refuses a payload that other nodes could not read yet, as far as it is known here. */
  #aboveLevel({ payload }: Proposal): DatabaseError | undefined {
    const [level, own] = [this.#ports.machines.levelOf(payload), this.#ports.level()];
    return level > own ? levelNotReached(level, own) : undefined;
  }

  /** Returns a refusal when the group, or the node, has too many pending requests. */
  #pressure(group: Group, { payload }: Proposal, offered = 0): DatabaseError | undefined {
    const { limits, memory } = this.#ports;
    const { commit, applied } = group.raft;
    if (commit - applied > limits.backlogEntriesMax || group.backlog.bytes > limits.backlogBytesMax) {
      return backlogFull(group.title, commit - applied, group.backlog.bytes);
    }
    const waiting = group.proposals.waitingBytes + payload.length;
    if ((!group.isReady || group.isTransferring) && waiting > limits.waitingBytesMax) {
      return waitingFull(group.title, limits.waitingBytesMax);
    }
    // Without the catalog nothing could be deleted, and no replica moved.
    const isFree = group.id === CATALOG_GROUP || this.#hasRoom(group, payload.length, offered);
    return isFree ? undefined : memoryFull(group.title, memory.bytesMax);
  }

  /** Returns whether the group may use so much more memory, once entries kept for members are evicted (C35). */
  #hasRoom(group: Group, added: number, offered: number): boolean {
    const { memory, step } = this.#ports;
    const isWithin = (): boolean => memory.admits({ own: this.#bytesOf(group) + offered, added });
    if (isWithin()) return true;
    const { log, applied: index } = group.raft;
    if (log.base.index >= index) return false;
    step(group, { kind: 'applied', index, retainedBytesMax: 0 });
    return isWithin();
  }

  /** Memory of the group on this node (C35). */
  #bytesOf(group: Group): number {
    return group.timeless.log.bytes + group.proposals.waitingBytes + this.#ports.forwards.bytesOf(group.id);
  }

  /** Keys can be revoked, nodes replaced, and databases deleted with the reserved space of the disk. */
  #diskFault({ group, creates }: Proposal): DatabaseError | undefined {
    const level = this.#ports.disk();
    const worst = group === CATALOG_GROUP && creates === undefined ? 'refusing-writes' : 'open';
    return level === 'open' || level === worst ? undefined : diskFull(level);
  }

  #create(request: CreateRequest, sinceMs: number, admitted: Admitted): void {
    const nowMs = this.#ports.clock.nowMs();
    const fault = clockFault(nowMs);
    if (fault === undefined) this.#admit({ proposal: this.#creation(request, nowMs), sinceMs }, admitted);
    else this.#ports.reporter.refuse([request.token], fault);
  }

  /** Id and time of a new database are chosen here, once, and replicated with the entry. */
  #creation({ token, name, copies, staysHere }: CreateRequest, createdAtMs: number): Proposal {
    const databaseId = toDatabaseId(uuidv7(createdAtMs, this.#ports.random));
    const creates = { name, copies, databaseId, createdAtMs };
    const payload = this.#encode(creates);
    return { token, group: CATALOG_GROUP, payload, tellsAdmission: false, staysHere, creates };
  }

  #encode(creates: NewDatabase): Uint8Array {
    const { machines, placement, view } = this.#ports;
    return machines.encode({ kind: 'create', ...creates, replicas: placement.replicas(view(), creates.copies) });
  }
}

function describe(group: Group, refusal: Refusal): DatabaseError {
  switch (refusal.kind) {
    case 'uncommitted-full':
      return uncommittedFull(group.title, refusal.bytesMax);
    case 'not-leader':
      return refusal.leader === undefined ? noLeader(group.title) : notLeader(group.title, nodeOf(refusal.leader));
    case 'transferring':
    case 'no-answer':
    case 'reads-full':
      return noLeader(group.title);
    default:
      return unreachable(refusal);
  }
}
