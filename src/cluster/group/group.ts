/**
 * One group on this node: its Raft state, its state machine, and its waiting requests. It has no loop of its own; the
 * runtime steps it and carries out its effects.
 */
import type { GroupId, LogIndex, NodeId, ReplicaId } from '#base';
import { type Effect, everybody, type Input, type RaftState, step } from '#raft';
import type { AppliedMark, Machine } from '../machine.ts';
import type { Envelope } from '../peer/links.ts';
import type { Title } from '../refusals.ts';
import { Backlog } from './backlog.ts';
import { GroupProposals } from './group-proposals.ts';
import { GroupReads } from './group-reads.ts';
import { GroupRest, type RestPlace } from './group-rest.ts';
import type { HeldBytes } from './node-memory.ts';
import type { Recurrence } from './received-table.ts';

export interface GroupParts {
  readonly id: GroupId;
  readonly title: Title;
  /** A request starts to wait for other nodes, or for a leader. */
  readonly waits: (group: Group) => void;
  /** Bytes of waiting requests, in all groups. */
  readonly waiting?: HeldBytes;
}

export class Group {
  readonly id: GroupId;
  /** Its name for clients. */
  readonly title: Title;
  readonly machine: Machine;
  readonly proposals: GroupProposals;
  readonly reads: GroupReads;
  readonly backlog: Backlog = new Backlog();
  readonly #rest: GroupRest;
  /** Its times may be outdated; everything else is current. */
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

  /** The parts of the state that contain no times, so that reading them settles nothing. */
  get timeless(): Pick<RaftState, 'role' | 'log' | 'membership' | 'changes' | 'commit' | 'hardState'> {
    return this.#raft;
  }

  /** Time of the next step, or somewhat earlier; undefined when it waits for no time. */
  get deadlineMs(): number | undefined {
    return this.#rest.deadlineMs(this.#raft);
  }

  /** State in the store, which readers may see. The machine may be ahead by the batch being written. */
  get written(): AppliedMark {
    return this.#written;
  }

  /** True when a snapshot is being installed: the state is ahead of the log. */
  get isInstalling(): boolean {
    return this.#raft.installing !== undefined;
  }

  /** True when it has another history than its group, and takes part in nothing (R15). */
  get isDiverged(): boolean {
    return this.#raft.isDiverged;
  }

  /** True when everything handed out is applied, and the promise to follow the leader of this term is on disk. */
  get isQuiescent(): boolean {
    const { applying, installing, durable, hardState } = this.#raft;
    const isDone = this.backlog.isEmpty && this.machine.applied.index === applying;
    return isDone && installing === undefined && durable.term === hardState.term;
  }

  /** The log starts here, or slightly later; earlier records do not count. */
  get logStart(): LogIndex {
    return this.#logStart;
  }

  /** The log restarts after a snapshot that is durable in the store. */
  beginLog(index: LogIndex): void {
    this.#logStart = index;
  }

  /** False after the database was deleted: it must not be stepped any more (C4). */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The replica of the group on this node. */
  get self(): ReplicaId {
    return this.#raft.config.self;
  }

  get leads(): boolean {
    return this.#raft.role.kind === 'leader';
  }

  /** The leader, as far as it is known here. */
  get leader(): ReplicaId | undefined {
    const { role } = this.#raft;
    if (role.kind === 'leader') return this.self;
    return role.kind === 'follower' ? role.leader : undefined;
  }

  /** True when it is the only member, so that no other node can lead it. */
  get isAlone(): boolean {
    const { membership, changes } = this.#raft;
    // Read often, for thousands of groups.
    if (membership.voters.incoming.length > 1) return false;
    const [first, ...others] = everybody(membership);
    return first === this.self && others.length === 0 && changes.length === 0;
  }

  /** True when it leads, and has not applied all entries of earlier terms yet. */
  get isOpening(): boolean {
    return this.leads && !this.isReady;
  }

  /** True when it leads and has applied all entries of earlier terms: only then its latest recorded time is known. */
  get isReady(): boolean {
    const { role, applied } = this.#raft;
    return role.kind === 'leader' && applied >= role.first;
  }

  /** True when its leadership is being transferred: the leader accepts no proposals until that has ended. */
  get isTransferring(): boolean {
    const { role } = this.#raft;
    return role.kind === 'leader' && role.transfer !== undefined;
  }

  /** True when it needs no further progress: it leads, or others may. */
  get isSettled(): boolean {
    return this.isReady || !this.isAlone;
  }

  /** True when a request waits for an answer, or for its leadership. */
  get isBusy(): boolean {
    return !this.isSettled || this.proposals.count > 0 || this.reads.count > 0;
  }

  /**
   * Returns the messages to send instead of a step that would only send them and update times; undefined when the step
   * would do more.
   */
  repeat(input: Input, nowMs: number): readonly Envelope[] | undefined {
    return this.#rest.repeat(this.#raft, input, nowMs);
  }

  /** True when the repetition may have moved its deadline closer; further heartbeats only move it away. */
  get hasNewDeadline(): boolean {
    return this.#rest.hasNewDeadline;
  }

  /** True when it is at rest, so that the node watches its deadline (C31). */
  get isAtRest(): boolean {
    return this.#rest.isShared;
  }

  /** Rests on the row of a table that it has just repeated, if nothing else has happened. Returns whether it does. */
  restOn(row: Envelope, place: RestPlace): boolean {
    return this.#isOpen && row.to === this.self && this.#rest.restOn(this.#raft, row, place);
  }

  /** Lets its node send the repeated heartbeats, if every member answers by tables that repeat. */
  joinTables(sending: Recurrence, placeOf: (node: NodeId) => RestPlace): void {
    this.#rest.join(this.#raft, sending, placeOf);
  }

  /** Ends the rest: it handles its own messages from now on. */
  leaveRest(): void {
    this.#rest.leave();
  }

  step(input: Input, nowMs: number): readonly Effect[] {
    this.#rest.leave();
    const { state, effects } = step(this.raft, input, nowMs);
    this.#raft = state;
    return effects;
  }

  /** The recorded time of the next transaction: the clock, but never before the previous one (C3). */
  nextRecordedTime(clockMs: number): number {
    this.#stampedMs = Math.max(clockMs, this.#stampedMs, this.machine.recordedTimeMs);
    return this.#stampedMs;
  }

  /** The batch that moves the store to this mark is written. */
  markWritten(mark: AppliedMark): void {
    this.#written = mark;
  }

  close(): void {
    this.#rest.leave();
    this.#isOpen = false;
  }
}
