/**
 * The apply loop: takes committed entries to the state machines, and their rows to the store (C3).
 *
 *   ready groups --> apply (synchronous, bounded) --> turn n+1 fills --> outcomes
 *                                                        |  when turn n is written
 *                                                        v
 *                                     one batch: rows and applied rows of all groups --> written --> reads
 *
 * Applying goes in slices, so that the core hears of syncs and requests in between and a batch is on its way early.
 * What is applied is written when it is enough for a batch, when somebody waits for its rows, and with the next tick at
 * the latest: rows that belong together become one page and one version of a head. One batch is being written at most;
 * meanwhile entries are applied for the next. A machine sees what it has applied, written or not. An entry that must
 * learn something from the store first holds its group up, and no other, until everything that the group has applied is
 * written and its machine has looked.
 */
import { CATALOG_GROUP, Fifo, type LogIndex } from '#base';
import type { KvStore } from '#kv';
import type { Entry, Input } from '#raft';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { AppliedMark, MachineNeed } from '../machine.ts';
import type { CatalogChange } from '../node.ts';
import type { Outcome } from '../outcome.ts';
import type { Lost } from '../requests/group-proposals.ts';
import type { CheckedPart } from '../snapshots/state-transfer.ts';
import type { Settlement } from '../thread/link.ts';
import { ApplyTurn } from './apply-turn.ts';
import type { PartToInstall } from './backlog.ts';

export interface ApplyPorts {
  readonly kv: KvStore;
  readonly limits: CoreLimits;
  readonly step: (group: Group, input: Input) => void;
  /** A part of a snapshot is in the machine: its memory is free. */
  readonly installed: (group: Group, part: CheckedPart) => void;
  /** The store has a part of a snapshot, up to this mark. */
  readonly installWritten: (group: Group, mark: AppliedMark) => void;
  /** Carries out a change of the catalog: puts what belongs to it into the turn of the entry. */
  readonly change: (change: CatalogChange, turn: ApplyTurn) => void;
  /** Requests of the group will have no outcome of an entry. */
  readonly passedOver: (group: Group, lost: Lost) => void;
  /** Outcomes that may be told now. */
  readonly told: (settlements: readonly Settlement[]) => void;
  /** The turn's batch is in the store; writing it took so long. Ends by calling `apply` and `write`. */
  readonly written: (turn: ApplyTurn, elapsedMs: number) => void;
  /** An entry that was held up has what it needs. Ends by calling `apply` and `write`. */
  readonly answered: () => void;
  /** Whether somebody in the front waits for rows. */
  readonly isFollowed: () => boolean;
  readonly monotonicMs: () => number;
  /** What a log may keep of what is applied, if that is less now than its own bound. */
  readonly retainedBytesMax: () => number | undefined;
  /** Takes care of work in the background: a failure stops the core. */
  readonly keep: (work: Promise<void>) => void;
  /** Calls `apply` and `write` again, once everything else that has arrived had its turn. */
  readonly again: () => void;
}

interface Blocked {
  readonly group: Group;
  readonly needs: readonly MachineNeed[];
}

export class ApplyLoop {
  readonly #ports: ApplyPorts;
  readonly #ready = new Fifo<Group>();
  #turn: ApplyTurn;
  /** Whose batch is being written. */
  #writing: ApplyTurn | undefined;
  /** What is applied is written, however little it is. */
  #isUrgent = false;
  /** Groups that are held up, in neither queue: some of what they have applied is not written. */
  #blocked: Blocked[] = [];
  /** Groups whose machines are looking into the store. */
  #answeringCount = 0;
  /** Of the backlogs of all groups. */
  #backlogBytes = 0;

  constructor(ports: ApplyPorts) {
    this.#ports = ports;
    this.#turn = this.#newTurn();
  }

  get isIdle(): boolean {
    const heldUp = this.#blocked.length + this.#answeringCount;
    return this.#writing === undefined && this.#turn.entryCount + this.#ready.length + heldUp === 0;
  }

  /** Bytes of entries that are committed and not applied, in all groups. */
  get backlogBytes(): number {
    return this.#backlogBytes;
  }

  /** Whether an outcome of this node's clients waits for its rows. */
  get owesAnswers(): boolean {
    return this.#turn.settlements.length + (this.#writing?.settlements.length ?? 0) > 0;
  }

  /** Whether some machine is looking into the store. */
  get isAnswering(): boolean {
    return this.#answeringCount > 0;
  }

  /** Carries out an `apply` effect. */
  onApply(group: Group, entries: readonly Entry[]): void {
    if (group.backlog.length === 0) this.#ready.push(group);
    const before = group.backlog.bytes;
    group.backlog.push(entries);
    this.#backlogBytes += group.backlog.bytes - before;
  }

  /** What the group has not applied it never will. */
  closed(group: Group): void {
    this.#backlogBytes -= group.backlog.bytes;
  }

  /** Carries out an `install-snapshot` effect: parts in their order, which together are the snapshot. */
  onInstall(group: Group, parts: readonly PartToInstall[]): void {
    if (group.backlog.isEmpty) this.#ready.push(group);
    for (const part of parts) group.backlog.pushPart(part);
  }

  /** Applies a slice of what is ready, and tells what came of it. */
  apply(): void {
    this.#applySlice();
    this.#ports.told(this.#turn.takeTold());
  }

