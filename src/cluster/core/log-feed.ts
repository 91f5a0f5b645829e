/**
 * Appends to the log: collects the entries that groups persist in one turn in one buffer, and reports each completion
 * to its group (C1). Memberships of entries are included (C9).
 *
 * One `append` has everything of a turn, for all groups. The log writes while the next turn is collected, and syncs
 * several waiting appends together.
 */
import { Fifo, type GroupId } from '#base';
import type { Entry, Input, Persist, Persisted, Snapshot } from '#raft';
import { type BatchId, type LogWriter, RecordWriter, type RecoveredGroup } from '#storage';
import type { Group } from '../group/group.ts';
import type { DurableMark } from '../machine.ts';

interface InFlight {
  readonly batch: BatchId;
  readonly bytes: number;
  readonly sinceMs: number;
  /** The last write of each group in the batch: its completion implies that of the earlier ones. */
  readonly completions: ReadonlyMap<Group, Persisted>;
  /** Snapshots after which logs restart. */
  readonly starts: ReadonlyMap<Group, Snapshot>;
  /** Callbacks for groups that have ended in the batch. */
  readonly ended: readonly (() => void)[];
}

const NOTHING_ENDED: readonly (() => void)[] = [];

export class LogFeed {
  readonly #log: LogWriter;
  readonly #levelOf: (group: GroupId, entry: Entry) => number;
  readonly #monotonicMs: () => number;
  readonly #writer = new RecordWriter();
  #gathered = new Map<Group, Persisted>();
  #starts = new Map<Group, Snapshot>();
  #ended: (() => void)[] = [];
  readonly #inFlight = new Fifo<InFlight>();
  #inFlightBytes = 0;
  #appendedBytes = 0;

  /** `levelOf` throws for an entry that must not be written here. */
  constructor(log: LogWriter, levelOf: (group: GroupId, entry: Entry) => number, monotonicMs: () => number) {
    this.#log = log;
    this.#levelOf = levelOf;
    this.#monotonicMs = monotonicMs;
  }

  persist(group: Group, { hardState, truncateFrom, entries, term, vote, index, logTerm }: Persist): void {
    if (hardState !== undefined) {
      this.#writer.hardState(group.id, { term: hardState.term, vote: hardState.vote ?? 0 });
    }
    if (truncateFrom !== undefined) this.#writer.truncateFrom(group.id, truncateFrom);
    for (const entry of entries) this.#writer.entry(group.id, entry, this.#levelOf(group.id, entry));
    this.#gathered.set(group, { kind: 'persisted', term, vote, index, logTerm });
  }

  /** Records that the applied state of a group is durable up to the mark, so that older segments can be deleted. */
  checkpoint(group: GroupId, mark: DurableMark): void {
    this.#writer.checkpoint(group, mark);
  }

  /** The log restarts after a snapshot that is durable in the store; earlier records no longer count. */
  begin(group: Group, mark: DurableMark, snapshot: Snapshot): void {
    this.#writer.logStart(group.id, mark);
    this.#starts.set(group, snapshot);
  }

  /** Like `begin`, for a group that is not open. */
  restart(group: GroupId, mark: DurableMark): void {
    this.#writer.logStart(group, mark);
  }

  /** Starts the log of a group that is not open, after a state that is durable in the store, with these entries. */
  found({ group, hardState, checkpoint, entries }: RecoveredGroup): void {
    this.#writer.hardState(group, hardState);
    this.#writer.logStart(group, checkpoint);
    for (const entry of entries) this.#writer.entry(group, entry, this.#levelOf(group, entry));
  }

  /**
   * Writes the log of a group that is not open once more, so that no older segment is needed for it. A crash between
   * two batches would lose entries, so the log stays where it is unless it fits into one.
   */
  carry(log: RecoveredGroup, bytesMax: number): void {
    this.flush();
    this.found(log);
    if (this.#writer.byteLength > bytesMax) this.#writer.take();
    this.flush();
  }

  /**
   * Ends a group in the log, and calls back when that is durable. Nothing of this replica may be persisted afterwards
   * (C4).
   */
  tombstone(group: GroupId, ended: () => void): void {
    this.#writer.groupTombstone(group);
    this.#ended.push(ended);
  }

  /** Bytes that this process has appended. */
  get appendedBytes(): number {
    return this.#appendedBytes;
  }

  /** Number of appends that are not durable. */
  get inFlightCount(): number {
    return this.#inFlight.length;
  }

  /** Their size in bytes. */
  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  /** True when everything is durable. */
  get isIdle(): boolean {
    return this.#writer.byteLength === 0 && this.#inFlight.length === 0;
  }

  /** Time of the oldest append that is not durable; undefined when all are. */
  get waitsSinceMs(): number | undefined {
    return this.#inFlight.peek()?.sinceMs;
  }

  /** Sends the collected records, if any. */
  flush(): void {
    const bytes = this.#writer.byteLength;
    if (bytes === 0) return;
    this.#inFlightBytes += bytes;
    this.#appendedBytes += bytes;
    const batch = this.#log.append(this.#writer.take());
    const sinceMs = this.#monotonicMs();
    const ended = this.#ended.length > 0 ? this.#ended : NOTHING_ENDED;
    this.#inFlight.push({ batch, bytes, sinceMs, completions: this.#gathered, starts: this.#starts, ended });
    this.#gathered = new Map();
    this.#starts = new Map();
    // Groups that end from now on belong to the next batch.
    if (ended === this.#ended) this.#ended = [];
  }

  /** Calls `complete` for every group with a durable write: its restart, and its last write. */
  persisted(through: BatchId, complete: (group: Group, completion: Input) => void): void {
    const latest = new Map<Group, Persisted>();
    const starts = new Map<Group, Snapshot>();
    for (let next = this.#inFlight.peek(); next !== undefined && next.batch <= through; next = this.#inFlight.peek()) {
      this.#inFlight.shift();
      this.#inFlightBytes -= next.bytes;
      for (const [group, completion] of next.completions) latest.set(group, completion);
      for (const [group, snapshot] of next.starts) starts.set(group, snapshot);
      for (const ended of next.ended) ended();
    }
    for (const [group, snapshot] of starts) complete(group, { kind: 'snapshot-installed', snapshot });
    for (const [group, completion] of latest) complete(group, completion);
  }
}
