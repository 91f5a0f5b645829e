/**
 * The write-ahead log as its one user sees it: records go in, and later it learns through which batch they are on disk.
 *
 * Two implementations keep this contract: `LogThread` runs the log on a thread of its own, and `DirectLog` runs it on
 * the caller's.
 */
import type { GroupId } from '#base';
import type { Checkpoint } from './checkpoint.ts';
import type { EncodedRecords, HardState, LeveledEntry } from './log-records.ts';

/** Numbers the calls of `append` of one opened log, from 1 on. */
export type BatchId = number;

/** Cost of one write and its sync, for metrics. */
export interface PersistedFacts {
  /** Bytes written, padding included. */
  readonly bytes: number;
  /** Duration of the write and the sync together. */
  readonly elapsedMs: number;
}

export interface LogWriter {
  /**
   * Queues records for the disk and returns at once. The bytes belong to the log from here on. Batches become durable
   * in the order of the calls; what waits while a sync runs becomes durable together, by one sync.
   */
  append(records: EncodedRecords): BatchId;
  /** Calls the listener when every batch up to and including `through` is durable. One listener. */
  onPersisted(listener: (through: BatchId, facts: PersistedFacts) => void): void;
  /**
   * Calls the listener once, when the log can write no more. Nothing that was not reported as persisted may be
   * acknowledged, and nothing may be tried again: the process ends, and the next one finds out what is on disk.
   */
  onFatal(listener: (failure: Error) => void): void;
  /** Writes what is queued, then closes the files. */
  close(): Promise<void>;
}

/** One group as the log holds it. */
export interface RecoveredGroup {
  readonly group: GroupId;
  /** All zero when the group has not voted yet. */
  readonly hardState: HardState;
  /** All zero when nothing was checkpointed yet. */
  readonly checkpoint: Checkpoint;
  /** The entries after the checkpoint: contiguous, the first has index `checkpoint.index + 1`. */
  readonly entries: readonly LeveledEntry[];
}

/** Everything that the log held when it was opened. All of it is on disk, whatever the last process got to do (W10). */
export interface RecoveredLog {
  /** Every group that has records and did not end. */
  readonly groups: ReadonlyMap<GroupId, RecoveredGroup>;
  /** Groups that ended: whatever is left of them elsewhere may be cleared, and their ids are never used again. */
  readonly tombstones: ReadonlySet<GroupId>;
}
