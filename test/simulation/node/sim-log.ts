// The log of a simulated node: the real one (src/storage) on a simulated thread and disk. As in log-worker.ts, buffers
// are transferred; a batch contains the records that have arrived when the disk is free, later records wait for the
// next batch, and each batch has its own completion. On the thread of its user it is the `DirectLog` of the product,
// except that its user works while the disk does.
import { assert } from '#base';
import {
  type BatchId,
  DirectLog,
  type EncodedRecords,
  type LogWriter,
  type PersistedFacts,
  type RecoveredLog,
  Wal,
  type WalIdentity,
} from '#storage';
import { GroupCommit } from '../../../src/storage/group-commit.ts';
import { BATCH_BYTES_MAX } from '../../../src/storage/wal-format.ts';
import type { SimDisk } from '../disk/sim-disk.ts';
import type { Isolate } from '../engine/isolate.ts';

export interface SimLogParts {
  readonly directory: string;
  readonly identity: WalIdentity;
  readonly segmentBytes: number;
  readonly disk: SimDisk;
  /** Threads of the log and of its user. */
  readonly thread: Isolate;
  readonly user: Isolate;
  readonly latencyUs: () => number;
}

/** Interval of checks whether a stalled disk works again. */
const STALL_LOOK_US = 20_000;

export class SimLog implements LogWriter {
  readonly #wal: Wal;
  readonly #commit: GroupCommit;
  readonly #parts: SimLogParts;
  readonly #toLog: (label: string, work: () => void) => void;
  readonly #toUser: (label: string, work: () => void) => void;
  #appended: BatchId = 0;
  #isClosing = false;
  /** State of the log's thread: records that wait for the disk, and whether the disk is busy. */
  #arrived: EncodedRecords[] = [];
  #last: EncodedRecords | undefined;
  #isBusy = false;
  #hasFailed = false;
  #close: (() => void) | undefined;
  #onPersisted: (through: BatchId, facts: PersistedFacts) => void = () => undefined;
  #onFatal: (failure: Error) => void = () => undefined;

  private constructor(wal: Wal, parts: SimLogParts) {
    const { thread, user, latencyUs } = parts;
    this.#wal = wal;
    this.#commit = new GroupCommit(wal, () => thread.nowUs / 1000);
    this.#parts = parts;
    this.#toLog = user.channelTo(thread, latencyUs);
    this.#toUser = thread.channelTo(user, latencyUs);
  }

  /** Throws when the log cannot be opened. */
  static open(parts: SimLogParts): { readonly log: LogWriter; readonly recovered: RecoveredLog } {
    if (parts.thread === parts.user) return openDirect(parts);
    const { wal, recovered } = Wal.open(parts.directory, parts);
    expectDurable(recovered, parts.disk);
    return { log: new SimLog(wal, parts), recovered };
  }

  append(records: EncodedRecords): BatchId {
    assert(!this.#isClosing, 'Nothing is appended to a log that is closing');
    const { byteOffset, length } = records;
    const bytes = new Uint8Array(records.buffer.transfer(), byteOffset, length);
    this.#toLog('append', () => {
      this.#arrived.push(bytes);
      this.#work();
    });
    this.#appended += 1;
    return this.#appended;
  }

  onPersisted(listener: (through: BatchId, facts: PersistedFacts) => void): void {
    this.#onPersisted = listener;
  }

  onFatal(listener: (failure: Error) => void): void {
    this.#onFatal = listener;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await new Promise<void>((resolve, reject) => {
      this.#toLog('close', () => {
        this.#close = () => {
          this.#wal.close().then(() => this.#toUser('closed', resolve), reject);
        };
        this.#work();
      });
    });
  }

  /** Writes what has arrived, unless the disk is busy. */
  #work(): void {
    if (this.#isBusy || this.#hasFailed) return;
    while (this.#commit.queuedBytes < BATCH_BYTES_MAX) {
      const next = this.#arrived.shift();
      if (next === undefined) break;
      this.#commit.add(next);
      this.#last = next;
    }
    if (this.#commit.queuedBytes === 0) return this.#close?.();
    this.#isBusy = true;
    const { thread, disk } = this.#parts;
    thread.after(disk.drawSyncUs(), 'log flush', () => this.#flush());
  }

  #flush(): void {
    const { thread, disk } = this.#parts;
    if (disk.isStalled) return thread.after(STALL_LOOK_US, 'log stalls', () => this.#flush());
    try {
      this.#commit.flush((through, facts) => {
        const isThere = disk.hasLied || this.#last === undefined || disk.held.holdsLast(this.#last);
        assert(isThere, 'W14: what the log reports is on its disk', through);
        this.#toUser('persisted', () => this.#onPersisted(through, facts));
      });
    } catch (error) {
      this.#hasFailed = true;
      const failure = error instanceof Error ? error : new Error(String(error));
      return this.#toUser('log failed', () => this.#onFatal(failure));
    }
    this.#isBusy = false;
    this.#work();
  }
}

function openDirect(parts: SimLogParts): ReturnType<typeof SimLog.open> {
  const { directory, disk, thread } = parts;
  const opened = DirectLog.open(directory, parts, {
    schedule: (flush) => {
      const write = (): void => {
        if (disk.isStalled) thread.after(STALL_LOOK_US, 'log stalls', write);
        else flush();
      };
      thread.after(disk.drawSyncUs(), 'log flush', write);
    },
    monotonicMs: () => thread.nowUs / 1000,
  });
  expectDurable(opened.recovered, disk);
  return opened;
}

/** Fails if the log reports what is not on its disk. */
function expectDurable({ groups }: RecoveredLog, { hasLied, held }: SimDisk): void {
  for (const [group, { hardState, entries }] of hasLied ? [] : groups) {
    const [last, known] = [entries.at(-1), held.group(group)];
    const isThere = known?.term === hardState.term && (last === undefined || known.holds(last));
    assert(isThere, 'W10: what a log reports when it is opened is on its disk', group);
  }
}
