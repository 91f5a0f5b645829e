/**
 * The data directory of a node: its layout, its identity, and its lock, so that only one process has it open.
 *
 *   <data>/ledger  rows of the node and of the catalog (ledger-store.ts)
 *   <data>/store   LevelDB: applied state; its lock is the lock of the whole directory. In it, the histories of databases
 *                  as segment files: histories
 *   <data>/log     the write-ahead log; beside it, perhaps, one that is to take its place (next-log.ts)
 *   <data>/damage  what was found damaged (damage-note.ts); mostly not there
 *   <data>/restoring  a node that is being made from an archive (restoring.ts)
 *
 * The identity is created at the first start and written into the ledger, then into the log. The log refuses a store
 * that it does not belong to. A log without its store or ledger is refused here, before LevelDB creates a new store:
 * its entries would be decided again from an empty state.
 *
 * All rows of LevelDB are derived from the other files. If LevelDB is damaged as a whole, it is replaced here.
 */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError, type GroupId, NO_BYTES, type Random } from '#base';
import {
  DiskGuard,
  type DiskGuardOptions,
  faultOfLevelFiles,
  historiesIn,
  isLevelLocked,
  isLevelStoreInUse,
  isStoreDamage,
  Ledger,
  type LevelStore,
  type LevelStoreOptions,
  ledgerIn,
  openLevelStore,
  RESTORE_HINT,
  removeLevelFiles,
  StorageFailure,
} from '#storage';
import type { NodeIdentity } from '../node.ts';
import { clockFault } from '../refusals.ts';
import { clearDamageNote, type DamageNote, noteRemovedRows, readDamageNote } from './damage-note.ts';
import { type LedgerStore, ledgerStore } from './ledger-store.ts';
import { logDirectoryOf, settleLog } from './next-log.ts';
import { belongsNowhere, type Origin, ownIdentity } from './own-identity.ts';
import { checkUsable, makeWritableDirectory } from './usable-files.ts';

const STORE = 'store';
const RESTORING = 'restoring';

export interface DataDirectory {
  readonly dataDirectory: string;
  readonly storeDirectory: string;
  readonly logDirectory: string;
  /** Without the rows of the ledger, which only the core has open. */
  readonly store: LevelStore;
  readonly guard: DiskGuard;
  readonly identity: NodeIdentity;
  /** Damage was recorded, of no known database: the rows of all must be audited. */
  readonly isSuspect: boolean;
  /** Databases whose rows are damaged, as recorded. */
  readonly damaged: ReadonlySet<GroupId>;
  /** Damaged rows are out of use, durably: forgets the damage. */
  readonly clearSuspicion: () => void;
}

export interface DataDirectoryOptions {
  readonly store: LevelStoreOptions;
  readonly disk: DiskGuardOptions;
  readonly nowMs: number;
  readonly random: Random;
  readonly origin: Origin;
  /** See `IdentityOptions`. */
  readonly isLearner?: boolean;
  /** Receives whether damage is recorded. */
  readonly onSuspicion?: (isSuspect: boolean) => void;
  /** LevelDB was removed for this reason: every database is rebuilt. */
  readonly onRowsRemoved?: (fault: string) => void;
}

interface Places {
  readonly directory: string;
  readonly storeDirectory: string;
  readonly logDirectory: string;
  readonly noted: DamageNote | undefined;
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
  const places = { directory, storeDirectory, logDirectory, noted: readDamageNote(directory) };
  const guard = new DiskGuard(directory, { ...options.disk, directories: [directory, logDirectory] });
  const store = await openStore(places, options).catch((failure: unknown) => {
    if (failure instanceof StorageFailure || guard.check().level !== 'read-only') throw failure;
    throw full(directory, guard.report.availableBytes, failure);
  });
  try {
    const noted = readDamageNote(directory);
    options.onSuspicion?.(noted !== undefined);
    const clearSuspicion = (): void => {
      if (noted !== undefined) clearDamageNote(directory);
      options.onSuspicion?.(false);
    };
    const identity = await identityOf(places, store, options);
    settleLog(directory, identity.storeId);
    const files = { dataDirectory: directory, storeDirectory, logDirectory, store };
    const damaged = new Set(noted?.groups);
    return { ...files, guard, identity, isSuspect: noted?.isVague === true, damaged, clearSuspicion };
  } catch (failure) {
    await store.close();
    throw failure;
  }
}

/**
 * Opens the store of a stopped node. Creates nothing, unless LevelDB is damaged.
 * @throws DatabaseError when there is no store, or another process has it open; StorageFailure when it is damaged.
 */
export async function openStoppedStore(directory: string): Promise<StoppedStoreFiles> {
  const [storeDirectory, logDirectory] = [storeDirectoryOf(directory), logDirectoryOf(directory)];
  if (![storeDirectory, ledgerIn(directory)].every((path) => existsSync(path))) throw noStore(directory);
  const places = { directory, storeDirectory, logDirectory, noted: readDamageNote(directory) };
  const store = await openStore(places, { store: {} });
  try {
    return { storeDirectory, logDirectory, store: ledgerStore(store, await Ledger.open(directory)) };
  } catch (failure) {
    await store.close();
    throw failure;
  }
}

