/**
 * The intake: decides which proposals may become entries, stamps them, and proposes those of one group together.
 *
 * Refused before anything is appended: requests while draining, for groups that are gone, user writes on a nearly full
 * disk, and what would pile up beyond a bound. What another node is to take in, because it leads, is forwarded to it.
 * What is taken in is answered, unless the process ends first (C2).
 */
import {
  CATALOG_GROUP,
  type Clock,
  type DatabaseError,
  nodeOf,
  type Random,
  toDatabaseId,
  unreachable,
  uuidv7,
} from '#base';
import type { Input, Proposed, Refusal } from '#raft';
import type { DiskLevel } from '#storage';
import type { Group } from '../group/group.ts';
import type { NodeMemory } from '../group/node-memory.ts';
import type { CoreLimits } from '../limits.ts';
import type { Machines } from '../machine.ts';
import type { Placement, SpreadView } from '../placement/placement.ts';
import {
  type Commands,
  type CreateRequest,
  type DeleteRequest,
  isForeign,
  type NewDatabase,
  type Proposal,
} from '../thread/link.ts';
import type { Reporter } from '../thread/reporter.ts';
import type { Forwards } from './forwards.ts';
import type { Waiting } from './group-proposals.ts';
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
} from './refusals.ts';

export interface IntakePorts {
  readonly machines: Machines;
  readonly limits: CoreLimits;
  readonly clock: Clock;
  readonly random: Random;
  readonly placement: Placement;
  /** What a database is placed by. */
  readonly view: () => SpreadView;
  readonly reporter: Reporter;
  readonly forwards: Forwards;
  readonly memory: NodeMemory;
  readonly disk: () => DiskLevel;
  /** How far the clock of this node is ahead of the others', if it is too far to date anything (C41). */
  readonly clockFar: () => number | undefined;
  /** Of the cluster: nothing above it is written. */
  readonly level: () => number;
  /** The group, opened if need be; undefined when it is not on this node. */
  readonly touch: (id: Proposal['group']) => Group | undefined;
  /** Why it is not. */
  readonly absence: (id: Proposal['group']) => DatabaseError;
  readonly monotonicMs: () => number;
  readonly step: (group: Group, input: Input) => void;
}

/** What is asked for in one turn, here or on another node. */
type Requests = Pick<Commands, 'proposals' | 'creates'> & Partial<Pick<Commands, 'deletes'>>;

/** What may be proposed, by group. */
type Admitted = Map<Group, Offer>;

interface Offer {
  readonly proposals: Proposal[];
  bytes: number;
}

const UUID_RANDOM_BYTES = 10;

export class Intake {
  readonly #ports: IntakePorts;
  #isOpen = true;

  constructor(ports: IntakePorts) {
    this.#ports = ports;
  }

  /** Refuses everything from here on; what was taken in goes on. */
  close(): void {
    this.#isOpen = false;
  }

  take({ proposals, creates, deletes = [] }: Requests): void {
    const sinceMs = this.#ports.monotonicMs();
    const admitted: Admitted = new Map();
    for (const proposal of proposals)
      this.#admit({ proposal, sinceMs }, this.#diskAllows(neededFor(proposal)), admitted);
    for (const request of creates) this.#create(request, admitted);
    for (const request of deletes) {
      const proposal = this.#deletion(request);
      this.#admit({ proposal, sinceMs }, this.#diskAllows(neededFor(proposal)), admitted);
    }
    this.#proposeAll(admitted);
  }

  /** Takes in once more what another node has refused to. */
  takeAgain(waiting: readonly Waiting[]): void {
    const admitted: Admitted = new Map();
    for (const each of waiting) this.#admit(each, this.#diskAllows(neededFor(each.proposal)), admitted);
    this.#proposeAll(admitted);
  }

  /** Proposes what waited for the group to become ready. */
  release(group: Group): void {
    if (group.isHandingOver) return;
    const admitted: Proposal[] = [];
    for (const { proposal } of group.proposals.takeWaiting()) {
      const fault = this.#diskAllows(neededFor(proposal));
      if (fault === undefined) admitted.push(proposal);
      else this.#refuse(proposal, fault);
    }
    if (admitted.length > 0) this.#propose(group, admitted);
  }

  /** Passes on what waited for a leader, which is on another node. */
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

  #admit(waiting: Waiting, fault: DatabaseError | undefined, admitted: Admitted): void {
    const { proposal } = waiting;
    const group = this.#ports.touch(proposal.group);
    // The disk of the leader decides. Below the hard level the outcome would not arrive here (C37).
    const isElsewhere = group?.leads === false && this.#ports.disk() !== 'read-only';
    const refusal = this.#isOpen ? ((isElsewhere ? undefined : fault) ?? this.#aboveLevel(proposal)) : draining();
    if (group === undefined) return this.#refuse(proposal, refusal ?? this.#ports.absence(proposal.group));
    const offer = admitted.get(group);
    const error = refusal ?? this.#pressure(group, proposal, offer?.bytes);
    if (error !== undefined) return this.#refuse(proposal, error);
    if (!group.isReady || group.isHandingOver) return this.#wait(group, waiting);
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

