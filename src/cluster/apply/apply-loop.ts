/**
 * The apply loop: applies committed entries to the state machines, and writes their rows to the store (C3).
 *
 *   ready groups --> apply (synchronous, bounded) --> turn n+1 fills --> outcomes
 *                                                        |  when turn n is written
 *                                                        v
 *                                     one batch: rows and applied rows of all groups --> written --> reads
 *
 * Applying runs in slices, so that the core handles syncs and requests in between and a batch is written early. Applied
 * entries are written when there are enough for a batch, when a client waits for their rows, and at the next tick at
 * the latest: transactions that belong together then become one append and one version of a head. At most one batch is
 * being written; meanwhile entries are applied for the next. A machine sees everything that it has applied, written or
 * not.
 * An entry that needs data from the store blocks its own group until everything that the group has applied is written
 * and its machine has read the data.
 */
import { CATALOG_GROUP, Fifo, type LogIndex } from '#base';
import { type Entry, encodeMembership, type Input } from '#raft';
import type { PartToInstall } from '../group/backlog.ts';
import type { Group } from '../group/group.ts';
import type { GroupPorts } from '../group/group-ports.ts';
import type { MachineNeed } from '../machine.ts';
import type { CatalogChange } from '../node.ts';
import type { Outcome } from '../outcome.ts';
import type { Forwards } from '../requests/forwards.ts';
import type { Snapshots } from '../snapshots/snapshots.ts';
import { ApplyTurn } from './apply-turn.ts';

export interface ApplyPorts extends GroupPorts {
  readonly turns: { again(): void; end(): void; keep(work: Promise<void>): void };
  /** Looked up when an entry or a part of a snapshot was applied or written. */
  readonly parts: {
    readonly cluster: { change(change: CatalogChange, turn: ApplyTurn): void; skipped(): void };
    readonly forwards: Pick<Forwards, 'passedOver'>;
    readonly snapshots: Pick<Snapshots, 'installed' | 'written'>;
    readonly written: { tell(turn: ApplyTurn, elapsedMs: number): void };
  };
}

interface Blocked {
  readonly group: Group;
  readonly needs: readonly MachineNeed[];
}

export class ApplyLoop {
  readonly #ports: ApplyPorts;
  readonly #ready = new Fifo<Group>();
  #turn: ApplyTurn;
  /** The turn whose batch is being written. */
  #writing: ApplyTurn | undefined;
  /** Applied entries are written, however few. */
  #isUrgent = false;
  /** Blocked groups, in neither queue: some of their applied entries are not written. */
  #blocked: Blocked[] = [];
  /** Number of groups whose machines are reading the store. */
  #answeringCount = 0;
  /** Backlogs of all groups. */
  #backlogBytes = 0;

  constructor(ports: ApplyPorts) {
    this.#ports = ports;
    this.#turn = this.#newTurn();
  }

  get isIdle(): boolean {
    const heldUp = this.#blocked.length + this.#answeringCount;
    return this.#writing === undefined && this.#turn.entryCount + this.#ready.length + heldUp === 0;
  }

  /** Bytes of entries that are committed but not applied, in all groups. */
  get backlogBytes(): number {
    return this.#backlogBytes;
  }

  /** True when a client of this node waits for rows of its outcome. */
  get owesAnswers(): boolean {
    return this.#turn.settlements.length + (this.#writing?.settlements.length ?? 0) > 0;
  }

  /** True when a machine is reading the store. */
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

  /** Drops the backlog of a closed group. */
  closed(group: Group): void {
    this.#backlogBytes -= group.backlog.bytes;
  }

  /** Carries out an `install-snapshot` effect: the parts, in order, are the snapshot. */
  onInstall(group: Group, parts: readonly PartToInstall[]): void {
    if (group.backlog.isEmpty) this.#ready.push(group);
    for (const part of parts) group.backlog.pushPart(part);
  }

  /** Applies a slice of the backlog, and reports its outcomes. */
  apply(): void {
    this.#applySlice();
    this.#ports.reporter.settle(this.#turn.takeDecided());
  }

