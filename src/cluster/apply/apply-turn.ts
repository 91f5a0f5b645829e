/**
 * One turn of the apply loop: a batch of the store, and what is to be said at once and when it is written.
 */
import type { GroupId } from '#base';
import type { KvBatch } from '#kv';
import type { Entry } from '#raft';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { AppliedMark } from '../machine.ts';
import type { CatalogChange } from '../node.ts';
import type { Binding, Outcome } from '../outcome.ts';
import type { Settlement } from '../thread/link.ts';

export class ApplyTurn {
  readonly batch: KvBatch;
  /** Answers that wait for the batch: they speak of rows, and whoever gets one looks there without waiting. */
  readonly settlements: Settlement[] = [];
  readonly changes: CatalogChange[] = [];
  /**
   * Groups of which this node gives up its copy, and databases of which it gets one whose first rows are in the batch.
   */
  readonly ended: GroupId[] = [];
  readonly begun: Binding[] = [];
  readonly #limits: CoreLimits;
  readonly #bytesOf = new Map<Group, number>();
  readonly #marks = new Map<Group, AppliedMark>();
  #told: Settlement[] = [];
  #entryCount = 0;
  #bytes = 0;

  constructor(batch: KvBatch, limits: CoreLimits) {
    this.batch = batch;
    this.#limits = limits;
  }

  get entryCount(): number {
    return this.#entryCount;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get hasRoom(): boolean {
    return this.#entryCount < this.#limits.applyEntriesMax && this.#bytes < this.#limits.applyBytesMax;
  }

  /** Whether it is enough for a batch. */
  get isLarge(): boolean {
    return this.#entryCount >= this.#limits.writeEntries || this.#bytes >= this.#limits.writeBytes;
  }

  /** Whether somebody waits until its rows are in the store. */
  get isAwaited(): boolean {
    if (this.settlements.length + this.changes.length > 0) return true;
    for (const group of this.groups) if (group.isOpening || group.reads.count > 0) return true;
    return false;
  }

  /** The groups that applied something. */
  get groups(): Iterable<Group> {
    return this.#bytesOf.keys();
  }

  /** Of those, the ones whose rows are in the batch, each with how far they lead it. */
  get marks(): ReadonlyMap<Group, AppliedMark> {
    return this.#marks;
  }

  /** Bytes of the entries that a group has applied in this turn. */
  bytesOf(group: Group): number {
    return this.#bytesOf.get(group) ?? 0;
  }

  /** Counts an applied entry, and keeps its outcome for whoever proposed it. */
  add(group: Group, entry: Entry, outcome: Outcome | undefined): void {
    const token = group.proposals.settle(entry);
    if (outcome !== undefined && token !== undefined) {
      const answers = isDecision(outcome) ? this.#told : this.settlements;
      answers.push({ kind: 'outcome', token, outcome });
    }
    this.#entryCount += 1;
    this.#bytes += entry.payload.length;
    this.#bytesOf.set(group, this.bytesOf(group) + entry.payload.length);
  }

  /** Counts an installed part of a snapshot, as if it were an entry. */
  addPart(group: Group, bytes: number): void {
    this.#entryCount += 1;
    this.#bytes += bytes;
    this.#bytesOf.set(group, this.bytesOf(group) + bytes);
  }

  /** Takes the answers that wait for nothing any more. */
  takeTold(): readonly Settlement[] {
    const told = this.#told;
    if (told.length > 0) this.#told = [];
    return told;
  }

  /** Puts the rows of every group that is still open into the batch: the last thing before it is written. */
  flush(): void {
    for (const group of this.groups) {
      if (!group.isOpen) continue;
      this.#marks.set(group, group.machine.applied);
      group.machine.flushInto(this.batch);
    }
  }
}

/**
 * What the log would decide again, word for word, should the rows be lost: it may be told before they are written (C2).
 */
function isDecision({ kind }: Outcome): boolean {
  return kind === 'committed' || kind === 'violated' || kind === 'too-broad';
}
