/**
 * The data directory of a node: its layout, its identity, and its lock, so that only one process has it open.
 *
 *   <data>/store   LevelDB: applied state; its lock is the lock of the whole directory. In it, the histories of databases
 *                  as segment files: histories; and, of a large store, second names of tables that were not looked at
 *                  yet: unseen
 *   <data>/log     the write-ahead log; beside it, perhaps, one that is to take its place (next-log.ts)
 *   <data>/damage  what was found damaged while the node ran (damage-note.ts); mostly not there
 *
 * The identity is created at the first start and written into the store, then into the log. The log refuses a store
 * that it does not belong to. A log without its store is refused here, before LevelDB creates a new one: its entries
 * would be decided again from an empty state.
 */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError, type Random } from '#base';
import { isFaultOfRow, verifyNodeRows } from '#database';
import {
  DiskGuard,
  type DiskGuardOptions,
  historiesIn,
  holdTables,
  isLevelLocked,
  isLevelStoreInUse,
  type LevelLog,
  type LevelStore,
  type LevelStoreOptions,
  openLevelStore,
  RESTORE_HINT,
  ROW_BYTES_DEFAULT,
  releaseOthers,
  StorageFailure,
  type StoreLook,
  verifyStore,
  verifyTables,
} from '#storage';
import type { NodeIdentity } from '../node.ts';
import { clockFault } from '../refusals.ts';
import { clearDamageNote, hasDamageNote } from './damage-note.ts';
import { logDirectoryOf, settleLog } from './next-log.ts';
import { belongsNowhere, type Origin, ownIdentity } from './own-identity.ts';
import { checkUsable, makeWritableDirectory } from './usable-files.ts';

const STORE = 'store';
const ALL = Number.POSITIVE_INFINITY;
const NOTHING: StoreLook = { seen: [], unseen: [], logs: [] };

export interface DataDirectory {
  readonly storeDirectory: string;
  readonly logDirectory: string;
  readonly store: LevelStore;
  /** Tables of the store that were fully verified before it was opened. */
  readonly seen: readonly number[];
  /** Its log files before it was opened. */
  readonly storeLogs: readonly LevelLog[];
  readonly guard: DiskGuard;
  readonly identity: NodeIdentity;
  /** Damage was recorded: the rows of databases must be audited. */
  readonly isSuspect: boolean;
  /** Every database was audited: forgets the damage. */
  readonly clearSuspicion: () => void;
}

export interface DataDirectoryOptions {
  readonly store: LevelStoreOptions;
  /** Number of bytes of its tables that are verified before it is opened. */
  readonly rowBytes?: number;
  readonly disk: DiskGuardOptions;
  readonly nowMs: number;
  readonly random: Random;
  readonly origin: Origin;
  /** Receives whether damage was recorded that a full verification has not ruled out. */
  readonly onSuspicion?: (isSuspect: boolean) => void;
}

interface Places {
  readonly directory: string;
  readonly storeDirectory: string;
  readonly logDirectory: string;
  /** Damage was recorded: all files, the rows of the node and those of the catalog are verified. */
  readonly isSuspect: boolean;
}

/** Opens the directory for this process, and creates it if needed. The caller closes store and guard. */
export async function openDataDirectory(directory: string, options: DataDirectoryOptions): Promise<DataDirectory> {
  const fault = clockFault(options.nowMs);
  if (fault !== undefined) throw fault;
  const storeDirectory = storeDirectoryOf(directory);
  const logDirectory = logDirectoryOf(directory);
  // Nothing is created for a node without a configured cluster, unless something exists already.
  if (options.origin.kind === 'unknown' && !existsSync(storeDirectory) && !existsSync(logDirectory))
    throw belongsNowhere(directory);
  await makeWritableDirectory(directory);
  await makeWritableDirectory(logDirectory);
  for (const each of [storeDirectory, historiesIn(storeDirectory)]) {
    if (existsSync(each)) await makeWritableDirectory(each);
  }
  for (const each of [directory, logDirectory, storeDirectory]) if (existsSync(each)) await checkUsable(each);
  const isSuspect = hasDamageNote(directory);
  options.onSuspicion?.(isSuspect);
  const places = { directory, storeDirectory, logDirectory, isSuspect };
  const guard = new DiskGuard(directory, { ...options.disk, directories: [directory, logDirectory] });
  const { store, seen, storeLogs } = await openStore(places, options).catch((failure: unknown) => {
    if (failure instanceof StorageFailure || guard.check().level !== 'read-only') throw failure;
    throw full(directory, guard.report.availableBytes, failure);
  });
  try {
    if (isSuspect) {
      await verifyNodeRows(store).catch((failure: unknown) => {
        throw isFaultOfRow(failure) ? damagedRow(storeDirectory, failure) : failure;
      });
    }
    const clearSuspicion = (): void => {
      if (isSuspect) clearDamageNote(directory);
      options.onSuspicion?.(false);
    };
    const checkNew = (): Promise<void> => checkLogIsNew(logDirectory, storeLogs);
    const identity = await ownIdentity(store, { place: directory, checkNew, ...options });
    settleLog(directory, identity.storeId);
    const files = { storeDirectory, logDirectory, store, seen, storeLogs };
    return { ...files, guard, identity, isSuspect, clearSuspicion };
  } catch (failure) {
    await store.close();
    throw failure;
  }
}

/**
 * Opens the store of a stopped node after verifying every row of its tables; creates nothing.
 * @throws DatabaseError when there is no store, or another process has it open; StorageFailure when it is damaged.
 */
