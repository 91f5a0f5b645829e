// The data directory of node 3 of a cluster of three after a shutdown, created from real files by the state machines
// and the log, without a process. The caller determines the applied entries and the log of each group.
import { join } from 'node:path';
import {
  CATALOG_GROUP,
  type DatabaseId,
  type GroupId,
  LEVELS,
  replicaOf,
  toDatabaseId,
  toGroupId,
  toLogIndex,
  toNodeId,
  toTerm,
} from '#base';
import type { Machine, NodeIdentity } from '#cluster';
import { type Binding, encodeCatalogEntry } from '#database';
import { type Membership, membershipOf } from '#raft';
import { type Checkpoint, Ledger, openLevelStore, RecordWriter, Wal } from '#storage';
import { databaseMachines } from '../../../src/cluster/database-machines.ts';
import { type LedgerStore, ledgerStore } from '../../../src/cluster/store/ledger-store.ts';
import {
  IDENTITY_KEY,
  trashKey,
  walIdentity,
  writeIdentity,
  writeTrash,
} from '../../../src/cluster/store/node-rows.ts';
import { databaseKit } from './machine-kit.ts';

export const TERM = 4;
const SEGMENT_BYTES = 1 << 20;
const CREATED_MS = 1_760_000_000_000;
const ALL = [1, 2, 3].map((node) => replicaOf(toNodeId(node)));

const CLUSTER_ID = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';
export const IDENTITY: NodeIdentity = {
  clusterId: CLUSTER_ID,
  storeId: storeOf(3),
  node: toNodeId(3),
  isLearner: false,
};

export function storeOf(node: number): string {
  return `0199a5c8-3c1e-7a2b-9f01-${String(node).padStart(12, '0')}`;
}

export function idOf(group: number): DatabaseId {
  return toDatabaseId(`0198c0de-0000-7000-8000-${String(group).padStart(12, '0')}`);
}

/** Difference between the recorded times of consecutive transactions. */
const PAUSE_MS = 1_000;

export interface WrittenDatabase {
  readonly group: GroupId;
  readonly name: string;
  readonly replicas?: Binding['replicas'];
  readonly texts: readonly string[];
  /** Number of applied texts, and of texts in the last checkpoint. Default: all. */
  readonly applied?: number;
  readonly checkpoint?: number;
}

export class StoppedDirectory implements AsyncDisposable {
  readonly store: LedgerStore;
  readonly wal: Wal;
  readonly #writer = new RecordWriter();

  static async begin(directory: string, identity: NodeIdentity = IDENTITY): Promise<StoppedDirectory> {
    const store = ledgerStore(await openLevelStore(join(directory, 'store')), await Ledger.open(directory));
    const batch = store.batch();
    batch.put(IDENTITY_KEY, writeIdentity(identity));
    await store.write(batch);
    const { wal } = Wal.open(join(directory, 'log'), { identity: walIdentity(identity), segmentBytes: SEGMENT_BYTES });
    return new StoppedDirectory(store, wal);
  }

  private constructor(store: LedgerStore, wal: Wal) {
    this.store = store;
    this.wal = wal;
  }

  /** Writes the entries of the catalog and applies the first `applied` of them. */
  async catalog(
    payloads: readonly Uint8Array[],
    applied: number = payloads.length,
    founders: Membership = membershipOf(ALL),
  ): Promise<void> {
    const machine = databaseMachines.openCatalog(this.store, founders);
    await this.#group(CATALOG_GROUP, machine, { payloads, applied, checkpoint: 0 });
  }

  async database(written: WrittenDatabase): Promise<void> {
    const { group, name, replicas = ALL, texts, applied = texts.length, checkpoint = applied } = written;
    const founded = { replicas, leaving: [], founders: replicas, placement: 0, isSettled: true, copies: 0 };
    const binding = { name, group, databaseId: idOf(group), createdAtMs: CREATED_MS, ...founded };
    const machine = databaseMachines.createDatabase(this.store, binding);
    const payloads = texts.map((text, at) => {
      const payload = databaseKit.payload(text);
      databaseMachines.stamp(payload, CREATED_MS + (at + 1) * PAUSE_MS);
      return payload;
    });
    await this.#group(group, machine, { payloads, applied, checkpoint });
  }

