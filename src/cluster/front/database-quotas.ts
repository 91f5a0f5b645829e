/**
 * Quotas of databases: measures the size of each in the store of this node, and refuses writes to a database above its
 * quota.
 *
 * The measure is the size of its history and LevelDB's estimate of its rows, every two seconds, so a database may
 * exceed its quota by the writes of that time and by the write buffer. Every node with a replica refuses by itself.
 * Reads and the deletion of the database are always allowed. An exact name has precedence over patterns, and a longer
 * pattern over shorter ones.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError, type GroupId } from '#base';
import { RowKeys } from '#database';
import type { KvStore } from '#kv';
import { isNamedBy } from '#model';
import type { Logger, Metrics } from '#observability';
import type { Binding } from '../outcome.ts';
import { titleOf } from '../refusals.ts';

/** Quota on each node for databases whose name matches the pattern, as in grants. */
export interface DatabaseQuota {
  readonly pattern: string;
  readonly bytes: number;
}

export interface QuotaPorts {
  readonly quotas: readonly DatabaseQuota[];
  readonly store: Pick<KvStore, 'approximateSize' | 'historySize'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Source of the names of databases. */
type Names = { list(): readonly Pick<Binding, 'group' | 'name'>[] };

const MEASURE_EVERY_MS = 2_000;
const MIB = 2 ** 20;
/** Above the length of any pattern. */
const RANK_OF_NAMES = 128;

export class DatabaseQuotas {
  readonly #ports: QuotaPorts;
  /** Sorted by precedence. */
  readonly #quotas: readonly DatabaseQuota[];
  /** Cache of the quota by database name; cleared with each measurement. */
  readonly #bytesByName = new Map<string, number | undefined>();
  readonly #closing = new AbortController();
  #sizes: ReadonlyMap<GroupId, number> = new Map();
  #watching: Promise<void> = Promise.resolve();

  constructor(ports: QuotaPorts) {
    this.#ports = ports;
    this.#quotas = ports.quotas.toSorted((one, other) => rankOf(other) - rankOf(one));
  }

  /** Measures periodically, if there is any quota. */
  watch(catalog: Names): void {
    if (this.#quotas.length > 0) this.#watching = this.#measureAlways(catalog);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
  }

  /** Reason to refuse writes to the database; undefined while it is within its quota. */
  readonly refusalOf = (group: GroupId, name: string | undefined): DatabaseError | undefined => {
    const quota = this.#quotaOf(name);
    const bytes = this.#sizes.get(group) ?? 0;
    return quota === undefined || bytes < quota ? undefined : quotaExceeded(name, bytes, quota);
  };

  /** Measures every database of the catalog once. */
  async measure(catalog: Names): Promise<void> {
    const { store, logger, metrics } = this.#ports;
    const sizes = new Map<GroupId, number>();
    this.#bytesByName.clear();
    for (const { group, name } of catalog.list()) {
      if (this.#closing.signal.aborted) return;
      const { gte, lt } = new RowKeys(group).all();
      const bytes = (await store.approximateSize(gte, lt)) + (await store.historySize(group));
      sizes.set(group, bytes);
      const quotaBytes = this.#quotaOf(name);
      const isNew = quotaBytes !== undefined && bytes >= quotaBytes && (this.#sizes.get(group) ?? 0) < quotaBytes;
      if (isNew) logger.warn('database-quota-reached', { database: name, bytes, quotaBytes });
    }
    this.#sizes = sizes;
    const listed = catalog.list();
    const series = (valueOf: (each: (typeof listed)[number]) => number | undefined) =>
      listed.flatMap((each) => {
        const value = valueOf(each);
        return value === undefined ? [] : [{ labels: { database: each.name }, value }];
      });
    metrics.setSeries(
      'cairn_database_size_bytes',
      series(({ group }) => sizes.get(group) ?? 0),
    );
    metrics.setSeries(
      'cairn_database_quota_bytes',
      series(({ name }) => this.#quotaOf(name)),
    );
  }

  async #measureAlways(catalog: Names): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.measure(catalog);
      } catch (error) {
        // Only logged: a damaged store is found by reads of clients. The last sizes stay.
        if (!signal.aborted) this.#ports.logger.warn('sizes-unknown', { error });
      }
      await delay(MEASURE_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #quotaOf(name = ''): number | undefined {
    const known = this.#bytesByName.get(name);
    if (known !== undefined || this.#bytesByName.has(name)) return known;
    const bytes = this.#quotas.find(({ pattern }) => isNamedBy(pattern, name))?.bytes;
    this.#bytesByName.set(name, bytes);
    return bytes;
  }
}

function rankOf({ pattern }: DatabaseQuota): number {
  return pattern.includes('*') ? pattern.length : RANK_OF_NAMES;
}

function quotaExceeded(name: string | undefined, bytes: number, quotaBytes: number): DatabaseError {
  const message = `The ${titleOf(name)} takes ${mebibytes(bytes)} of the disk, and its quota is ${mebibytes(quotaBytes)} (database-bytes-max): writes to it are refused; reads continue, and it can be deleted. Raise the quota, or write to another database`;
  return new DatabaseError('storage_full', message, { details: { reason: 'DatabaseQuota' } });
}

function mebibytes(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
