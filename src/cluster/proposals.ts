/**
 * The intake: decides which proposals may become entries, stamps them, and proposes those of one group together.
 *
 * Refused before anything is appended: requests while draining, for groups that are gone, user writes on a nearly full
 * disk, and what would pile up beyond a bound; and what another node is to take in, because it leads. What is taken in is
 * answered, unless the process ends first (C2).
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
import type { Group } from './group.ts';
import type { CoreLimits } from './limits.ts';
import type { Commands, CreateRequest, DeleteRequest, Proposal } from './link.ts';
import type { Machines } from './machine.ts';
import type { Placement } from './placement.ts';
import {
  backlogFull,
  clockBeforeEpoch,
  diskFull,
  draining,
  noLeader,
  notLeader,
  uncommittedFull,
  waitingFull,
} from './refusals.ts';
import type { Reporter } from './reporter.ts';

export interface IntakePorts {
  readonly machines: Machines;
  readonly limits: CoreLimits;
  readonly clock: Clock;
  readonly random: Random;
  readonly placement: Placement;
  readonly reporter: Reporter;
  readonly disk: () => DiskLevel;
  /** The group, opened if need be; undefined when it is not on this node. */
  readonly touch: (id: Proposal['group']) => Group | undefined;
  /** Why it is not. */
  readonly absence: (id: Proposal['group']) => DatabaseError;
  readonly monotonicMs: () => number;
  readonly step: (group: Group, input: Input) => void;
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

  take({ proposals, creates, deletes }: Commands): void {
    const admitted = new Map<Group, Proposal[]>();
    for (const proposal of proposals) this.#admit(proposal, this.#diskAllows('open'), admitted);
    for (const request of creates) this.#create(request, admitted);
    for (const request of deletes) this.#admit(this.#deletion(request), this.#diskAllows('refusing-writes'), admitted);
    for (const [group, theirs] of admitted) this.#propose(group, theirs);
  }

  /** Proposes what waited for the group to become ready. */
  release(group: Group): void {
    const waiting = group.proposals.takeWaiting();
    if (waiting.length > 0) this.#propose(group, waiting);
  }

  /** Carries out the answer to a `propose` input. */
  onProposed(group: Group, answer: Proposed): void {
    const { entered, refused } = group.proposals.admit(answer);
    for (const { token, tellsAdmission } of entered) if (tellsAdmission) this.#ports.reporter.admitted(token);
    if (answer.refused === undefined) return;
    const tokens = refused.map(({ token }) => token);
    this.#ports.reporter.refuse(tokens, describe(group, answer.refused));
  }

  #admit(proposal: Proposal, fault: DatabaseError | undefined, admitted: Map<Group, Proposal[]>): void {
    const group = this.#ports.touch(proposal.group);
    const refusal = this.#isOpen ? fault : draining();
    if (group === undefined) return this.#refuse(proposal, refusal ?? this.#ports.absence(proposal.group));
    const error = refusal ?? this.#pressure(group, proposal);
    if (error !== undefined) return this.#refuse(proposal, error);
    if (!group.isReady) return this.#wait(group, proposal);
    const others = admitted.get(group);
    if (others === undefined) admitted.set(group, [proposal]);
    else others.push(proposal);
  }

  /** Until it leads, or somebody else does: then it is theirs to take. */
  #wait(group: Group, proposal: Proposal): void {
    const { leader } = group;
    if (leader === undefined || group.leads) return group.proposals.wait(proposal, this.#ports.monotonicMs());
    this.#refuse(proposal, notLeader(group.id, nodeOf(leader)));
  }

  #propose(group: Group, proposals: readonly Proposal[]): void {
    const { machines, clock, step } = this.#ports;
    const recordedTimeMs = group.nextRecordedTime(clock.nowMs());
    const payloads = proposals.map(({ payload }) => payload);
    if (group.id !== CATALOG_GROUP) for (const payload of payloads) machines.stamp(payload, recordedTimeMs);
    group.proposals.offer(proposals);
    step(group, { kind: 'propose', payloads });
  }

  #refuse(proposal: Proposal, error: DatabaseError): void {
    this.#ports.reporter.refuse([proposal.token], error);
  }

  /** What already piles up in the group, if it is too much. */
  #pressure(group: Group, { payload }: Proposal): DatabaseError | undefined {
    const { limits } = this.#ports;
    const { commit, applied } = group.raft;
    if (commit - applied > limits.backlogEntriesMax || group.backlog.bytes > limits.backlogBytesMax) {
      return backlogFull(commit - applied, group.backlog.bytes);
    }
    const waiting = group.proposals.waitingBytes + payload.length;
    return !group.isReady && waiting > limits.waitingBytesMax ? waitingFull(limits.waitingBytesMax) : undefined;
  }

  /** The refusal when the disk is worse than `worst`. */
  #diskAllows(worst: 'open' | 'refusing-writes'): DatabaseError | undefined {
    const level = this.#ports.disk();
    return level === 'open' || level === worst ? undefined : diskFull(level);
  }

  #create(request: CreateRequest, admitted: Map<Group, Proposal[]>): void {
    const { clock, reporter } = this.#ports;
    const nowMs = clock.nowMs();
    if (nowMs < 0) reporter.refuse([request.token], clockBeforeEpoch(nowMs));
    else this.#admit(this.#creation(request, nowMs), this.#diskAllows('open'), admitted);
  }

  /** Identity, time and place of a new database are chosen here, once, and replicated with the entry. */
  #creation({ token, name }: CreateRequest, createdAtMs: number): Proposal {
    const { random, machines, placement } = this.#ports;
    const databaseId = toDatabaseId(uuidv7(createdAtMs, random.bytes(UUID_RANDOM_BYTES)));
    const payload = machines.encodeCreate({ name, databaseId, createdAtMs, replicas: placement.replicas() });
    return { token, group: CATALOG_GROUP, payload, tellsAdmission: false };
  }

  #deletion({ token, name, databaseId }: DeleteRequest): Proposal {
    const payload = this.#ports.machines.encodeDelete({ name, databaseId });
    return { token, group: CATALOG_GROUP, payload, tellsAdmission: false };
  }
}

function describe(group: Group, refusal: Refusal): DatabaseError {
  switch (refusal.kind) {
    case 'uncommitted-full':
      return uncommittedFull(refusal.bytesMax);
    case 'not-leader':
      return refusal.leader === undefined ? noLeader(group.id) : notLeader(group.id, nodeOf(refusal.leader));
    case 'transferring':
    case 'no-answer':
    case 'reads-full':
      return noLeader(group.id);
    default:
      return unreachable(refusal);
  }
}