  /** Has what is applied by now written at once. */
  hurry(): void {
    if (this.#turn.entryCount > 0) this.#isUrgent = true;
  }

  /** Starts the next write if one is due and none is under way. */
  write(): void {
    if (this.#writing === undefined) {
      if (this.#turn.entryCount === 0) this.#answerBlocked();
      else if (this.#isDue()) this.#ports.keep(this.#write());
    }
    if (this.#ready.length > 0 && this.#turn.hasRoom) this.#ports.again();
  }

  #isDue(): boolean {
    if (this.#isUrgent || this.#turn.isLarge || this.#blocked.length > 0) return true;
    return this.#ports.isFollowed() || this.#turn.isAwaited;
  }

  /** One group's entries, or those of several that have few. */
  #applySlice(): void {
    const { applySliceEntries, applySliceBytes } = this.#ports.limits;
    const { entryCount, bytes } = this.#turn;
    const hasSlice = (): boolean =>
      this.#turn.hasRoom &&
      this.#turn.entryCount - entryCount < applySliceEntries &&
      this.#turn.bytes - bytes < applySliceBytes;
    while (hasSlice()) {
      const group = this.#ready.shift();
      if (group === undefined) return;
      if (!group.isOpen) continue;
      const blocked = this.#applyGroup(group, hasSlice);
      if (blocked !== undefined) this.#blocked.push(blocked);
      else if (group.isOpen && !group.backlog.isEmpty) this.#ready.push(group);
    }
  }

  /** Applies entries of one group until the slice, or something to look up, ends it. */
  #applyGroup(group: Group, hasSlice: () => boolean): Blocked | undefined {
    while (hasSlice() && group.isOpen) {
      const entry = group.backlog.peek();
      if (entry === undefined) {
        if (!this.#installPart(group)) return undefined;
        continue;
      }
      const needs = group.backlog.answers === undefined ? group.machine.needs(entry.payload) : [];
      if (needs.length > 0) return { group, needs };
      this.#applyEntry(group);
    }
    return undefined;
  }

  #applyEntry(group: Group): void {
    const answers = group.backlog.answers ?? [];
    const entry = group.backlog.shift();
    this.#backlogBytes -= entry.payload.length;
    const { index, term, payload, membership } = entry;
    const outcome = group.machine.apply({ index, term, payload, answers, membership });
    this.#turn.add(group, entry, outcome);
    this.#ports.passedOver(group, group.proposals.takeLost());
    for (const change of outcome === undefined ? NO_CHANGES : changesOf(outcome)) {
      this.#turn.changes.push(change);
      this.#ports.change(change, this.#turn);
    }
  }

  /** Installs the next part of a snapshot, if there is one. */
  #installPart(group: Group): boolean {
    const next = group.backlog.shiftPart();
    if (next === undefined) return false;
    const { part, members } = next;
    for (const change of group.machine.install(part, members)) {
      this.#turn.changes.push(change);
      this.#ports.change(change, this.#turn);
    }
    this.#turn.addPart(group, part.bytes);
    if (group.backlog.isEmpty) this.#isUrgent = true;
    this.#ports.installed(group, part);
    return true;
  }

  /** Writes the turn. One with entries of the catalog is synced: its rows are never rebuilt (C7). */
  async #write(): Promise<void> {
    const turn = this.#turn;
    this.#turn = this.#newTurn();
    this.#writing = turn;
    this.#isUrgent = false;
    const heldUp = this.#blocked;
    this.#blocked = [];
    turn.flush();
    const startedMs = this.#ports.monotonicMs();
    const sync = [...turn.groups].some((group) => group.id === CATALOG_GROUP);
    await this.#ports.kv.write(turn.batch, { sync });
    this.#writing = undefined;
    const { retainedBytesMax } = this.#ports;
    for (const [group, mark] of turn.marks) {
      if (!group.isOpen) continue;
      group.machine.flushed();
      group.markWritten(mark);
      if (mark.index > group.raft.applying) this.#ports.installWritten(group, mark);
      else this.#ports.step(group, applied(mark.index, retainedBytesMax()));
    }
    for (const blocked of heldUp) this.#ports.keep(this.#answer(blocked));
    this.#ports.written(turn, this.#ports.monotonicMs() - startedMs);
  }

  #answerBlocked(): void {
    const heldUp = this.#blocked;
    this.#blocked = [];
    for (const blocked of heldUp) this.#ports.keep(this.#answer(blocked));
  }

  /** Everything that the group has applied is written: its machine may look into the store. */
  async #answer({ group, needs }: Blocked): Promise<void> {
    this.#answeringCount += 1;
    const answers = group.isOpen ? await group.machine.answer(needs) : [];
    this.#answeringCount -= 1;
    group.backlog.prepare(answers);
    this.#ready.push(group);
    this.#ports.answered();
  }

  #newTurn(): ApplyTurn {
    return new ApplyTurn(this.#ports.kv.batch(), this.#ports.limits);
  }
}

function applied(index: LogIndex, retainedBytesMax: number | undefined): Input {
  return retainedBytesMax === undefined ? { kind: 'applied', index } : { kind: 'applied', index, retainedBytesMax };
}

const NO_CHANGES: readonly CatalogChange[] = [];

/** What an outcome changes for others. To them a recovered database is one that was deleted and created anew. */
function changesOf(outcome: Outcome): readonly CatalogChange[] {
  const { kind } = outcome;
  if (kind === 'recovered') {
    return [
      { kind: 'deleted', binding: outcome.before },
      { kind: 'created', binding: outcome.binding },
    ];
  }
  return isChange(outcome) ? [outcome] : NO_CHANGES;
}

function isChange(outcome: Outcome): outcome is CatalogChange {
  return CHANGES.has(outcome.kind);
}

const CHANGES: ReadonlySet<Outcome['kind']> = new Set<CatalogChange['kind']>([
  'created',
  'deleted',
  'moved',
  'registered',
  'raised',
  'key-kept',
  'key-removed',
]);