  /** Until it leads; if another node does, it is that one's to take. */
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
    // Only who leads knows who answers: where a new database goes is decided now, however long it has waited.
    const payloads = proposals.map(({ creates, payload }) => (creates === undefined ? payload : this.#encode(creates)));
    if (group.id !== CATALOG_GROUP) {
      // A clock that is behind repeats the last time, however far; one that cannot be written would stay for good.
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

  /** Refuses what gets a time here, while the clock is not to be believed; returns the others. */
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

  /** The refusal of what others could not read yet, as far as is known here. */
  #aboveLevel({ payload }: Proposal): DatabaseError | undefined {
    const [level, own] = [this.#ports.machines.levelOf(payload), this.#ports.level()];
    return level > own ? levelNotReached(level, own) : undefined;
  }

  /** What already piles up in the group, or in all of them, if it is too much. */
  #pressure(group: Group, { payload }: Proposal, offered = 0): DatabaseError | undefined {
    const { limits, memory } = this.#ports;
    const { commit, applied } = group.raft;
    if (commit - applied > limits.backlogEntriesMax || group.backlog.bytes > limits.backlogBytesMax) {
      return backlogFull(group.title, commit - applied, group.backlog.bytes);
    }
    const waiting = group.proposals.waitingBytes + payload.length;
    if ((!group.isReady || group.isHandingOver) && waiting > limits.waitingBytesMax) {
      return waitingFull(group.title, limits.waitingBytesMax);
    }
    // Without the catalog nothing could be deleted, and no copy moved.
    const isFree = group.id === CATALOG_GROUP || this.#hasRoom(group, payload.length, offered);
    return isFree ? undefined : memoryFull(group.title, memory.bytesMax);
  }

  /** Whether so much more of the group is within its share, once what it keeps for members has made way (C35). */
  #hasRoom(group: Group, added: number, offered: number): boolean {
    const { memory, step } = this.#ports;
    const isWithin = (): boolean => memory.admits({ own: this.#bytesOf(group) + offered, added });
    if (isWithin()) return true;
    const { log, applied: index } = group.raft;
    if (log.base.index >= index) return false;
    step(group, { kind: 'applied', index, retainedBytesMax: 0 });
    return isWithin();
  }

  /** What the group holds of the memory of the node (C35). */
  #bytesOf(group: Group): number {
    return group.timeless.log.bytes + group.proposals.waitingBytes + this.#ports.forwards.bytesOf(group.id);
  }

  /** The refusal when the disk is worse than `worst`. */
  #diskAllows(worst: 'open' | 'refusing-writes'): DatabaseError | undefined {
    const level = this.#ports.disk();
    return level === 'open' || level === worst ? undefined : diskFull(level);
  }

  #create(request: CreateRequest, admitted: Admitted): void {
    const { clock, reporter, monotonicMs } = this.#ports;
    const nowMs = clock.nowMs();
    const fault = clockFault(nowMs);
    if (fault !== undefined) return reporter.refuse([request.token], fault);
    const waiting = { proposal: this.#creation(request, nowMs), sinceMs: monotonicMs() };
    this.#admit(waiting, this.#diskAllows(neededFor(waiting.proposal)), admitted);
  }

  /** Identity and time of a new database are chosen here, once, and replicated with the entry. */
  #creation({ token, name, staysHere }: CreateRequest, createdAtMs: number): Proposal {
    const databaseId = toDatabaseId(uuidv7(createdAtMs, this.#ports.random.bytes(UUID_RANDOM_BYTES)));
    const creates = { name, databaseId, createdAtMs };
    const payload = this.#encode(creates);
    return { token, group: CATALOG_GROUP, payload, tellsAdmission: false, staysHere, creates };
  }

  #encode(creates: NewDatabase): Uint8Array {
    const { machines, placement, view } = this.#ports;
    return machines.encodeCreate({ ...creates, replicas: placement.replicas(view()) });
  }

  #deletion({ token, name, databaseId, staysHere }: DeleteRequest): Proposal {
    const payload = this.#ports.machines.encodeDelete({ name, databaseId });
    return { token, group: CATALOG_GROUP, payload, tellsAdmission: false, staysHere };
  }
}

/** Keys can be revoked, nodes replaced, and databases deleted from another node, with what is kept free. */
function neededFor({ group, creates }: Proposal): 'open' | 'refusing-writes' {
  return group === CATALOG_GROUP && creates === undefined ? 'refusing-writes' : 'open';
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
