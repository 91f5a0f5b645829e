/**
 * One group on this node: its Raft state, its state machine, and the requests that wait for it. It has no loop of its
 * own; the runtime steps it and carries its effects out.
 */
import type { GroupId, LogIndex, NodeId, ReplicaId } from '#base';
import { type Effect, everybody, type Input, type RaftState, step } from '#raft';
import { Backlog } from '../apply/backlog.ts';
import type { AppliedMark, Machine } from '../machine.ts';
import type { Envelope } from '../peer/envelope.ts';
import { GroupProposals } from '../requests/group-proposals.ts';
import { GroupReads } from '../requests/group-reads.ts';
import type { Title } from '../requests/refusals.ts';
import { GroupRest, type RestPlace } from './group-rest.ts';
import type { Recurrence } from './heard-rows.ts';
import type { HeldBytes } from './node-memory.ts';

export interface GroupParts {
  readonly id: GroupId;
  readonly title: Title;
  /** Somebody begins to wait for other nodes, or for a leader. */
  readonly waits: (group: Group) => void;
  /** Bytes of requests that wait, in all groups. */
  readonly waiting?: HeldBytes;
}

export class Group {
  readonly id: GroupId;
  /** What it is called towards clients. */
  readonly title: Title;
  readonly machine: Machine;
  readonly proposals: GroupProposals;
  readonly reads: GroupReads;
  readonly backlog: Backlog = new Backlog();
  readonly #rest: GroupRest;
  /** Its times may not be set yet; everything else is as it is. */
  #raft: RaftState;
  #written: AppliedMark;
  #stampedMs: number;
  #isOpen = true;
  #logStart: LogIndex;

  constructor({ id, title, waits, waiting }: GroupParts, raft: RaftState, machine: Machine) {
    const begins = (): void => waits(this);
    this.proposals = new GroupProposals(begins, waiting);
    this.reads = new GroupReads(begins);
    this.id = id;
    this.title = title;
    this.machine = machine;
    this.#rest = new GroupRest(id, raft.config.self);
    this.#raft = raft;
    this.#written = machine.applied;
    this.#stampedMs = machine.recordedTimeMs;
    this.#logStart = machine.applied.logStart;
  }

  get raft(): RaftState {
    this.#raft = this.#rest.settle(this.#raft);
    return this.#raft;
  }

  /** What is told of all groups at once, and says nothing of times: those need not be set for it. */
  get timeless(): Pick<RaftState, 'role' | 'log' | 'membership' | 'changes' | 'commit' | 'hardState'> {
    return this.#raft;
  }

  /** When it is to be stepped, or somewhat sooner; undefined when it waits for no time to come. */
  get deadlineMs(): number | undefined {
    return this.#rest.deadlineMs(this.#raft);
  }

  /** What the store holds and readers may see; the machine itself may be further, up to the batch being written. */
  get written(): AppliedMark {
    return this.#written;
  }

  /** Whether a snapshot is on its way into state and log: the state is ahead of what the log knows. */
  get isInstalling(): boolean {
    return this.#raft.installing !== undefined;
  }

  /** Whether it holds another history than its group, and takes part in nothing (R15). */
  get isDiverged(): boolean {
    return this.#raft.isDiverged;
  }

  /** Everything that was handed out is applied, and the promise to follow the leader of this term is on disk. */
  get isQuiescent(): boolean {
    const { applying, installing, durable, hardState } = this.#raft;
    const isDone = this.backlog.isEmpty && this.machine.applied.index === applying;
    return isDone && installing === undefined && durable.term === hardState.term;
  }

  /** The log begins here, or a little later: what it held before does not count. */
  get logStart(): LogIndex {
    return this.#logStart;
  }

  /** The log begins behind a snapshot that is durable in the store. */
  beginLog(index: LogIndex): void {
    this.#logStart = index;
  }

  /** False once the database is deleted: it is stepped no more (C4). */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The replica that this node holds of the group. */
  get self(): ReplicaId {
    return this.#raft.config.self;
  }

  get leads(): boolean {
    return this.#raft.role.kind === 'leader';
  }

  /** Who leads, as far as is known here. */
  get leader(): ReplicaId | undefined {
    const { role } = this.#raft;
    if (role.kind === 'leader') return this.self;
    return role.kind === 'follower' ? role.leader : undefined;
  }

  /** Whether nobody else belongs to the group: then nobody else can lead it. */
  get isAlone(): boolean {
    const { membership, changes } = this.#raft;
    // Asked often, of thousands.
    if (membership.voters.incoming.length > 1) return false;
    const [first, ...others] = everybody(membership);
    return first === this.self && others.length === 0 && changes.length === 0;
  }

  /** Whether it leads, and has not applied everything of earlier terms yet. */
  get isOpening(): boolean {
    return this.leads && !this.isReady;
  }

  /** Whether it leads and has applied everything of earlier terms: only then is its latest recorded time known. */
  get isReady(): boolean {
    const { role, applied } = this.#raft;
    return role.kind === 'leader' && applied >= role.first;
  }

  /** Whether its lead is being handed over: until that has ended its leader takes nothing in. */
  get isHandingOver(): boolean {
    const { role } = this.#raft;
    return role.kind === 'leader' && role.transfer !== undefined;
  }

  /** Whether it needs nothing more to go on: it leads, or others may. */
  get isSettled(): boolean {
    return this.isReady || !this.isAlone;
  }

  /** Whether somebody waits for an answer, or for its lead. */
  get isBusy(): boolean {
    return !this.isSettled || this.proposals.count > 0 || this.reads.count > 0;
  }

  /** What is said in place of a step that would do nothing but that, and set times; undefined when it would do more. */
  repeat(input: Input, nowMs: number): readonly Envelope[] | undefined {
    return this.#rest.repeat(this.#raft, input, nowMs);
  }

  /** Whether what was repeated may have brought its deadline nearer: of more and more beats it only moves away. */
  get hasNewDeadline(): boolean {
    return this.#rest.hasNewDeadline;
  }

  /** Whether it is at rest, so that others look after its deadline (C31). */
  get isAtRest(): boolean {
    return this.#rest.isShared;
  }

  /** Rests upon the row of a table that it has just repeated, if nothing else has happened. Whether it does. */
  restUpon(row: Envelope, place: RestPlace): boolean {
    return this.#isOpen && row.to === this.self && this.#rest.restUpon(this.#raft, row, place);
  }

  /** Has its node say the beats that it has just said again, if every member answers by tables that repeat. */
  joinRefrains(saying: Recurrence, placeOf: (node: NodeId) => RestPlace): void {
    this.#rest.join(this.#raft, saying, placeOf);
  }

  /** Looks after itself from here on. */
  leaveRest(): void {
    this.#rest.leave();
  }

  step(input: Input, nowMs: number): readonly Effect[] {
    this.#rest.leave();
    const { state, effects } = step(this.raft, input, nowMs);
    this.#raft = state;
    return effects;
  }

  /** The recorded time of the next transaction: the clock, but never before the one before it (C3). */
  nextRecordedTime(clockMs: number): number {
    this.#stampedMs = Math.max(clockMs, this.#stampedMs, this.machine.recordedTimeMs);
    return this.#stampedMs;
  }

  /** The batch that leads the store to this mark is written. */
  markWritten(mark: AppliedMark): void {
    this.#written = mark;
  }

  close(): void {
    this.#rest.leave();
    this.#isOpen = false;
  }
}
