/**
 * Decides when the rounds of archivers begin: for each database every five seconds, a few databases side by side.
 *
 * ```
 *   due ── a round begins ──> running ──> due 5 s after its begin     partial: at once
 *                                └──────> due after 1, 2, 4 … 60 s    it has failed
 * ```
 * A database that fails delays no other one, unless all lanes wait for the store.
 */
import type { Clock } from '#base';
import type { Archiver } from './archiver.ts';

/** So that a recovery point is at most 10 s old. */
const PERIOD_MS = 5_000;
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 60_000;
const LANES = 4;

export interface DriverPorts<Database> {
  readonly open: (database: Database) => Pick<Archiver, 'round' | 'lagBytes'>;
  readonly monotonicMs: () => number;
  readonly clock: Clock;
  /** A round has failed; `isFirst`: the one before had not. */
  readonly onFailure: (database: Database, failure: unknown, isFirst: boolean) => void;
  /** A round has succeeded, and the one before had failed. */
  readonly onRecovered: (database: Database) => void;
}

/** Progress of the archive of a database. */
export interface ArchiveProgress {
  readonly name: string;
  /** The recovery point: begin of the last round that archived everything; at first that of following the database. */
  readonly successMs: number;
  /** At the begin or end of the last round. */
  readonly lagBytes: number;
}

interface Task<Database> {
  readonly database: Database;
  readonly archiver: Pick<Archiver, 'round' | 'lagBytes'>;
  isRunning: boolean;
  dueMs: number;
  lagBytes: number;
  /** Failures since the last success. */
  failures: number;
  successMs: number;
}

export class ArchiveDriver<Database extends { readonly id: string; readonly name: string }> {
  readonly #ports: DriverPorts<Database>;
  #tasks = new Map<string, Task<Database>>();
  readonly #running = new Set<Promise<void>>();

  constructor(ports: DriverPorts<Database>) {
    this.#ports = ports;
  }

  /** Archives these databases from now on, and no others. Rounds of others end as they end. */
  follow(databases: readonly Database[]): void {
    const known = this.#tasks;
    this.#tasks = new Map(databases.map((each) => [each.id, known.get(each.id) ?? this.#taskOf(each)]));
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
  progress(count: number): readonly ArchiveProgress[] {
    const worst = [...this.#tasks.values()].toSorted((one, other) => one.successMs - other.successMs);
    return worst.slice(0, count).map(({ database: { name }, successMs, lagBytes }) => ({ name, successMs, lagBytes }));
  }

  #taskOf(database: Database): Task<Database> {
    const { open, monotonicMs, clock } = this.#ports;
    const state = { isRunning: false, dueMs: monotonicMs(), lagBytes: 0, failures: 0, successMs: clock.nowMs() };
    return { database, archiver: open(database), ...state };
  }

  /** Never rejects. */
  async #round(task: Task<Database>, begunMs: number): Promise<void> {
    const { monotonicMs, clock, onFailure, onRecovered } = this.#ports;
    const beganMs = clock.nowMs();
    const { database, archiver } = task;
    const isFollowed = (): boolean => this.#tasks.get(database.id) === task;
    try {
      task.lagBytes = await archiver.lagBytes();
      const round = await archiver.round();
      task.lagBytes = await archiver.lagBytes();
      if (round === 'archived' || round === 'current') task.successMs = beganMs;
      task.dueMs = round === 'partial' ? begunMs : begunMs + PERIOD_MS;
      if (task.failures > 0 && isFollowed()) onRecovered(database);
      task.failures = 0;
    } catch (failure) {
      task.dueMs = monotonicMs() + Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** task.failures);
      task.failures += 1;
      // The rows of a deleted database go while they are read.
      if (isFollowed()) onFailure(database, failure, task.failures === 1);
    } finally {
      task.isRunning = false;
    }
  }
}
