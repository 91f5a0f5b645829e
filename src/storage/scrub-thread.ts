/**
 * The scrub of LevelDB's tables on a thread of its own, as its user holds it: reading and summing a slice takes up to a
 * millisecond, which neither the clients' thread nor the core's has to give.
 *
 * The thread must not outlive the store, whose files it reads: `close` it first.
 */
import { Worker } from 'node:worker_threads';
import { fromFailureMessage } from './log-messages.ts';
import type { FromScrub, ScrubPace, StartScrub } from './scrub-messages.ts';

/** The worker stands beside this file, under the same extension: `.ts` from source, `.js` when built. */
const WORKER = new URL(import.meta.url.endsWith('.ts') ? './scrub-worker.ts' : './scrub-worker.js', import.meta.url);

const MEBIBYTE = 2 ** 20;
const MINUTE_MS = 60_000;
/** It needs little: an index at a time, and the MANIFEST. */
const YOUNG_GENERATION_MIB = 4;

const SCRUB_PACE: ScrubPace = {
  firstLookBytes: 32 * MEBIBYTE,
  roundBytes: MEBIBYTE,
  roundMs: 10 * MINUTE_MS,
  pollMs: 5000,
};

export interface ScrubListeners {
  readonly onVerified: (facts: { readonly bytes: number; readonly isWholeRound: boolean }) => void;
  /** Damage, or a bug; called once. */
  readonly onFailure: (failure: Error) => void;
}

export class ScrubThread {
  readonly #worker: Worker;
  #isEnded = false;

  /** Starts the thread over the directory of a store that is open. */
  constructor(directory: string, listeners: ScrubListeners, pace: Partial<ScrubPace> = {}) {
    const order: StartScrub = { directory, pace: { ...SCRUB_PACE, ...pace } };
    const fail = (failure: Error): void => {
      if (this.#isEnded) return;
      this.#isEnded = true;
      listeners.onFailure(failure);
    };
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB };
    this.#worker = new Worker(WORKER, { name: 'scrub', resourceLimits });
    this.#worker.on('message', (message: FromScrub) => {
      if (message.kind === 'failed') fail(fromFailureMessage(message.failure));
      else listeners.onVerified(message);
    });
    this.#worker.on('error', fail);
    this.#worker.on('exit', (code) => fail(new Error(`The thread of the scrub ended by itself, with code ${code}`)));
    this.#worker.postMessage(order, []);
  }

  async close(): Promise<void> {
    this.#isEnded = true;
    await this.#worker.terminate();
  }
}
