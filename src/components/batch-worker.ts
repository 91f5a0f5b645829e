/**
 * The thread that reads events and builds batches, beside the event loop of the node. batch-thread.ts is the other
 * side. Folds take turns slice by slice, as on the loop.
 *
 * It does not report the reason of a failure: the caller then reads on the loop, which reports it.
 */
import { parentPort } from 'node:worker_threads';
import { assert } from '#base';
import { DatabaseReader } from '#database';
import type { DatabaseSource } from '#query';
import { BATCHES_AHEAD, type FromBatches, memoryOf, type ToBatches } from './batch-messages.ts';
import { eventBatches } from './event-batches.ts';

export interface BatchSource {
  /** Everything but the group, which each request names. */
  readonly source: Omit<DatabaseSource, 'group'>;
  readonly close: () => Promise<void>;
}

/** Number of batches in flight; values of the SDK's shape use none. */
const SPARES_MAX = BATCHES_AHEAD + 2;

/** Number of batches that may be built for one fold. */
class Allowance {
  #left = BATCHES_AHEAD;
  #wake: (() => void) | undefined;
  /** Reusable buffers of previous batches. */
  readonly spares: ArrayBuffer[] = [];
  isEnded = false;

  more(memory: ArrayBuffer | undefined): void {
    this.#left++;
    if (memory !== undefined && this.spares.length < SPARES_MAX) this.spares.push(memory);
    this.#wake?.();
  }

  end(): void {
    this.isEnded = true;
    this.#wake?.();
  }

  /** Resolves when another batch may be built, or the fold has ended. */
  async take(): Promise<void> {
    while (this.#left === 0 && !this.isEnded) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#left--;
  }
}

/** A handle that does not show the revision would return only a part of the events (F8). */
function assertSees(database: DatabaseSource, at: number): void {
  const revision = new DatabaseReader(database).applied()?.revision ?? 0;
  assert(revision >= at, 'The store shows the revision that is read', { revision, at });
}

/** Main loop of the thread, until it receives `close`. */
export async function runBatches(open: () => Promise<BatchSource>): Promise<void> {
  const port = parentPort;
  assert(port !== null, 'The worker of batches is started as a thread');
  const post = (message: FromBatches, moved: readonly ArrayBuffer[] = []): void =>
    port.postMessage(message, [...moved]);
  const { source, close } = await open();
  const allowances = new Map<number, Allowance>();
  const running = new Set<Promise<void>>();

  const fold = async ({ fold: number, group, asked }: Extract<ToBatches, { kind: 'begin' }>): Promise<void> => {
    const allowance = new Allowance();
    allowances.set(number, allowance);
    try {
      const database = { ...source, group };
      assertSees(database, asked.at);
      for await (const batch of eventBatches(database, asked, () => allowance.spares.pop())) {
        await allowance.take();
        if (allowance.isEnded) return;
        post({ kind: 'batch', fold: number, batch }, [memoryOf(batch)]);
      }
      post({ kind: 'over', fold: number });
    } catch {
      post({ kind: 'failed', fold: number });
    } finally {
      allowances.delete(number);
    }
  };

  port.on('message', (message: ToBatches) => {
    if (message.kind === 'begin') {
      const begun = fold(message);
      running.add(begun);
      void begun.then(() => running.delete(begun));
    } else if (message.kind === 'more') allowances.get(message.fold)?.more(message.memory);
    else if (message.kind === 'end') allowances.get(message.fold)?.end();
    else {
      for (const allowance of allowances.values()) allowance.end();
      void Promise.all(running)
        .then(close)
        .then(() => port.close());
    }
  });
  post({ kind: 'open' });
}
