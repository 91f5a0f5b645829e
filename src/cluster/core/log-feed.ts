/**
 * The way to the log: gathers what the groups of one turn persist into one buffer, and brings each completion back to
 * its group (C1). What an entry says of the membership goes with it (C9).
 *
 * One `append` carries everything of a turn, whichever groups it is of. The log writes while the next turn gathers;
 * what piles up meanwhile it syncs together.
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
  /** The snapshots that logs begin behind. */
  readonly starts: ReadonlyMap<Group, Snapshot>;
  /** What follows for groups that have ended in it. */
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

  /** Tells the log that a group's applied state is durable up to the mark, so that older segments can go. */
  checkpoint(group: GroupId, mark: DurableMark): void {
    this.#writer.checkpoint(group, mark);
  }

  /** The log begins behind a snapshot, which is durable in the store; nothing that it held counts any more. */
  begin(group: Group, mark: DurableMark, snapshot: Snapshot): void {
    this.#writer.logStart(group.id, mark);
    this.#starts.set(group, snapshot);
  }

  /** As `begin`, of a group that is not open. */
  restart(group: GroupId, mark: DurableMark): void {
    this.#writer.logStart(group, mark);
  }

  /** Begins the log of a group that is not open, behind a state that is durable in the store, with these entries. */
  found({ group, hardState, checkpoint, entries }: RecoveredGroup): void {
    this.#writer.hardState(group, hardState);
    this.#writer.logStart(group, checkpoint);
    for (const entry of entries) this.#writer.entry(group, entry, this.#levelOf(group, entry));
  }

  /** Ends a group in the log, and says when that is durable. Nothing of this copy may be persisted afterwards (C4). */
  tombstone(group: GroupId, ended: () => void): void {
    this.#writer.groupTombstone(group);
    this.#ended.push(ended);
  }

  /** Appends that the log has and that are not durable. */
  get inFlightCount(): number {
    return this.#inFlight.length;
  }

  /** The bytes in them. */
  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  /** Whether everything that was handed in is durable. */
  get isIdle(): boolean {
    return this.#writer.byteLength === 0 && this.#inFlight.length === 0;
  }

  /** When the oldest batch was handed in that is not durable yet; undefined when all are. */
  get waitsSinceMs(): number | undefined {
    return this.#inFlight.peek()?.sinceMs;
  }

  /** Sends what was gathered, if anything. */
  flush(): void {
    const bytes = this.#writer.byteLength;
    if (bytes === 0) return;
    this.#inFlightBytes += bytes;
    const batch = this.#log.append(this.#writer.take());
    const sinceMs = this.#monotonicMs();
    const ended = this.#ended.length > 0 ? this.#ended : NOTHING_ENDED;
    this.#inFlight.push({ batch, bytes, sinceMs, completions: this.#gathered, starts: this.#starts, ended });
    this.#gathered = new Map();
    this.#starts = new Map();
    // What ends from now on is of the next batch, and of none that is on its way.
    if (ended === this.#ended) this.#ended = [];
  }

  /** Calls `complete` for every group that has something durable now: with a start of its log, and its last write. */
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
