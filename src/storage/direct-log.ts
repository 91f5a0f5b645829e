/**
 * The log on its caller's thread, which waits for each sync. Everything that the caller appends before the flush runs
 * becomes durable together.
 */
import { assert } from '#base';
import { GroupCommit } from './group-commit.ts';
import type { EncodedRecords } from './log-records.ts';
import type { BatchId, LogWriter, PersistedFacts, RecoveredLog } from './log-writer.ts';
import { Wal, type WalOptions } from './wal.ts';

export interface DirectLogPorts {
  /** Runs the flush later, once; until it does, further appends join the batch. Default: `setImmediate`. */
  readonly schedule?: (flush: () => void) => void;
  /** For the facts of each sync. Default: the clock of this machine. */
  readonly monotonicMs?: () => number;
}

export class DirectLog implements LogWriter {
  readonly #wal: Wal;
  readonly #commit: GroupCommit;
  readonly #schedule: (flush: () => void) => void;
  #scheduled = false;
  #failure: Error | undefined;
  #isClosing = false;
  #onPersisted: ((through: BatchId, facts: PersistedFacts) => void) | undefined;
  #onFatal: ((failure: Error) => void) | undefined;

  private constructor(wal: Wal, ports: DirectLogPorts) {
    const { schedule = setImmediate, monotonicMs = () => performance.now() } = ports;
    this.#wal = wal;
    this.#commit = new GroupCommit(wal, monotonicMs);
    this.#schedule = schedule;
  }

  /** Opens the log in `directory`. */
  static open(
    directory: string,
    options: WalOptions,
    ports: DirectLogPorts = {},
  ): { readonly log: DirectLog; readonly recovered: RecoveredLog } {
    const { wal, recovered } = Wal.open(directory, options);
    return { log: new DirectLog(wal, ports), recovered };
  }

  append(records: EncodedRecords): BatchId {
    if (this.#failure !== undefined) throw this.#failure;
    assert(!this.#isClosing, 'Nothing is appended to a log that is closing');
    if (!this.#scheduled) {
      this.#scheduled = true;
      this.#schedule(() => this.#flush());
    }
    return this.#commit.add(records);
  }

  onPersisted(listener: (through: BatchId, facts: PersistedFacts) => void): void {
    this.#onPersisted = listener;
  }

  onFatal(listener: (failure: Error) => void): void {
    this.#onFatal = listener;
    if (this.#failure !== undefined) listener(this.#failure);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#flush();
    await this.#wal.close();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#failure !== undefined) return;
    try {
      this.#commit.flush((through, facts) => this.#onPersisted?.(through, facts));
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#onFatal?.(this.#failure);
    }
  }
}
