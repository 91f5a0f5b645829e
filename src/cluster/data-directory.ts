/**
 * The data directory of a node: what lies where, who it belongs to, and that only one process has it open.
 *
 *   <data>/store   LevelDB: applied state; its lock is the lock of the whole directory
 *   <data>/log     the write-ahead log
 *
 * Identity is minted on the first start and written into the store, then into the log. A log of another store is
 * refused by the log; a log without its store is refused here: its entries would be decided again, over nothing.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError, type Random, uuidv7 } from '#base';
import {
  DiskGuard,
  type DiskGuardOptions,
  type LevelStore,
  type LevelStoreOptions,
  openLevelStore,
  verifyLevelLogs,
} from '#storage';
import type { NodeIdentity } from './node.ts';
import { IDENTITY_KEY, readIdentity, writeIdentity } from './node-rows.ts';
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
}

const UUID_RANDOM_BYTES = 10;
/** What LevelDB's binding calls a directory that another process has open. */
const LOCKED = 'LEVEL_LOCKED';

/** Opens the directory for this process, and makes it when it is missing. The caller closes store and guard. */
export async function openDataDirectory(directory: string, options: DataDirectoryOptions): Promise<DataDirectory> {
  const storeDirectory = join(directory, 'store');
  const logDirectory = join(directory, 'log');
  await makeWritableDirectory(directory);
  await makeWritableDirectory(logDirectory);
  // First of all: on a full disk its ballast is what lets the store open.
  const guard = DiskGuard.open(directory, options.disk);
  try {
    const store = await openStore(directory, storeDirectory, options.store).catch((failure: unknown) => {
      throw guard.check().level === 'read-only' ? full(directory, guard.report.availableBytes, failure) : failure;
    });
    try {
      const row = store.get(IDENTITY_KEY);
      const identity = row === undefined ? await mintIdentity(store, logDirectory, options) : readIdentity(row);
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

async function openStore(directory: string, storeDirectory: string, options: LevelStoreOptions): Promise<LevelStore> {
  verifyLevelLogs(storeDirectory);
  try {
    return await openLevelStore(storeDirectory, options);
  } catch (failure) {
    if (!isLocked(failure)) throw failure;
    const message = `The data directory ${directory} is open in another process; stop that one, or choose another directory`;
    throw new DatabaseError('unavailable', message, { details: { reason: 'DataDirectoryInUse' }, cause: failure });
  }
}

async function mintIdentity(
  store: LevelStore,
  logDirectory: string,
  { nowMs, random }: DataDirectoryOptions,
): Promise<NodeIdentity> {
  const [file] = await readdir(logDirectory);
  if (file !== undefined) {
    const message = `The log in ${logDirectory} has files (${file}) but the store beside it is new: the store was lost. Restore the data directory from a backup, or start with an empty one`;
    throw new DatabaseError('internal', message, { details: { reason: 'StoreMissing' } });
  }
  const mint = (): string => uuidv7(nowMs, random.bytes(UUID_RANDOM_BYTES));
  const identity = { clusterId: mint(), storeId: mint() };
  const batch = store.batch();
  batch.put(IDENTITY_KEY, writeIdentity(identity));
  await store.write(batch, { sync: true });
  return identity;
}

/** What LevelDB says of a full disk does not say so in a way that a program could rely on. */
function full(directory: string, availableBytes: number, cause: unknown): DatabaseError {
  const message = `The disk of ${directory} is full: the store could not be opened with the ${availableBytes} bytes that are left. Free or add space, then start the node again`;
  return new DatabaseError('storage_full', message, { details: { reason: 'DiskFull' }, cause });
}

/** The binding's code is somewhere along the causes of the store's failure. */
function isLocked(failure: unknown): boolean {
  for (let cause = failure; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && cause.code === LOCKED) return true;
  }
  return false;
}
