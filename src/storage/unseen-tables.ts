/**
 * Tables that nobody has looked through since the node was started, held by a second name.
 *
 * LevelDB compacts whenever it likes, verifies nothing of what it reads, writes it out under new checksums and deletes
 * what it read: damage in a table that was not looked through before is then past finding. LevelDB has no way to be
 * told to wait, so here is one to look afterwards: a hard link keeps the bytes when LevelDB deletes its own name.
 *
 *   W20  A table that was live at a start loses its last name only when all of it was found whole.
 *
 * ```
 *   <store>/unseen/000123.ldb   a link to <store>/000123.ldb, which LevelDB may have deleted by now
 *   <store>/unseen/stopped      the process that left these links ended as it should
 * ```
 * The links are made before LevelDB opens, and outlive the process. One whose table is not live any more is looked
 * through before the next start, and so is, unless the last process ended as it should, one whose table is: it may be
 * what ended that process (LevelDB aborts where the keys of a table are not in order), and without words.
 *
 * Who makes links must know that no other process has the store open; who removes them must have it open.
 */
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { caught, ignoring } from '#base';
import { mergedAway, RESTORE_HINT, StorageFailure } from './basis/storage-failure.ts';
import { tableName } from './level-manifest.ts';
import { LevelTable } from './level-table.ts';
import { isMissing } from './segments/segment-disk.ts';

const DIRECTORY = 'unseen';
const STOPPED = 'stopped';
const TABLE_NAME = /^(\d+)\.ldb$/;

export interface HeldTables {
  readonly numbers: readonly number[];
  /** Whether the process that left them ended as it should. */
  readonly isStopped: boolean;
}

/** What the store holds by a second name: nothing, mostly. */
export function heldTables(directory: string): HeldTables {
  const names = namesIn(join(directory, DIRECTORY));
  const numbers = names.flatMap((name) => TABLE_NAME.exec(name)?.[1] ?? []).map(Number);
  return { numbers: numbers.toSorted((a, b) => a - b), isStopped: names.includes(STOPPED) };
}

/**
 * Opens a table of which LevelDB may have deleted the other name.
 * @throws StorageFailure `corrupt` when it is gone, or what leads to its rows is damaged.
 */
export function openHeld(directory: string, number: number): LevelTable {
  const path = heldPath(directory, number);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    const message = `${path} is missing: it was to be looked through after LevelDB has merged it into other tables. Nothing in this directory may be deleted by hand. ${RESTORE_HINT}`;
    throw new StorageFailure('corrupt', message, { path });
  }
  try {
    return LevelTable.open(path, found.size);
  } catch (failure) {
    throw mergedAway(failure);
  }
}

/**
 * Holds the tables, durably, and forgets that the last process ended as it should.
 * @returns Those that could not be held: not every file system has links, and a full one has no room for more.
 */
export function holdTables(directory: string, numbers: readonly number[]): readonly number[] {
  const place = join(directory, DIRECTORY);
  if (!isDone(() => mkdirSync(place, { recursive: true }))) return numbers;
  rmSync(join(place, STOPPED), { force: true });
  const failed = numbers.filter((number) => !hold(join(directory, tableName(number)), heldPath(directory, number)));
  syncDirectory(place);
  syncDirectory(directory);
  return failed;
}

export function releaseTable(directory: string, number: number): void {
  rmSync(heldPath(directory, number), { force: true });
}

/** Lets go of all but these. */
export function releaseOthers(directory: string, numbers: readonly number[]): void {
  const kept = new Set(numbers);
  const place = join(directory, DIRECTORY);
  if (kept.size === 0) {
    rmSync(place, { recursive: true, force: true });
    return;
  }
  for (const number of heldTables(directory).numbers) if (!kept.has(number)) releaseTable(directory, number);
}

/** Notes that the process is about to end as it should, and has found nothing damaged. */
export function noteStopped(directory: string): void {
  if (heldTables(directory).numbers.length === 0) return;
  closeSync(openSync(join(directory, DIRECTORY, STOPPED), 'w'));
}

function heldPath(directory: string, number: number): string {
  return join(directory, DIRECTORY, tableName(number));
}

function hold(table: string, held: string): boolean {
  return isDone(() => {
    const { ino } = statSync(table, { bigint: true });
    // A copy of a data directory has files of their own where there were links.
    if (statSync(held, { throwIfNoEntry: false, bigint: true })?.ino === ino) return;
    rmSync(held, { force: true });
    linkSync(table, held);
  });
}

/** Whether the file system has done it. */
function isDone(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (failure) {
    if (failure instanceof Error && 'syscall' in failure) return false;
    throw failure;
  }
}

function namesIn(directory: string): readonly string[] {
  return caught(() => readdirSync(directory), ignoring(isMissing)) ?? [];
}

function syncDirectory(directory: string): void {
  const file = openSync(directory, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
