/**
 * Founds a new cluster of one node with histories from elsewhere, such as an archive, in a directory without a node.
 *
 * ```
 *   <data>/restoring    a whole data directory: store, log, ledger; a start refuses <data>
 *     ── store and log are moved to <data> ──>     still refused
 *     ── the ledger is moved to <data> ──>         it is a node
 * ```
 * Each database is another instance of the original one, as after any recovery (ADR 0045): with its history, and with
 * its chain of hashes. Records are checked and installed like those that another replica sends. A repetition begins
 * again until the ledger has its place.
 */
import { existsSync } from 'node:fs';
import {
  assert,
  CATALOG_GROUP,
  compareBytes,
  DatabaseError,
  type DatabaseId,
  type GroupId,
  LEVELS,
  type Random,
  type Revision,
  replicaOf,
  toDatabaseId,
  toHex,
  toLogIndex,
  toRevision,
  toTerm,
  uuidv7,
} from '#base';
import { type Binding, type CatalogEntry, CatalogMachine, type CutPoint, HistoryCut } from '#database';
import { NO_HISTORY } from '#kv';
import type { ApiKey } from '#model';
import { encodeMembership } from '#raft';
import { isLevelStoreInUse, Ledger, ledgerIn, openLevelStore, RecordWriter, Wal } from '#storage';
import { databaseMachines } from '../database-machines.ts';
import { FIRST_NODE, FOUNDERS, type NodeIdentity } from '../node.ts';
import { clockFault } from '../refusals.ts';
import { restoringIn, storeDirectoryOf } from '../store/data-directory.ts';
import { type LedgerStore, ledgerStore } from '../store/ledger-store.ts';
import { logDirectoryOf, nodePlaces } from '../store/next-log.ts';
import { IDENTITY_KEY, walIdentity, writeIdentity } from '../store/node-rows.ts';
import { makeWritableDirectory } from '../store/usable-files.ts';
import { nativeSha256 } from '../system-ports.ts';

export interface DatabaseToRestore {
  readonly name: string;
  readonly createdAtMs: number;
  /** The original instance, and the one that its history began with. */
  readonly databaseId: DatabaseId;
  readonly rootId: DatabaseId;
  /** Its history, from position 0 on. All of it is read. */
  readonly history: AsyncIterable<Uint8Array>;
  /** Records behind it are dropped. */
  readonly point: CutPoint;
  /** The chain hash at the point, where it is known. */
  readonly chainHash: Uint8Array | undefined;
}

export interface RestoredDatabase {
  readonly name: string;
  readonly databaseId: DatabaseId;
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
}

export interface RestoringPorts {
  readonly nowMs: number;
  readonly random: Random;
  /** API keys of the cluster that the databases are of. */
  readonly keys?: readonly ApiKey[];
}

export interface Restored {
  readonly identity: NodeIdentity;
  readonly databases: readonly RestoredDatabase[];
}

const LOG_SEGMENT_BYTES = 16 * 2 ** 20;
/** Bytes of records that are installed at a time. */
const SLICE_BYTES = 2 ** 20;
const NO_HASH = new Uint8Array(32);
const FIRST_TERM = toTerm(1);

/**
 * @throws DatabaseError when the directory has a node, or a history is not whole; StorageFailure when the disk fails
 */
export async function restoreNode(
  directory: string,
  databases: readonly DatabaseToRestore[],
  { nowMs, random, keys = [] }: RestoringPorts,
): Promise<Restored> {
  const fault = clockFault(nowMs);
  if (fault !== undefined) throw fault;
  const twice = databases.find(({ name }, index) => databases.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) {
    throw new DatabaseError('invalid_argument', `Two databases have the name ${twice.name}; restore one of them`);
  }
  const place = await emptyPlace(directory);
  const mint = (): string => uuidv7(nowMs, random);
  const identity = { clusterId: mint(), storeId: mint(), node: FIRST_NODE, isLearner: false };
  const instances = databases.map((database) => ({ ...database, instanceId: toDatabaseId(mint()) }));
  const store = ledgerStore(await openLevelStore(storeDirectoryOf(place)), await Ledger.open(place));
  const writer = new RecordWriter();
  const states = new Map<string, RestoredDatabase>();
  try {
    const named = catalogOf(store, instances, states, keys);
    for (const database of instances) {
      const { name, instanceId } = database;
      const binding = named.lookup(name);
      assert(binding !== undefined, 'The catalog has every database', name);
      const state = await restoreHistory(store, binding, database);
      states.set(name, { name, databaseId: instanceId, ...state });
      writeLog(writer, store, binding.group);
    }
    const catalog = catalogOf(store, instances, states, keys);
    const { term } = catalog.applied;
    writer.hardState(CATALOG_GROUP, { term, vote: 0 });
    writer.logStart(CATALOG_GROUP, { ...catalog.applied, history: NO_HISTORY });
    const batch = store.batch();
    batch.put(IDENTITY_KEY, writeIdentity(identity));
    catalog.flushInto(batch);
    await store.write(batch);
    await store.checkpointFiles();
  } finally {
    await store.close();
  }
  await makeLog(place, identity, writer);
  moveInto(directory, place);
  return { identity, databases: [...states.values()] };
}

