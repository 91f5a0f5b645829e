/**
 * The thread that archives the databases which this node leads, and the catalog if it leads that, in the front;
 * archive-worker.ts is the other side. The leader does it because there is one; two archivers at once, after a change,
 * do no harm (#archive).
 *
 * If the thread ends, it is started again a minute later: clients need no archive. The alert ArchiveLagging fires
 * meanwhile.
 */
import { Worker } from 'node:worker_threads';
import type { ArchiveProgress } from '#archive';
import { CATALOG_GROUP, DatabaseError, type GroupId } from '#base';
import type { Node } from '#cluster';
import type { Logger, Metrics } from '#observability';
import { encodeCatalog } from './archived-catalogs.ts';
import { type HeldDatabase, heldCatalog, heldDatabase } from './history-source.ts';

/** The databases to archive from now on; the catalog. */
export type ToArchive = readonly HeldDatabase[] | Uint8Array | 'close';

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
  readonly node: Pick<Node, 'catalog' | 'confirmedLatest' | 'identity' | 'leaderOf'>;
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
  /** Groups that the thread archives; undefined before it knows them. */
  #led: readonly GroupId[] | undefined;
  /** The thread has the catalog as it is now, or gets it. */
  #isCatalogSent = false;
  readonly #ignoreChanges: () => void;
  #isClosed = false;

  constructor(ports: ArchiveThreadPorts) {
    this.#ports = ports;
    this.#ignoreChanges = ports.node.catalog.onChange(() => (this.#isCatalogSent = false));
    this.#start();
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
  }

  /** The thread has the store open, so this comes before the end of the node. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#ignoreChanges();
    clearInterval(this.#looking);
    clearTimeout(this.#restarting);
    this.#post('close');
    await this.#exited;
  }

  #start(): void {
    const { storeDirectory, archive, writer, node } = this.#ports;
    const argv = [storeDirectory, archive, writer, String(node.identity.node)];
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB };
    const worker = new Worker(WORKER, { name: 'archive', argv, resourceLimits });
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
    this.#isCatalogSent = false;
    this.#look();
  }

  /** Sends the thread what this node leads, when it has changed. */
  #look(): void {
    const { node, writer } = this.#ports;
    const isLed = ({ group }: { readonly group: GroupId }): boolean => node.leaderOf(group)?.node === writer;
    const bindings = node.catalog.list().filter(isLed);
    const catalog = [heldCatalog(node.identity.clusterId)].filter(isLed);
    const led = [...catalog, ...bindings].map(({ group }) => group);
    const isSame = led.length === this.#led?.length && led.every((group, index) => group === this.#led?.[index]);
    if (this.#worker === undefined) return;
    if (catalog.length > 0 && !this.#isCatalogSent) void this.#sendCatalog();
    if (isSame) return;
    this.#led = led;
    this.#post([...catalog, ...bindings.map((binding) => heldDatabase(binding))]);
  }

  /** The copy here has everything up to the revision that the leader of the catalog confirms. */
  async #sendCatalog(): Promise<void> {
    const { node } = this.#ports;
    this.#isCatalogSent = true;
    try {
      const revision = await node.confirmedLatest(CATALOG_GROUP);
      this.#post(encodeCatalog({ revision, databases: node.catalog.list(), keys: node.catalog.apiKeys() }));
    } catch (failure) {
      // This node does not lead any more, or drains.
      if (!(failure instanceof DatabaseError)) throw failure;
      this.#isCatalogSent = false;
    }
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