  /** Writes everything that is applied so far at once. */
  hurry(): void {
    if (this.#turn.entryCount > 0) this.#isUrgent = true;
  }

  /** Starts the next write if it is due and none is in progress. */
  write(): void {
    if (this.#writing === undefined) {
      if (this.#turn.entryCount === 0) this.#answerBlocked();
      else if (this.#isDue()) this.#ports.turns.keep(this.#write());
    }
    if (this.#ready.length > 0 && this.#turn.hasRoom) this.#ports.turns.again();
  }

  #isDue(): boolean {
    if (this.#isUrgent || this.#turn.isLarge || this.#blocked.length > 0) return true;
    return this.#ports.reporter.isFollowed || this.#turn.isAwaited;
  }

  /** Applies entries of one group, or of several groups with few entries. */
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

  /** Applies entries of one group until the slice ends or an entry needs data from the store. */
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
    const { index, term, payload } = entry;
    const membership = entry.membership && encodeMembership(entry.membership);
    const outcome = group.machine.apply({ index, term, payload, answers, membership });
    this.#turn.add(group, entry, outcome);
    this.#ports.parts.forwards.passedOver(group, group.proposals.takeLost());
    this.#change(outcome === undefined ? NO_CHANGES : changesOf(outcome));
  }

  /** Adds the effects of changes of the catalog to the batch of the entry. */
  #change(changes: readonly CatalogChange[]): void {
    for (const change of changes) {
      this.#turn.changes.push(change);
      this.#ports.parts.cluster.change(change, this.#turn);
    }
  }

  /** Installs the next part of a snapshot, if there is one. */
  #installPart(group: Group): boolean {
    const next = group.backlog.shiftPart();
    if (next === undefined) return false;
    const { part, members } = next;
    this.#change(part.install({ index: members.index, membership: encodeMembership(members.membership) }));
    this.#turn.addPart(group, part.bytes);
    if (group.backlog.isEmpty) this.#isUrgent = true;
    const { cluster, snapshots } = this.#ports.parts;
    if (group.id === CATALOG_GROUP) cluster.skipped();
    snapshots.installed(group, part);
    return true;
  }

  /** Writes the batch of the turn. */
  async #write(): Promise<void> {
    const turn = this.#turn;
    this.#turn = this.#newTurn();
    this.#writing = turn;
    this.#isUrgent = false;
    const heldUp = this.#blocked;
    this.#blocked = [];
    turn.flush();
    const startedMs = this.#ports.monotonicMs();
    await this.#ports.kv.write(turn.batch);
    this.#writing = undefined;
    const { limits, memory, parts, turns } = this.#ports;
    for (const [group, mark] of turn.marks) {
      if (!group.isOpen) continue;
      group.machine.flushed();
      group.markWritten(mark);
      if (mark.index > group.raft.applying) parts.snapshots.written(group, mark);
      else this.#ports.step(group, applied(mark.index, memory.retainedBelow(limits.retainedBytesMax)));
    }
    for (const blocked of heldUp) turns.keep(this.#answer(blocked));
    parts.written.tell(turn, this.#ports.monotonicMs() - startedMs);
    turns.end();
  }

  #answerBlocked(): void {
    const heldUp = this.#blocked;
    this.#blocked = [];
    for (const blocked of heldUp) this.#ports.turns.keep(this.#answer(blocked));
  }

  /** Everything that the group has applied is written, so its machine may read the store. */
  async #answer({ group, needs }: Blocked): Promise<void> {
    this.#answeringCount += 1;
    const answers = group.isOpen ? await group.machine.answer(needs) : [];
    this.#answeringCount -= 1;
    group.backlog.prepare(answers);
    this.#ready.push(group);
    this.#ports.turns.end();
  }

  #newTurn(): ApplyTurn {
    return new ApplyTurn(this.#ports.kv.batch(), this.#ports.limits);
  }
}

function applied(index: LogIndex, retainedBytesMax: number | undefined): Input {
  return retainedBytesMax === undefined ? { kind: 'applied', index } : { kind: 'applied', index, retainedBytesMax };
}

const NO_CHANGES: readonly CatalogChange[] = [];

/** The changes of the catalog that an outcome implies for others: a recovery is a deletion and a creation. */
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