export async function openStoppedStore(directory: string): Promise<StoppedStoreFiles> {
  const [storeDirectory, logDirectory] = [storeDirectoryOf(directory), logDirectoryOf(directory)];
  const places = { directory, storeDirectory, logDirectory, isSuspect: true };
  const look = existsSync(storeDirectory) ? await lookAt(places, ALL) : undefined;
  if (look === undefined) throw noStore(directory);
  const store = await openUnlessLocked(places, {});
  return { storeDirectory, logDirectory, store, storeLogs: look.logs };
}

/** Directory of the store, next to the log. */
export function storeDirectoryOf(dataDirectory: string): string {
  return join(dataDirectory, STORE);
}

export type StoppedStoreFiles = Pick<DataDirectory, 'storeDirectory' | 'logDirectory' | 'store' | 'storeLogs'>;

type OpenStore = Pick<DataDirectory, 'store' | 'seen' | 'storeLogs'>;

async function openStore(places: Places, options: DataDirectoryOptions): Promise<OpenStore> {
  const { rowBytes = ROW_BYTES_DEFAULT } = options;
  const look = await lookAt(places, places.isSuspect ? ALL : rowBytes);
  if (look === undefined) await checkLogIsNew(places.logDirectory);
  const { seen, unseen, logs } = look === undefined ? NOTHING : await holdUnseen(places, look);
  const store = await openUnlessLocked(places, options.store);
  try {
    releaseOthers(places.storeDirectory, unseen);
    return { store, seen, storeLogs: logs };
  } catch (failure) {
    await store.close();
    throw failure;
  }
}

/** Keeps links to unverified tables, or verifies them now where the file system has no hard links. */
async function holdUnseen(places: Places, look: StoreLook): Promise<StoreLook> {
  if (look.unseen.length === 0) return look;
  const { directory, storeDirectory } = places;
  if (await isLevelStoreInUse(storeDirectory)) throw inUse(directory);
  const failed = new Set(holdTables(storeDirectory, look.unseen));
  await verifyTables(storeDirectory, [...failed]);
  return { ...look, seen: [...look.seen, ...failed], unseen: look.unseen.filter((number) => !failed.has(number)) };
}

async function openUnlessLocked(places: Places, options: LevelStoreOptions): Promise<LevelStore> {
  try {
    return await openLevelStore(places.storeDirectory, options);
  } catch (failure) {
    throw isLevelLocked(failure) ? inUse(places.directory, failure) : failure;
  }
}

/** Undefined when there is no store yet. */
async function lookAt({ directory, storeDirectory }: Places, rowBytes: number): Promise<StoreLook | undefined> {
  try {
    return await verifyStore(storeDirectory, rowBytes);
  } catch (failure) {
    // Files that another process is writing may look damaged.
    throw (await isLevelStoreInUse(storeDirectory)) ? inUse(directory, failure) : failure;
  }
}

/** A new store needs a new log. */
async function checkLogIsNew(logDirectory: string, storeLogs: readonly LevelLog[] = []): Promise<void> {
  const [file] = await readdir(logDirectory);
  if (file === undefined) return;
  const message = `The log in ${logDirectory} has files (${file}) but there is no store beside it, or a new one: the store was lost. ${LOST_STORE}`;
  const own = sentenceOnStoreLogs(storeLogs);
  throw new DatabaseError('internal', own === '' ? message : `${message}.${own}`, {
    details: { reason: 'StoreMissing' },
  });
}

/** The error for a row that cannot be derived again, or a history. */
export function damagedRow(storeDirectory: string, cause: Error): DatabaseError {
  const message = `${storeDirectory} is damaged, so the node does not start. ${cause.message}. Check the disk. ${RESTORE_HINT}`;
  return new DatabaseError('internal', message, { details: { reason: 'CorruptRecord' }, cause });
}

function noStore(directory: string): DatabaseError {
  const message = `There is no store in ${directory}: it is not the data directory of a node, or all of it was lost. Name the directory that the node was started with`;
  return new DatabaseError('invalid_argument', message, { details: { reason: 'StoreMissing' } });
}

function inUse(directory: string, cause?: unknown): DatabaseError {
  const message = `The data directory ${directory} is open in another process; stop that one, or choose another directory`;
  return new DatabaseError('unavailable', message, { details: { reason: 'DataDirectoryInUse' }, cause });
}

/** LevelDB's error for a full disk cannot be recognized reliably. */
function full(directory: string, availableBytes: number, cause: unknown): DatabaseError {
  const message = `The disk of ${directory} is full: the store could not be opened with the ${availableBytes} bytes that are left. Free or add space, then start the node again`;
  return new DatabaseError('storage_full', message, { details: { reason: 'DiskFull' }, cause });
}

/**
 * Describes LevelDB's own log files before the store was opened, for a refusal whose cause may be one of them: a
 * truncated log looks like one after a power failure, and LevelDB deletes the files when it opens the store. A sentence
 * with a leading space, or an empty text without log files.
 */
export function sentenceOnStoreLogs(storeLogs: readonly LevelLog[]): string {
  if (storeLogs.length === 0) return '';
  const words = storeLogs.map(({ path, bytes, isTorn }) =>
    isTorn ? `${path}, of which only the first ${bytes} bytes are whole` : `${path}, of ${bytes} bytes`,
  );
  return ` Before the store was opened, LevelDB had as its own logs ${words.join(', and ')}.`;
}

/** Advice for a data directory that has lost data. */
export const LOST_STORE: string =
  'In a cluster whose other nodes have replicas of everything, move this directory away, start the node with an empty one and --join, and remove the old node (cairn cluster replace OLD --by NEW); a node that is alone needs a copy of the whole directory from before';
