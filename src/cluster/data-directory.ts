/**
 * The data directory of a node: what lies where, who it belongs to, and that only one process has it open.
 *
 *   <data>/store   LevelDB: applied state; its lock is the lock of the whole directory
 *   <data>/log     the write-ahead log
 *   <data>/damage  what was found damaged while the node ran (damage-note.ts); mostly not there
 *
 * Identity is minted on the first start and written into the store, then into the log. A log of another store is
 * refused by the log; a log without its store is refused here, before LevelDB makes a new one: its entries would be
 * decided again, over nothing.
 *
 * A store that is to join a cluster is first of all written down as one that asks; with the answer it becomes a node, in
 * one batch. Whatever happens in between, it asks again as the same store, and gets the same number:
 *
 *   empty ── joining row ──> asking ── identity row, empty catalog, no joining row ──> a node
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError, type Random, uuidv7 } from '#base';
import { membershipOf } from '#raft';
import {
  DiskGuard,
  type DiskGuardOptions,
  isLevelLocked,
  isLevelStoreInUse,
  type LevelStore,
  type LevelStoreOptions,
  openLevelStore,
  StorageFailure,
  verifyStore,
} from '#storage';
import { clearDamageNote, hasDamageNote } from './damage-note.ts';
import { databaseMachines } from './database-machines.ts';
import type { NodeIdentity } from './node.ts';
import { IDENTITY_KEY, JOINING_KEY, readIdentity, readJoining, writeIdentity, writeJoining } from './node-rows.ts';
import type { Joined } from './peer/join.ts';
import { FIRST_NODE } from './placement.ts';
import { clockBeforeEpoch } from './refusals.ts';
import { makeWritableDirectory } from './writable-directory.ts';

export interface DataDirectory {
  readonly storeDirectory: string;
  readonly logDirectory: string;
  readonly store: LevelStore;
  readonly guard: DiskGuard;
  readonly identity: NodeIdentity;
}

export interface DataDirectoryOptions {
  readonly store: LevelStoreOptions;
  readonly disk: DiskGuardOptions;
  readonly nowMs: number;
  readonly random: Random;
  /** Asks a cluster to take in a new store; without it, a new store begins a cluster of its own. */
  readonly join?: ((storeId: string) => Promise<Joined>) | undefined;
}

interface Places {
  readonly directory: string;
  readonly storeDirectory: string;
  readonly logDirectory: string;
  /** Damage was noted, and every row is to be verified. */
  readonly isSuspect: boolean;
}

const UUID_RANDOM_BYTES = 10;

/** Opens the directory for this process, and makes it when it is missing. The caller closes store and guard. */
export async function openDataDirectory(directory: string, options: DataDirectoryOptions): Promise<DataDirectory> {
  if (options.nowMs < 0) throw clockBeforeEpoch(options.nowMs);
  const storeDirectory = join(directory, 'store');
  const logDirectory = join(directory, 'log');
  await makeWritableDirectory(directory);
  await makeWritableDirectory(logDirectory);
  const isSuspect = hasDamageNote(directory);
  const places = { directory, storeDirectory, logDirectory, isSuspect };
  // First of all: on a full disk its ballast is what lets the store open.
  const guard = DiskGuard.open(directory, options.disk);
  try {
    const store = await openStore(places, options.store).catch((failure: unknown) => {
      if (failure instanceof StorageFailure || guard.check().level !== 'read-only') throw failure;
      throw full(directory, guard.report.availableBytes, failure);
    });
    try {
      if (isSuspect) clearDamageNote(directory);
      const row = store.get(IDENTITY_KEY);
      const identity = row === undefined ? await becomeNode(store, logDirectory, options) : readIdentity(row);
      return { storeDirectory, logDirectory, store, guard, identity };
    } catch (failure) {
      await store.close();
      throw failure;
    }
  } catch (failure) {
    await guard.close();
    throw failure;
  }
}

async function openStore(places: Places, options: LevelStoreOptions): Promise<LevelStore> {
  if (!(await isVerified(places))) await checkLogIsNew(places.logDirectory);
  try {
    return await openLevelStore(places.storeDirectory, options);
  } catch (failure) {
    throw isLevelLocked(failure) ? inUse(places.directory, failure) : failure;
  }
}

/** False when there is no store yet. */
async function isVerified({ directory, storeDirectory, isSuspect }: Places): Promise<boolean> {
  try {
    return verifyStore(storeDirectory, isSuspect);
  } catch (failure) {
    // What another process is writing may look damaged.
    throw (await isLevelStoreInUse(storeDirectory)) ? inUse(directory, failure) : failure;
  }
}

/** A store that is new has a log that is new. */
async function checkLogIsNew(logDirectory: string): Promise<void> {
  const [file] = await readdir(logDirectory);
  if (file === undefined) return;
  const message = `The log in ${logDirectory} has files (${file}) but there is no store beside it, or a new one: the store was lost. Restore the data directory from a backup, or start with an empty one`;
  throw new DatabaseError('internal', message, { details: { reason: 'StoreMissing' } });
}

function inUse(directory: string, cause: unknown): DatabaseError {
  const message = `The data directory ${directory} is open in another process; stop that one, or choose another directory`;
  return new DatabaseError('unavailable', message, { details: { reason: 'DataDirectoryInUse' }, cause });
}

/** A store that belongs to no cluster begins one, or joins one. */
async function becomeNode(
  store: LevelStore,
  logDirectory: string,
  { nowMs, random, join: ask }: DataDirectoryOptions,
): Promise<NodeIdentity> {
  await checkLogIsNew(logDirectory);
  const mint = (): string => uuidv7(nowMs, random.bytes(UUID_RANDOM_BYTES));
  const asking = store.get(JOINING_KEY);
  if (ask !== undefined)
    return joinAs(store, asking === undefined ? await noteStore(store, mint()) : readJoining(asking), ask);
  if (asking !== undefined) throw halfJoined(readJoining(asking));
  const identity = { clusterId: mint(), storeId: mint(), node: FIRST_NODE };
  const batch = store.batch();
  batch.put(IDENTITY_KEY, writeIdentity(identity));
  await store.write(batch, { sync: true });
  return identity;
}

async function noteStore(store: LevelStore, storeId: string): Promise<string> {
  const batch = store.batch();
  batch.put(JOINING_KEY, writeJoining(storeId));
  await store.write(batch, { sync: true });
  return storeId;
}

async function joinAs(
  store: LevelStore,
  storeId: string,
  ask: (storeId: string) => Promise<Joined>,
): Promise<NodeIdentity> {
  const { clusterId, node, founders } = await ask(storeId);
  const identity = { clusterId, storeId, node };
  const batch = store.batch();
  batch.put(IDENTITY_KEY, writeIdentity(identity));
  batch.del(JOINING_KEY);
  // With it stays who founded the catalog, until its first entry is applied here.
  databaseMachines.openCatalog(store, membershipOf(founders)).flushInto(batch);
  await store.write(batch, { sync: true });
  return identity;
}

function halfJoined(storeId: string): DatabaseError {
  const message = `The data directory has begun to join a cluster (store ${storeId}) and does not know the answer yet; start it with --join, or use an empty directory`;
  return new DatabaseError('unavailable', message, { details: { reason: 'HalfJoined' } });
}

/** What LevelDB says of a full disk does not say so in a way that a program could rely on. */
function full(directory: string, availableBytes: number, cause: unknown): DatabaseError {
  const message = `The disk of ${directory} is full: the store could not be opened with the ${availableBytes} bytes that are left. Free or add space, then start the node again`;
  return new DatabaseError('storage_full', message, { details: { reason: 'DiskFull' }, cause });
}
