/**
 * The write-ahead log of one node, shared by all of its groups.
 *
 * `append` puts records into a batch, writes it in one call and syncs it in another, both synchronous, and returns when
 * they are on disk: records that arrive during a sync are the next batch. Everything else (the spare segment, old
 * segments, the age of the guard) waits for `tidy`, which its owner calls after it has reported the batch.
 *
 * Only one process may have the directory open: the caller first takes the lock of the store (LevelDB's).
 *
 *   W6  `append` returns only after every record that it was given is written and synced; all that fit into one batch
 *       by one write and one sync. After a crash, a message that fits into a batch is there as a whole, or not at all.
 *   W7  After a write or a sync has failed, nothing is written any more: every later call throws the first failure.
 */
import { dirname, join } from 'node:path';
import { assert } from '#base';
import { missing, orUnwritten } from './basis/storage-failure.ts';
import { BatchSlab } from './batch-slab.ts';
import { type Disk, patientDisk } from './disk.ts';
import { GroupLedger } from './group-ledger.ts';
import { GuardFile } from './guard-file.ts';
import type { EncodedRecords } from './log-records.ts';
import type { RecoveredLog } from './log-writer.ts';
import { SPARE_SUFFIX, SpareSegment } from './spare-segment.ts';
import { BATCH_BYTES_MAX, type LogEnd, SECTOR_BYTES, type WalIdentity } from './wal-format.ts';
import { recoverWal } from './wal-recovery.ts';
import { type ActiveSegment, batchBytesMax, bearSegment, segmentName, segmentNumbers } from './wal-segment.ts';

export const SEGMENT_BYTES_DEFAULT: number = 64 * 1024 * 1024;
/** Below this not even an empty summary and one small batch would fit. */
const SEGMENT_BYTES_MIN: number = 16 * 1024;

const GUARD_NAME = 'guard';
const DRAFT_SUFFIX = '.new';

export interface WalOptions {
  /** Owner of the log. A log of another cluster or store is refused. */
  readonly identity: WalIdentity;
  /** Size of the segments that are made from now on: whole sectors, default 64 MiB. A record fits in half of one. */
  readonly segmentBytes?: number;
  /** Default: the file system of this machine. */
  readonly disk?: Disk;
}

export interface AppendFacts {
  /** Bytes written, padding included. */
  readonly bytes: number;
  /** Batches written, each with a sync: 1, unless the records are more than fit into one. */
  readonly batches: number;
}

interface WalParts {
  readonly disk: Disk;
  readonly directory: string;
  readonly identity: WalIdentity;
  readonly segmentBytes: number;
  readonly guard: GuardFile;
  readonly spare: SpareSegment;
}

interface WalState {
  readonly ledger: GroupLedger;
  readonly active: ActiveSegment;
  readonly end: LogEnd;
  readonly oldest: number;
  readonly log: RecoveredLog;
}

export class Wal {
  readonly #parts: WalParts;
  readonly #ledger: GroupLedger;
  readonly #slab: BatchSlab;
  #active: ActiveSegment;
  #end: LogEnd;
  #oldest: number;
  #failure: Error | undefined;

  private constructor(parts: WalParts, state: WalState) {
    this.#parts = parts;
    this.#ledger = state.ledger;
    this.#active = state.active;
    this.#end = state.end;
    this.#oldest = state.oldest;
    this.#slab = new BatchSlab(Math.min(BATCH_BYTES_MAX, batchBytesMax(parts.segmentBytes)));
  }

  /** Opens or creates the log in `directory`. The recovered records are on disk (W10). */
  static open(directory: string, options: WalOptions): { readonly wal: Wal; readonly recovered: RecoveredLog } {
    const { identity, segmentBytes = SEGMENT_BYTES_DEFAULT, disk = patientDisk } = options;
    assert(segmentBytes >= SEGMENT_BYTES_MIN, `A segment has ${SEGMENT_BYTES_MIN} bytes or more`, segmentBytes);
    assert(segmentBytes % (2 * SECTOR_BYTES) === 0, 'Half a segment is a number of whole sectors', segmentBytes);
    disk.makeDirectory(directory);
    const names = disk.list(directory);
    for (const name of names) if (isDraft(name)) removeDraft(disk, join(directory, name));
    const segments = segmentNumbers(names);
    const guard = openGuard({ disk, directory, identity }, names.includes(GUARD_NAME), segments.length > 0);
    const spare = new SpareSegment(disk, directory, segmentBytes);
    const parts: WalParts = { disk, directory, identity, segmentBytes, guard, spare };
    const state = segments.length === 0 ? beginLog(parts) : recoverLog(parts, segments);
    // The last segment, or the guard, may have got its name just before the process died.
    orUnwritten(join(directory, GUARD_NAME), () => {
      disk.syncDirectory(directory);
      guard.advance(state.end.seq);
      guard.sync();
    });
    return { wal: new Wal(parts, state), recovered: state.log };
  }

