/**
 * The scrub of LevelDB's tables and sealed segments on a thread of its own: reading and verifying a slice takes up to a
 * millisecond, too long for the front thread and the core thread. It starts with the first table: a thread takes about
 * 12 MiB, and a store without tables has no work for it.
 *
 * The thread must not outlive the store, whose files it reads: `close` it first.
 */
import { readdirSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { fromFailureMessage } from './log-messages.ts';
import type { FromScrub, ScrubPace, StartScrub } from './scrub-messages.ts';

/** The worker is beside this file, with the same extension: `.ts` from source, `.js` when built. */
const WORKER = new URL(import.meta.url.endsWith('.ts') ? './scrub-worker.ts' : './scrub-worker.js', import.meta.url);

const MEBIBYTE = 2 ** 20;
const MINUTE_MS = 60_000;
/** It needs little: an index at a time, and the MANIFEST. */
const YOUNG_GENERATION_MIB = 4;
const TABLE_SUFFIX = '.ldb';

const SCRUB_PACE: ScrubPace = {
  firstLookBytes: 32 * MEBIBYTE,
  roundBytes: MEBIBYTE,
  roundMs: 10 * MINUTE_MS,
  pollMs: 5000,
};

export interface ScrubbedStore {
  readonly directory: string;
  /** Tables that were verified before the store was opened; default none. */
  readonly seen?: readonly number[];
}

export interface ScrubListeners {
  readonly onVerified: (facts: { readonly bytes: number; readonly isWholeRound: boolean }) => void;
  /** Damage, or a bug; called once. */
  readonly onFailure: (failure: Error) => void;
}

export class ScrubThread {
  readonly #order: StartScrub;
  readonly #listeners: ScrubListeners;
  readonly #waiting: NodeJS.Timeout;
  #worker: Worker | undefined;
  #isEnded = false;

  /** Looks through the tables of a store that is open, from now on or from its first table on. */
  constructor({ directory, seen = [] }: ScrubbedStore, listeners: ScrubListeners, pace: Partial<ScrubPace> = {}) {
    this.#order = { directory, seen, pace: { ...SCRUB_PACE, ...pace } };
    this.#listeners = listeners;
    this.#waiting = setInterval(() => this.#startWhenNeeded(), this.#order.pace.pollMs);
    this.#startWhenNeeded();
  }

  /** False until there is a table. */
  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  async close(): Promise<void> {
    this.#isEnded = true;
    clearInterval(this.#waiting);
    await this.#worker?.terminate();
  }

  #startWhenNeeded(): void {
    if (!hasTable(this.#order.directory)) return;
    clearInterval(this.#waiting);
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB };
    const worker = new Worker(WORKER, { name: 'scrub', resourceLimits });
    worker.on('message', (message: FromScrub) => {
      if (message.kind === 'failed') this.#fail(fromFailureMessage(message.failure));
      else this.#listeners.onVerified(message);
    });
    worker.on('error', (failure: Error) => this.#fail(failure));
    worker.on('exit', (code) => this.#fail(new Error(`The thread of the scrub ended by itself, with code ${code}`)));
    worker.postMessage(this.#order, []);
    this.#worker = worker;
  }

  #fail(failure: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#listeners.onFailure(failure);
  }
}

/** A directory that cannot be read just now, as when there are no descriptors left, is looked into again. */
function hasTable(directory: string): boolean {
  try {
    return readdirSync(directory).some((name) => name.endsWith(TABLE_SUFFIX));
  } catch (failure) {
    if (failure instanceof Error && 'syscall' in failure) return false;
    throw failure;
  }
}
