// A database state machine with the work of its owner: it applies entries in order, flushes in two steps, answers
// `needs`, and restarts, which loses unwritten rows and applies the log again.
import { createHash } from 'node:crypto';
import { type DatabaseId, NO_BYTES, type Sha256, toDatabaseId, toGroupId, toLogIndex, toTerm } from '#base';
import {
  type Applied,
  DatabaseMachine,
  DatabaseReader,
  type DatabaseSource,
  type DefinitionOutcome,
  type DurablePoint,
  encodePoint,
  HistoryExport,
  HistoryImport,
  type MachineOptions,
  rebuildDerived,
  type TransactOutcome,
} from '#database';
import type { KvBatch, KvStore } from '#kv';
import { definesSomething } from '#model';
import { memoryKv } from './memory-kv.ts';

export const sha256: Sha256 = (parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
};

export const DATABASE_ID: DatabaseId = toDatabaseId('0198c0de-0000-7000-8000-00000000beef');
export const CREATED_AT_MS = 1_700_000_000_000;

export function sourceOf(kv: KvStore, group: number = 7): DatabaseSource {
  return { kv, group: toGroupId(group), sha256 };
}

export const noSync = async (): Promise<void> => undefined;

export type DurableState = Applied & DurablePoint;

/** The state with what the checkpoint record of the log has of it. */
export function durableAt(applied: Applied): DurableState {
  return { ...applied, history: { end: applied.end, crc: 0 } };
}

/** Makes the rows of a database again, as of a durable state. */
export async function rebuild(
  { kv, source }: Pick<DatabaseHost, 'kv' | 'source'>,
  durable: DurableState,
  options: {
    readonly segmentBytes?: number;
    readonly syncStore?: () => Promise<void>;
    readonly mayContinue?: () => boolean;
  } = {},
): Promise<void> {
  const { membership } = durable.group;
  await rebuildDerived(kv, source, {
    durable,
    created: { ...durable, membership },
    syncStore: noSync,
    mayContinue: () => true,
    ...options,
  });
}

/** The history of a database, starting after what the replica has. */
export function historyFor({ source }: DatabaseHost, to: DatabaseHost): HistoryExport {
  const history = HistoryExport.open(source, encodePoint(to.machine.applied));
  if (typeof history === 'string') throw new Error(history);
  return history;
}

/** Sends the history to a replica in parts of at most this many bytes, and runs a function after each part. */
export async function takeOver(
  history: HistoryExport,
  to: DatabaseHost,
  bytesMax: number,
  after: (index: number) => Promise<void> = async () => undefined,
): Promise<void> {
  const check = new HistoryImport(to.source, to.machine.applied);
  for (let isLast = false; !isLast; ) {
    const part = await history.next(bytesMax);
    const checked = check.take(part.data);
    if (typeof checked === 'string') throw new Error(checked);
    to.machine.install(checked, part.last, history.group);
    if (to.machine.appliedIndex !== part.last.index) throw new Error(`it is at ${to.machine.appliedIndex}`);
    await after(part.last.index);
    ({ isLast } = part);
  }
}

export class DatabaseHost {
  readonly kv: KvStore;
  readonly source: DatabaseSource;
  machine: DatabaseMachine;
  readonly #options: MachineOptions;
  readonly #log: Uint8Array[] = [];
  readonly #outcomes: (TransactOutcome | DefinitionOutcome)[] = [];
  #batch: KvBatch | undefined;

  constructor(options: MachineOptions = {}, kv: KvStore = memoryKv()) {
    this.kv = kv;
    this.source = sourceOf(kv);
    this.#options = options;
    this.machine = DatabaseMachine.create(
      this.source,
      { databaseId: DATABASE_ID, createdAtMs: CREATED_AT_MS, membership: NO_BYTES },
      options,
    );
  }

  /** A reader of the stored rows. */
  reader(): DatabaseReader {
    return new DatabaseReader(this.source);
  }

  /** The stored revision. */
  get storedRevision(): number {
    return this.reader().applied()?.revision ?? 0;
  }

  async apply(payload: Uint8Array): Promise<TransactOutcome> {
    this.#log.push(payload);
    const outcome = await this.#applyAt(this.#log.length, payload);
    this.#outcomes.push(outcome);
    return outcome;
  }

  define(payload: Uint8Array): DefinitionOutcome {
    this.#log.push(payload);
    const outcome = this.#defineAt(this.#log.length, payload);
    this.#outcomes.push(outcome);
    return outcome;
  }

  /** Collects the rows to write, without writing them yet. */
  beginFlush(): void {
    if (this.#batch !== undefined) return;
    this.#batch = this.kv.batch();
    this.machine.flushInto(this.#batch);
  }

  async endFlush(): Promise<void> {
    if (this.#batch === undefined) return;
    await this.kv.write(this.#batch);
    this.#batch = undefined;
    this.machine.flushed();
  }

  async flush(): Promise<void> {
    await this.endFlush();
    this.beginFlush();
    await this.endFlush();
  }

  /**
   * Reopens from the store and applies the rest of the log. Returns the entries with another outcome than before, which
   * must be none.
   */
  async reopen(warm: boolean): Promise<readonly number[]> {
    this.#batch = undefined;
    const { databaseId, createdAtMs, group } = this.machine.applied;
    const { membership } = group;
    this.machine =
      DatabaseMachine.open(this.source, this.#options) ??
      DatabaseMachine.create(this.source, { databaseId, createdAtMs, membership }, this.#options);
    if (warm) await this.machine.warm();
    const different: number[] = [];
    for (let index = this.machine.appliedIndex + 1; index <= this.#log.length; index++) {
      const payload = this.#log[index - 1] ?? new Uint8Array(0);
      const defines = definesSomething(payload);
      const outcome = defines ? this.#defineAt(index, payload) : await this.#applyAt(index, payload);
      if (JSON.stringify(outcome) !== JSON.stringify(this.#outcomes[index - 1])) different.push(index);
    }
    return different;
  }

  #defineAt(index: number, payload: Uint8Array): DefinitionOutcome {
    return this.machine.define({ index: toLogIndex(index), term: toTerm(1), payload });
  }

  async #applyAt(index: number, payload: Uint8Array): Promise<TransactOutcome> {
    const needs = this.machine.needs(payload);
    if (needs.length > 0) await this.flush();
    const answers = await this.machine.answer(needs);
    return this.machine.transact({ index: toLogIndex(index), term: toTerm(1), payload, answers });
  }
}