  /**
   * Makes the records of all messages durable, in order (W6). The messages are read, not kept.
   * A record that breaks the rules of its group is a bug of its writer and stops the log.
   */
  append(messages: readonly EncodedRecords[]): AppendFacts {
    return this.#guarded(() => {
      const facts = { bytes: 0, batches: 0 };
      for (const message of messages) {
        if (this.#slab.needsNext(message.length)) this.#writeBatch(facts);
        let at = 0;
        while (at < message.length) {
          const staged = this.#slab.stage(message, at);
          if (staged === at) this.#writeBatch(facts);
          at = staged;
        }
      }
      if (!this.#slab.isEmpty) this.#writeBatch(facts);
      return facts;
    });
  }

  /** Does what need not be done before a batch is acknowledged. Call it after each append, and when idle. */
  tidy(): void {
    this.#guarded(() => {
      const { guard, spare, directory } = this.#parts;
      if (guard.isDue) orUnwritten(join(directory, GUARD_NAME), () => guard.sync());
      spare.pace(this.#end.offset);
      this.#releaseSegments();
    });
  }

  async close(): Promise<void> {
    const { guard, spare, directory } = this.#parts;
    await spare.close();
    if (this.#failure === undefined) orUnwritten(join(directory, GUARD_NAME), () => guard.sync());
    guard.close();
    this.#active.file.close();
  }

  #writeBatch(facts: { bytes: number; batches: number }): void {
    assert(!this.#slab.isEmpty, 'A record fits into half of a segment', this.#parts.segmentBytes);
    if (this.#end.offset + this.#slab.extent > this.#active.bytes) this.#beginSegment();
    const { file, number } = this.#active;
    const batch = this.#slab.seal(this.#end, number, this.#ledger);
    orUnwritten(file.path, () => {
      file.write(batch.bytes, this.#end.offset);
      file.sync();
    });
    this.#end = { seq: batch.seq, crc: batch.crc, offset: this.#end.offset + batch.bytes.length };
    this.#slab.clear();
    this.#noteSynced(batch.hasHardState);
    facts.bytes += batch.bytes.length;
    facts.batches += 1;
  }

  #noteSynced(durably: boolean): void {
    const { guard, directory } = this.#parts;
    orUnwritten(join(directory, GUARD_NAME), () => {
      guard.advance(this.#end.seq);
      if (durably) guard.sync();
    });
  }

  #beginSegment(): void {
    const full = this.#active;
    const birth = { ...this.#parts, number: full.number + 1, previous: this.#end };
    const { segment, end } = bearSegment(birth, this.#parts.spare.take(), this.#ledger);
    this.#active = segment;
    this.#end = end;
    full.file.close();
  }

  /**
   * (W12) Each name is durably removed before the next one, so that a crash never leaves a gap, and before anything is
   * written into its file again.
   */
  #releaseSegments(): void {
    const { disk, directory, spare } = this.#parts;
    while (this.#oldest < this.#active.number && !this.#ledger.isClaimed(this.#oldest)) {
      const path = join(directory, segmentName(this.#oldest));
      orUnwritten(path, () => {
        spare.recycle(path);
        disk.syncDirectory(directory);
      });
      this.#oldest += 1;
    }
  }

  /** W7. */
  #guarded<Value>(work: () => Value): Value {
    const failure = this.#failure ?? this.#parts.spare.failure;
    if (failure !== undefined) throw failure;
    try {
      return work();
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      throw this.#failure;
    }
  }
}

interface GuardPlace {
  readonly disk: Disk;
  readonly directory: string;
  readonly identity: WalIdentity;
}

/** The guard is made before the first segment, so a log with segments and no guard has lost it. */
function openGuard({ disk, directory, identity }: GuardPlace, exists: boolean, hasSegments: boolean): GuardFile {
  const path = join(directory, GUARD_NAME);
  if (exists) return GuardFile.open(disk, path, identity);
  if (hasSegments) throw missing(path, 'segments of a log without their guard file');
  orUnwritten(directory, () => disk.syncDirectory(dirname(directory)));
  return GuardFile.create(disk, path, identity);
}

function beginLog(parts: WalParts): WalState {
  const { directory, guard, spare } = parts;
  if (guard.syncedThrough > 0) {
    const found = `no segment at all, though the guard file knows every batch up to ${guard.syncedThrough} as synced`;
    throw missing(join(directory, segmentName(1)), found);
  }
  const ledger = new GroupLedger();
  const birth = { ...parts, number: 1, previous: { seq: 0, crc: 0, offset: 0 } };
  const { segment, end } = bearSegment(birth, spare.take(), ledger);
  return { ledger, active: segment, end, oldest: 1, log: { groups: new Map(), tombstones: new Set() } };
}

function recoverLog(parts: WalParts, segments: readonly number[]): WalState {
  const { disk, directory, identity, guard } = parts;
  const { syncedThrough } = guard;
  const recovered = recoverWal({ disk, directory, identity, segments, syncedThrough });
  return { ...recovered, oldest: segments[0] ?? recovered.active.number };
}

function removeDraft(disk: Disk, path: string): void {
  orUnwritten(path, () => disk.remove(path));
}

function isDraft(name: string): boolean {
  return name.endsWith(SPARE_SUFFIX) || name === `${GUARD_NAME}${DRAFT_SUFFIX}`;
}