/** The directory in which the node is made. Removes everything that an interrupted attempt has left. */
async function emptyPlace(directory: string): Promise<string> {
  const place = restoringIn(directory);
  const parts = [storeDirectoryOf(directory), logDirectoryOf(directory)];
  const isInterrupted = existsSync(place) && !existsSync(ledgerIn(directory));
  const taken = [ledgerIn(directory), ...(isInterrupted ? [] : parts)].find((path) => existsSync(path));
  if (taken !== undefined) {
    const message = `${taken} exists: the data directory belongs to a node. Name a directory that does not exist or is empty`;
    throw new DatabaseError('invalid_argument', message);
  }
  await makeWritableDirectory(directory);
  if (await isLevelStoreInUse(storeDirectoryOf(place))) {
    throw new DatabaseError('unavailable', `Another process restores into ${directory}; wait for it`);
  }
  for (const part of parts) nodePlaces.remove(part);
  nodePlaces.remove(place);
  await makeWritableDirectory(place);
  nodePlaces.syncDirectory(directory);
  return place;
}

/** The ledger last: it makes the directory that of a node. */
function moveInto(directory: string, place: string): void {
  nodePlaces.rename(storeDirectoryOf(place), storeDirectoryOf(directory));
  nodePlaces.rename(logDirectoryOf(place), logDirectoryOf(directory));
  nodePlaces.syncDirectory(directory);
  nodePlaces.rename(ledgerIn(place), ledgerIn(directory));
  nodePlaces.syncDirectory(directory);
  nodePlaces.remove(place);
}

/**
 * A new catalog with these databases, after the entries that would have made it: each original instance is created, and
 * recovered as another one. The states are those of databases that were restored.
 */
function catalogOf(
  store: LedgerStore,
  instances: readonly (DatabaseToRestore & { readonly instanceId: DatabaseId })[],
  states: ReadonlyMap<string, RestoredDatabase>,
  keys: readonly ApiKey[],
): CatalogMachine {
  const source = { kv: store, group: CATALOG_GROUP, sha256: nativeSha256 };
  const catalog = CatalogMachine.open(source, encodeMembership(FOUNDERS));
  const apply = (entry: CatalogEntry): void => {
    const index = toLogIndex(catalog.applied.index + 1);
    catalog.apply({ index, term: FIRST_TERM, payload: databaseMachines.encode(entry) });
  };
  apply({ kind: 'raise', level: LEVELS.max });
  for (const key of keys) apply({ kind: 'keep-key', key: { ...key, version: 1 } });
  for (const { name, createdAtMs, databaseId, rootId, instanceId } of instances) {
    const { revision = toRevision(0), chainHash = NO_HASH } = states.get(name) ?? {};
    apply({ kind: 'create', name, databaseId: rootId, createdAtMs, replicas: [replicaOf(FIRST_NODE)], copies: 0 });
    for (const successor of rootId === databaseId ? [instanceId] : [databaseId, instanceId]) {
      const group = catalog.lookup(name)?.group ?? CATALOG_GROUP;
      apply({ kind: 'recover', group, databaseId: successor, node: FIRST_NODE, revision, chainHash });
    }
  }
  return catalog;
}

/** Installs the records up to the point; returns where that is. */
async function restoreHistory(
  store: LedgerStore,
  binding: Binding,
  { history, point, chainHash: expected }: DatabaseToRestore,
): Promise<Pick<RestoredDatabase, 'revision' | 'chainHash'>> {
  const { name, group } = binding;
  const machine = databaseMachines.createDatabase(store, binding);
  const checks = databaseMachines.importState(store, group, machine);
  const cut = new HistoryCut(point);
  const flush = async (): Promise<void> => {
    const batch = store.batch();
    machine.flushInto(batch);
    await store.write(batch);
    machine.flushed();
  };
  await flush();
  for await (const bytes of history) {
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      const records = cut.take(bytes.subarray(at, at + SLICE_BYTES));
      if (records === undefined) continue;
      const part = checks.take({ ...records, isLast: false });
      if (typeof part !== 'object') throw brokenHistory(name, part ?? 'it has no records');
      part.install(machine.applied.group);
      await flush();
    }
  }
  if (cut.isCut) throw brokenHistory(name, 'it ends inside a record');
  const standing = databaseMachines.standingOf(store, group);
  if (standing === undefined) throw brokenHistory(name, 'nothing of it was written');
  const { revision, chainHash } = standing;
  if (revision !== (point.revision ?? revision)) throw brokenHistory(name, `it ends with revision ${revision}`);
  if (expected !== undefined && compareBytes(chainHash, expected) !== 0) {
    const found = `the chain hash of revision ${revision} is ${toHex(chainHash)}`;
    throw brokenHistory(name, `${found}, and that of the original is ${toHex(expected)}`);
  }
  return { revision, chainHash };
}

/** The log of a database begins after what was restored. */
function writeLog(writer: RecordWriter, store: LedgerStore, group: GroupId): void {
  const mark = databaseMachines.markOf(store, group);
  if (mark === undefined || mark.index === 0) return;
  writer.hardState(group, { term: mark.term, vote: 0 });
  writer.logStart(group, { ...mark, history: store.historyEnd(group) });
}

async function makeLog(place: string, identity: NodeIdentity, writer: RecordWriter): Promise<void> {
  const options = { identity: walIdentity(identity), segmentBytes: LOG_SEGMENT_BYTES };
  const { wal } = Wal.open(logDirectoryOf(place), options);
  try {
    wal.append([writer.take()]);
  } finally {
    await wal.close();
  }
}

function brokenHistory(name: string, fault: string): DatabaseError {
  return new DatabaseError('internal', `The history of ${name} cannot be restored: ${fault}`);
}
