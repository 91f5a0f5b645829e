/**
 * The thread that archives the databases which this node leads, in the front; archive-worker.ts is the other side. The
 * leader does it because there is one; two archivers at once, after a change, do no harm (#archive).
 *
 * If the thread ends, it is started again a minute later: clients need no archive. The alert ArchiveLagging fires
 * meanwhile.
 */
import { Worker } from 'node:worker_threads';
import type { ArchiveProgress } from '#archive';
import type { Binding, Node } from '#cluster';
import type { Logger, Metrics } from '#observability';
import { type HeldDatabase, heldDatabase } from './history-source.ts';

/** The databases to archive from now on. */
export type ToArchive = readonly HeldDatabase[] | 'close';

export type FromArchive =
  /** Bytes and failures since the last message. */
  | {
      readonly kind: 'progress';
      readonly progress: readonly ArchiveProgress[];
      readonly storedBytes: number;
      readonly failures: number;
    }
  | { readonly kind: 'failing'; readonly database: string; readonly message: string }
  | { readonly kind: 'recovered'; readonly database: string };

export interface ArchiveThreadPorts {
  readonly storeDirectory: string;
  readonly archive: string;
  /** Name of this node. */
  readonly writer: string;
  readonly node: Pick<Node, 'catalog' | 'leaderOf'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const LOOK_MS = 1_000;
const RESTART_MS = 60_000;
const MS_PER_SECOND = 1_000;
/** Objects are not on the heap. */
const YOUNG_GENERATION_MIB = 8;
/** Beside this file, with the same extension: `.ts` from source, `.js` when built. */
const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? './archive-worker.ts' : './archive-worker.js',
  import.meta.url,
);

export class ArchiveThread implements AsyncDisposable {
  readonly #ports: ArchiveThreadPorts;
  readonly #looking: NodeJS.Timeout;
  #worker: Worker | undefined;
  #exited: Promise<void> = Promise.resolve();
  #restarting: NodeJS.Timeout | undefined;
  /** Databases that the thread archives; undefined before it knows them. */
  #led: readonly Binding[] | undefined;
  #isClosed = false;

  constructor(ports: ArchiveThreadPorts) {
    this.#ports = ports;
    this.#start();
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
  }

  /** The thread has the store open, so this comes before the end of the node. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#looking);
    clearTimeout(this.#restarting);
    this.#post('close');
    await this.#exited;
  }

  #start(): void {
    const { storeDirectory, archive, writer } = this.#ports;
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB };
    const worker = new Worker(WORKER, { name: 'archive', argv: [storeDirectory, archive, writer], resourceLimits });
    worker.on('message', (message: FromArchive) => this.#take(message));
    worker.on('error', (error: Error) => this.#ports.logger.error('archive-thread-failed', { error }));
    this.#exited = new Promise((resolve) => {
      worker.on('exit', () => {
        this.#worker = undefined;
        if (!this.#isClosed) this.#restarting = setTimeout(() => this.#start(), RESTART_MS);
        resolve();
      });
    });
    this.#worker = worker;
    this.#led = undefined;
    this.#look();
  }

  /** Sends the thread the databases that this node leads, when they have changed. */
  #look(): void {
    const { node, writer } = this.#ports;
    const led = node.catalog.list().filter(({ group }) => node.leaderOf(group)?.node === writer);
    const isSame = led.length === this.#led?.length && led.every((binding, index) => binding === this.#led?.[index]);
    if (isSame || this.#worker === undefined) return;
    this.#led = led;
    this.#post(led.map((binding) => heldDatabase(binding)));
  }

  #post(message: ToArchive): void {
    this.#worker?.postMessage(message, []);
  }

  #take(message: FromArchive): void {
    const { logger, metrics } = this.#ports;
    const { kind, ...fields } = message;
    if (kind === 'failing') logger.warn('archive-failing', fields);
    else if (kind === 'recovered') logger.info('archive-recovered', fields);
    if (message.kind !== 'progress') return;
    metrics.counter('cairn_archive_bytes_total', {}).add(message.storedBytes);
    metrics.counter('cairn_archive_failures_total', {}).add(message.failures);
    const seriesOf = (value: (each: ArchiveProgress) => number): { labels: { database: string }; value: number }[] =>
      message.progress.map((each) => ({ labels: { database: each.name }, value: value(each) }));
    metrics.setSeries(
      'cairn_archive_last_success_timestamp_seconds',
      seriesOf(({ successMs }) => successMs / MS_PER_SECOND),
    );
    metrics.setSeries(
      'cairn_archive_lag_bytes',
      seriesOf(({ lagBytes }) => lagBytes),
    );
  }
}
