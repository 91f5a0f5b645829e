/**
 * The scrub (scrub.ts) on a thread of its own: reading and summing a slice takes some milliseconds, which is too long
 * for the threads of clients and core. It begins with the first table of LevelDB, because a thread takes about 30 MiB,
 * and a store without tables has nothing that an earlier process has written. Damaged rows end the process.
 */
import { Worker } from 'node:worker_threads';
import { DatabaseError, type GroupId } from '#base';
import type { Logger, Metrics } from '#observability';
import { hasTable } from '../store/silent-ends.ts';
import { type SentFailure, unpackFailure } from '../thread/core-thread-messages.ts';
import { stopProcess } from './fatal.ts';
import type { ScrubPace, Verified } from './scrub.ts';

/** The first message to the thread. The second one, whatever it is, closes it. */
export interface ScrubOrder {
  readonly storeDirectory: string;
  readonly pace: ScrubPace;
}

export type FromScrub =
  | { readonly kind: 'verified'; readonly verified: Verified }
  | { readonly kind: 'damaged'; readonly failure: SentFailure; readonly revisions: readonly number[] }
  | { readonly kind: 'failed'; readonly failure: SentFailure };

export interface ScrubThreadPorts {
  readonly storeDirectory: string;
  readonly pace?: Partial<ScrubPace> | undefined;
  readonly onVerified: (verified: Verified) => void;
  /** A segment is damaged, and transactions of these revisions cannot be read; called in each round. */
  readonly onDamaged: (fault: Error, revisions: readonly number[]) => void;
  /** Damage of rows, or a bug; called once. */
  readonly onFailure: (failure: Error) => void;
}

const MEBIBYTE = 2 ** 20;
const MINUTE_MS = 60_000;
const MS_PER_SECOND = 1000;
const TABLE_POLL_MS = 5000;
/** It needs little: a slice of rows at a time. */
const YOUNG_GENERATION_MIB = 4;
/** Beside this file, with the same extension: `.ts` from source, `.js` when built. */
const WORKER = new URL(import.meta.url.endsWith('.ts') ? './scrub-worker.ts' : './scrub-worker.js', import.meta.url);

/** A MiB of rows takes about 50 ms of processor, one of segments about 1 ms. */
const PACE: ScrubPace = {
  auditBytes: 8 * MEBIBYTE,
  rowBytes: MEBIBYTE / 4,
  segmentBytes: MEBIBYTE,
  roundMs: 10 * MINUTE_MS,
  repeatMs: 5000,
};

export interface StoreWatchPorts {
  readonly dataDirectory: string;
  readonly storeDirectory: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly pace?: Partial<ScrubPace> | undefined;
  /** The history of this database is damaged; called in each round. */
  readonly onDamaged: (group: GroupId) => void;
}

const REVISIONS_LOGGED = 1000;
const SEGMENT_ADVICE =
  'the transactions of these revisions cannot be read on this node, and everything else can. Check the disk. Two other replicas replace this one by themselves; without them, restore the database (docs/operations/runbooks/store-corruption.md)';

/** Starts the scrub. Close it before the store. */
export function watchStore(ports: StoreWatchPorts): ScrubThread {
  const { dataDirectory, storeDirectory, logger, metrics, pace } = ports;
  const bytes = metrics.counter('cairn_store_scrub_bytes_total', {});
  const round = metrics.gauge('cairn_store_scrub_round_timestamp_seconds', {});
  const segments = metrics.gauge('cairn_segments_damaged', {});
  segments.set(0);
  let damaged = 0;
  return new ScrubThread({
    storeDirectory,
    pace,
    onVerified: (verified) => {
      bytes.add(verified.bytes);
      if (!verified.isWholeRound) return;
      round.set(Date.now() / MS_PER_SECOND);
      segments.set(damaged);
      damaged = 0;
    },
    onDamaged: (error, revisions) => {
      damaged += 1;
      segments.set(damaged);
      const named = { count: revisions.length, revisions: revisions.slice(0, REVISIONS_LOGGED) };
      logger.error('segment-damaged', { error, ...named, advice: SEGMENT_ADVICE });
      const group = error instanceof DatabaseError ? error.details.damaged : undefined;
      if (group !== undefined) ports.onDamaged(group);
    },
    onFailure: (failure) => stopProcess({ logger, dataDirectory }, 'scrub', failure),
  });
}

export class ScrubThread {
  readonly #ports: ScrubThreadPorts;
  readonly #waiting: NodeJS.Timeout;
  #worker: Worker | undefined;
  #exited: Promise<void> | undefined;
  #isEnded = false;

  constructor(ports: ScrubThreadPorts) {
    this.#ports = ports;
    this.#waiting = setInterval(() => this.#startWhenNeeded(), TABLE_POLL_MS);
    this.#startWhenNeeded();
  }

  /** The thread has the store open, so this comes before the end of the process. */
  async close(): Promise<void> {
    this.#isEnded = true;
    clearInterval(this.#waiting);
    this.#worker?.postMessage('close', []);
    await this.#exited;
  }

  #startWhenNeeded(): void {
    const { storeDirectory, pace, onVerified, onDamaged } = this.#ports;
    if (!hasTable(storeDirectory)) return;
    clearInterval(this.#waiting);
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB };
    const worker = new Worker(WORKER, { name: 'scrub', resourceLimits });
    worker.on('message', (message: FromScrub) => {
      if (message.kind === 'failed') this.#fail(unpackFailure(message.failure));
      else if (message.kind === 'damaged') onDamaged(unpackFailure(message.failure), message.revisions);
      else onVerified(message.verified);
    });
    worker.on('error', (failure: Error) => this.#fail(failure));
    this.#exited = new Promise((resolve) => {
      worker.on('exit', (code) => {
        this.#fail(new Error(`The thread of the scrub ended by itself, with code ${code}`));
        resolve();
      });
    });
    const order: ScrubOrder = { storeDirectory, pace: { ...PACE, ...pace } };
    worker.postMessage(order, []);
    this.#worker = worker;
  }

  #fail(failure: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#ports.onFailure(failure);
  }
}