  /**
   * Copies rows of the origin into the recovered database, like a process that ends before the new log begins, or
   * before the origin is marked.
   */
  async copy(name: string, { isMarked = true }: { readonly isMarked?: boolean } = {}): Promise<void> {
    const binding = databaseMachines.openCatalog(this.store, membershipOf(ALL)).lookup(name);
    if (binding?.recovery === undefined) throw new Error(`${name} is not recovered`);
    await databaseMachines.copyOrigin(this.store, binding, () => true);
    const batch = this.store.batch();
    databaseMachines.recoverInto(batch, this.store, binding);
    if (isMarked) batch.put(trashKey(binding.recovery.group), writeTrash());
    await this.store.write(batch);
  }

  /** Begins the log of the copy with the next text, like a process that ends between two batches of the log. */
  beginLog(name: string, text: string): void {
    const binding = databaseMachines.openCatalog(this.store, membershipOf(ALL)).lookup(name);
    const mark = binding && databaseMachines.markOf(this.store, binding.group);
    if (binding === undefined || mark === undefined) throw new Error(`${name} has no rows`);
    this.#writer.hardState(binding.group, { term: mark.term, vote: 0 });
    this.#writer.logStart(binding.group, { ...mark, history: this.store.historyEnd(binding.group) });
    const index = toLogIndex(mark.index + 1);
    this.#writer.entry(binding.group, { index, term: mark.term, payload: databaseKit.payload(text) });
    this.wal.append([this.#writer.take()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wal.close();
    await this.store.close();
  }

  /** Entry 1 is the leader's own. Pages end at the checkpoint and at the applied index. */
  async #group(
    group: GroupId,
    machine: Machine,
    { payloads, applied, checkpoint }: { payloads: readonly Uint8Array[]; applied: number; checkpoint: number },
  ): Promise<void> {
    const term = toTerm(TERM);
    const all = [new Uint8Array(0), ...payloads];
    const entries = all.map((payload, at) => ({ index: toLogIndex(at + 1), term, payload }));
    const written = [entries.slice(0, checkpoint + 1), entries.slice(checkpoint + 1, applied + 1)];
    const marks: Checkpoint[] = [];
    for (const some of written) {
      for (const entry of some) machine.apply({ ...entry, answers: [] });
      const batch = this.store.batch();
      machine.flushInto(batch);
      await this.store.write(batch);
      machine.flushed();
      marks.push({ ...machine.applied, history: this.store.historyEnd(group) });
    }
    this.#writer.hardState(group, { term, vote: replicaOf(toNodeId(1)) });
    for (const entry of entries) this.#writer.entry(group, entry);
    const [mark] = marks;
    if (checkpoint > 0 && mark !== undefined) this.#writer.checkpoint(group, mark);
    this.wal.append([this.#writer.take()]);
  }
}

export function registerEntry(node: number, port = 0): Uint8Array {
  return encodeCatalogEntry({
    kind: 'register',
    registration: {
      storeId: storeOf(node),
      name: `node-${node}`,
      zone: '',
      peer: { host: '127.0.0.1', port },
      grpc: '',
      http: '',
      levels: LEVELS,
      isLearner: false,
    },
  });
}

/** Entry that creates the database of this group. */
export function createEntry(group: number, name: string, replicas: Binding['replicas'] = ALL): Uint8Array {
  const databaseId = idOf(group);
  return encodeCatalogEntry({ kind: 'create', name, databaseId, createdAtMs: CREATED_MS, replicas, copies: 0 });
}

export function groupOf(group: number): GroupId {
  return toGroupId(group);
}