/** Directory of the store, next to the log. */
export function storeDirectoryOf(dataDirectory: string): string {
  return join(dataDirectory, STORE);
}

/** Where a node is made from an archive. */
export function restoringIn(dataDirectory: string): string {
  return join(dataDirectory, RESTORING);
}

export interface StoppedStoreFiles extends Pick<DataDirectory, 'storeDirectory' | 'logDirectory'> {
  readonly store: LedgerStore;
}

/** Reads the identity from the ledger, or gives a new node one. */
async function identityOf(places: Places, store: LevelStore, options: DataDirectoryOptions): Promise<NodeIdentity> {
  const { directory } = places;
  const ledger = await Ledger.open(directory);
  try {
    const checkNew = (): Promise<void> => checkNodeIsNew(places, store);
    return await ownIdentity(ledgerStore(store, ledger), { place: directory, checkNew, ...options });
  } finally {
    ledger.close();
  }
}

type StoreOptions = Pick<DataDirectoryOptions, 'store' | 'onRowsRemoved'>;

/** Opens LevelDB; makes a new one if it is damaged. Without a ledger it is not known to have only derived rows. */
async function openStore(places: Places, options: StoreOptions): Promise<LevelStore> {
  const { directory, storeDirectory, logDirectory } = places;
  const hasLedger = existsSync(ledgerIn(directory));
  if (!hasLedger && existsSync(restoringIn(directory))) throw halfRestored(directory);
  if (!existsSync(storeDirectory)) {
    await checkLogIsNew(logDirectory, storeDirectory);
    if (hasLedger) throw lost(storeDirectory, `${ledgerIn(directory)} is there`);
  }
  if (!hasLedger) return openUnlessLocked(places, options.store);
  const opened = await openUnlessDamaged(places, options.store);
  if (typeof opened !== 'string') return opened;
  if (await isLevelStoreInUse(storeDirectory)) throw inUse(directory);
  removeLevelFiles(storeDirectory);
  noteRemovedRows(directory, opened);
  options.onRowsRemoved?.(opened);
  return openUnlessLocked(places, options.store);
}

/** Returns the fault if LevelDB is damaged. */
async function openUnlessDamaged(places: Places, options: LevelStoreOptions): Promise<LevelStore | string> {
  const { storeDirectory, noted } = places;
  const fault = noted?.isOfStore === true ? noted.text : faultOfLevelFiles(storeDirectory);
  if (fault !== undefined) return fault;
  try {
    return await openUnlessLocked(places, options);
  } catch (failure) {
    if (isStoreDamage(failure)) return failure.message;
    throw failure;
  }
}

async function openUnlessLocked(places: Places, options: LevelStoreOptions): Promise<LevelStore> {
  try {
    return await openLevelStore(places.storeDirectory, options);
  } catch (failure) {
    throw isLevelLocked(failure) ? inUse(places.directory, failure) : failure;
  }
}

/** A new node needs a new log and an empty store. */
async function checkNodeIsNew({ directory, logDirectory, storeDirectory }: Places, store: LevelStore): Promise<void> {
  await checkLogIsNew(logDirectory, ledgerIn(directory));
  const range = store.range({ gte: NO_BYTES, lt: Uint8Array.of(0xff), limit: 1, values: false });
  const rows = await range.next(1);
  await range.close();
  if (rows.length > 0) throw lost(ledgerIn(directory), `${storeDirectory} has rows`);
}

/** @param lacking What is missing, or new. */
async function checkLogIsNew(logDirectory: string, lacking: string): Promise<void> {
  const [file] = await readdir(logDirectory);
  if (file !== undefined) throw lost(lacking, `the log in ${logDirectory} has files (${file})`);
}

function lost(lacking: string, left: string): DatabaseError {
  const message = `${lacking} is missing, or new, although ${left}: it was lost, or a development version before 0.1.0 made this directory. ${LOST_STORE}`;
  return new DatabaseError('internal', message, { details: { reason: 'StoreMissing' } });
}

/** The error for a row that cannot be derived again, or a history. */
export function damagedRow(storeDirectory: string, cause: Error): DatabaseError {
  const message = `${storeDirectory} is damaged. ${cause.message}. Check the disk. ${RESTORE_HINT}`;
  return new DatabaseError('internal', message, { details: { reason: 'CorruptRecord' }, cause });
}

/** The error for a LevelDB that is damaged as a whole, which is noted. */
export function rowsToRemove(cause: DatabaseError): DatabaseError {
  const message = `${cause.message}. Check the disk. The next start makes all rows again, from events and log; nothing is lost`;
  return new DatabaseError('internal', message, { details: cause.details, cause });
}

function halfRestored(directory: string): DatabaseError {
  const message = `The data directory ${directory} is being restored, or that was interrupted: repeat cairn restore, or name an empty directory`;
  return new DatabaseError('invalid_argument', message, { details: { reason: 'RestoreInterrupted' } });
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

/** Advice for a data directory that has lost data. */
export const LOST_STORE: string =
  'In a cluster whose other nodes have replicas of everything, move this directory away, start the node with an empty one and --join, and remove the old node (cairn cluster replace OLD --by NEW); a node that is alone needs a copy of the whole directory from before';
