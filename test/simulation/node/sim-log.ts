/**
 * The log of a simulated node: the real one (src/storage), on a thread of its own that is simulated, over a simulated
 * disk. As `LogThread` does it: buffers change hands, and what arrives while a sync runs is in the next one.
 */
import {
  type BatchId,
  DirectLog,
  type EncodedRecords,
  type LogWriter,
  type PersistedFacts,
  type RecoveredLog,
  type WalIdentity,
} from '#storage';
import type { SimDisk } from '../disk/sim-disk.ts';
import type { Isolate } from '../engine/isolate.ts';

export interface SimLogParts {
  readonly directory: string;
  readonly identity: WalIdentity;
  readonly segmentBytes: number;
  readonly disk: SimDisk;
  /** The thread of the log, and the one of its user. */
  readonly thread: Isolate;
  readonly user: Isolate;
  readonly latencyUs: () => number;
}

export class SimLog implements LogWriter {
  readonly #log: DirectLog;
  readonly #toLog: (label: string, work: () => void) => void;
  readonly #toUser: (label: string, work: () => void) => void;
  #appended: BatchId = 0;

  private constructor(log: DirectLog, { thread, user, latencyUs }: SimLogParts) {
    this.#log = log;
    this.#toLog = user.channelTo(thread, latencyUs);
    this.#toUser = thread.channelTo(user, latencyUs);
  }

  /** Throws when the log refuses to open. */
  static open(parts: SimLogParts): { readonly log: SimLog; readonly recovered: RecoveredLog } {
    const { directory, identity, segmentBytes, disk, thread } = parts;
    const ports = {
      schedule: (flush: () => void) => thread.after(disk.drawSyncUs(), 'log flush', flush),
      monotonicMs: () => thread.nowUs / 1000,
    };
    const { log, recovered } = DirectLog.open(directory, { identity, segmentBytes, disk }, ports);
    return { log: new SimLog(log, parts), recovered };
  }

  append(records: EncodedRecords): BatchId {
    const { byteOffset, length } = records;
    const bytes = new Uint8Array(records.buffer.transfer(), byteOffset, length);
    this.#toLog('append', () => this.#log.append(bytes));
    this.#appended += 1;
    return this.#appended;
  }

  onPersisted(listener: (through: BatchId, facts: PersistedFacts) => void): void {
    this.#log.onPersisted((through, facts) => this.#toUser('persisted', () => listener(through, facts)));
  }

  onFatal(listener: (failure: Error) => void): void {
    this.#log.onFatal((failure) => this.#toUser('log failed', () => listener(failure)));
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#toLog('close', () => {
        this.#log.close().then(() => this.#toUser('closed', resolve), reject);
      });
    });
  }
}
