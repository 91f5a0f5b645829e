/** One turn of the apply loop: a batch for the store, and the outcomes to report at once or when it is written. */
import type { GroupId } from '#base';
import type { KvBatch } from '#kv';
import type { Entry } from '#raft';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { Settlement } from '../link.ts';
import type { AppliedMark } from '../machine.ts';
import type { CatalogChange } from '../node.ts';
import type { Binding, Outcome } from '../outcome.ts';

export class ApplyTurn {
  readonly batch: KvBatch;
  /** Outcomes that wait for the batch, because their clients read the rows without waiting. */
  readonly settlements: Settlement[] = [];
  readonly changes: CatalogChange[] = [];
  /** Groups whose replica ends on this node, and databases whose replica starts with rows of this batch. */
  readonly ended: GroupId[] = [];
  readonly begun: Binding[] = [];
  readonly #limits: CoreLimits;
  readonly #bytesOf = new Map<Group, number>();
  readonly #marks = new Map<Group, AppliedMark>();
  #decided: Settlement[] = [];
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

  /** True when it is large enough to be written. */
  get isLarge(): boolean {
    return this.#entryCount >= this.#limits.writeEntries || this.#bytes >= this.#limits.writeBytes;
  }

  /** True when a client waits for its rows. */
  get isAwaited(): boolean {
    if (this.settlements.length + this.changes.length > 0) return true;
    for (const group of this.groups) if (group.isOpening || group.reads.count > 0) return true;
    return false;
  }

  /** The groups that applied entries. */
  get groups(): Iterable<Group> {
    return this.#bytesOf.keys();
  }

  /** The groups with rows in the batch, each with the mark that the batch reaches. */
  get marks(): ReadonlyMap<Group, AppliedMark> {
    return this.#marks;
  }

  /** Bytes of the entries that a group has applied in this turn. */
  bytesOf(group: Group): number {
    return this.#bytesOf.get(group) ?? 0;
  }

  /** Counts an applied entry, and keeps its outcome for its proposer. */
  add(group: Group, entry: Entry, outcome: Outcome | undefined): void {
    const token = group.proposals.settle(entry);
    if (outcome !== undefined && token !== undefined) {
      const answers = isDecision(outcome) ? this.#decided : this.settlements;
      answers.push({ kind: 'outcome', token, outcome });
    }
    this.#entryCount += 1;
    this.#bytes += entry.payload.length;
    this.#bytesOf.set(group, this.bytesOf(group) + entry.payload.length);
  }

  /** Counts an installed part of a snapshot like an entry. */
  addPart(group: Group, bytes: number): void {
    this.#entryCount += 1;
    this.#bytes += bytes;
    this.#bytesOf.set(group, this.bytesOf(group) + bytes);
  }

  /** Removes and returns the outcomes that may be reported now. */
  takeDecided(): readonly Settlement[] {
    const decided = this.#decided;
    if (decided.length > 0) this.#decided = [];
    return decided;
  }

  /** Adds the rows of every open group to the batch; the last step before it is written. */
  flush(): void {
    for (const group of this.groups) {
      if (!group.isOpen) continue;
      this.#marks.set(group, group.machine.applied);
      group.machine.flushInto(this.batch);
    }
  }
}

/**
 * Outcomes that a replay of the log would reproduce exactly if the rows were lost; they may be reported before the rows
 * are written (C2).
 */
function isDecision({ kind }: Outcome): boolean {
  return kind === 'committed' || kind === 'violated' || kind === 'too-broad';
}
