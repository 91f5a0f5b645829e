/**
 * Decides when the rounds of archivers begin: for each database every five seconds, a few databases side by side.
 *
 * ```
 *   due ── a round begins ──> running ──> due 5 s after its begin     partial: at once
 *                                └──────> due after 1, 2, 4 … 60 s    it has failed
 * ```
 * A database that fails delays no other one, unless all lanes wait for the store.
 */
import type { Archiver } from './archiver.ts';

/** So that a recovery point is at most 10 s old. */
const PERIOD_MS = 5_000;
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 60_000;
const LANES = 4;

export interface DriverPorts<Database> {
  readonly open: (database: Database) => Pick<Archiver, 'round' | 'lagBytes'>;
  readonly monotonicMs: () => number;
  /** A round has failed, and the one before had not. */
  readonly onFailing: (database: Database, failure: unknown) => void;
  /** A round has succeeded, and the one before had failed. */
  readonly onRecovered: (database: Database) => void;
}

/** How far the archive of a database is. */
export interface ArchiveProgress {
  readonly name: string;
  /** Age of the newest moment whose records are all in the archive; at first the time since the database is archived. */
  readonly ageMs: number;
  readonly lagBytes: number;
}

interface Task<Database> {
  readonly database: Database;
  readonly archiver: Pick<Archiver, 'round' | 'lagBytes'>;
  isRunning: boolean;
  dueMs: number;
  /** Failures since the last success. */
  failures: number;
  /** Begin of the last round that archived everything. */
  wholeMs: number;
}

export class ArchiveDriver<Database extends { readonly id: string; readonly name: string }> {
  readonly #ports: DriverPorts<Database>;
  #tasks = new Map<string, Task<Database>>();
  readonly #running = new Set<Promise<void>>();
  /** Rounds that have failed. */
  failureCount = 0;

  constructor(ports: DriverPorts<Database>) {
    this.#ports = ports;
  }

  /** Archives these databases from now on, and no others. Rounds of others end as they end. */
  follow(databases: readonly Database[]): void {
    const nowMs = this.#ports.monotonicMs();
    const known = this.#tasks;
    this.#tasks = new Map(
      databases.map((database) => [database.id, known.get(database.id) ?? this.#taskOf(database, nowMs)]),
    );
    this.tick();
  }

  /** Begins the rounds that are due. Called every second. */
  tick(): void {
    const nowMs = this.#ports.monotonicMs();
    for (const [id, task] of this.#tasks) {
      if (this.#running.size >= LANES) return;
      if (task.isRunning || task.dueMs > nowMs) continue;
      task.isRunning = true;
      // Behind all others, so that each one has its turn.
      this.#tasks.delete(id);
      this.#tasks.set(id, task);
      const round = this.#round(task, nowMs).finally(() => {
        this.#running.delete(round);
        this.tick();
      });
      this.#running.add(round);
    }
  }

  /** Begins no more rounds; resolves when the last one has ended. */
  async stop(): Promise<void> {
    this.#tasks = new Map();
    await Promise.all(this.#running);
  }

  /** The databases whose archives lag most, the worst first. */
  progress(count: number): Promise<readonly ArchiveProgress[]> {
    const nowMs = this.#ports.monotonicMs();
    const worst = [...this.#tasks.values()].toSorted((one, other) => one.wholeMs - other.wholeMs).slice(0, count);
    return Promise.all(
      worst.map(async ({ database: { name }, archiver, wholeMs }) => {
        return { name, ageMs: nowMs - wholeMs, lagBytes: await archiver.lagBytes() };
      }),
    );
  }

  #taskOf(database: Database, nowMs: number): Task<Database> {
    const archiver = this.#ports.open(database);
    return { database, archiver, isRunning: false, dueMs: nowMs, failures: 0, wholeMs: nowMs };
  }

  /** Never rejects. */
  async #round(task: Task<Database>, begunMs: number): Promise<void> {
    const { monotonicMs, onFailing, onRecovered } = this.#ports;
    const { database, archiver } = task;
    const isFollowed = (): boolean => this.#tasks.get(database.id) === task;
    try {
      const round = await archiver.round();
      if (round === 'archived' || round === 'current') task.wholeMs = begunMs;
      task.dueMs = round === 'partial' ? begunMs : begunMs + PERIOD_MS;
      if (task.failures > 0 && isFollowed()) onRecovered(database);
      task.failures = 0;
    } catch (failure) {
      task.dueMs = monotonicMs() + Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** task.failures);
      task.failures += 1;
      // The rows of a deleted database go while they are read.
      if (!isFollowed()) return;
      this.failureCount += 1;
      if (task.failures === 1) onFailing(database, failure);
    } finally {
      task.isRunning = false;
    }
  }
}
