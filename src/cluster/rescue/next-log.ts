/**
 * How a store gets another log (refounding.ts): the log is made beside the one that there is, under the id of the store
 * that it is for. It counts from the moment in which the store has that id.
 *
 * ```
 *   log   log.<next store_id>      the store has another id: what is made there counts for nothing, and goes
 *   log   log.<store_id>           the store has this id: log goes, and log.<store_id> takes its name
 *   log
 * ```
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Disk, patientDisk } from '#storage';

/** What that asks of a file system: names of directories, which `syncDirectory` of the one above makes durable. */
export interface LogPlaces extends Pick<Disk, 'syncDirectory'> {
  has(path: string): boolean;
  list(directory: string): readonly string[];
  rename(from: string, to: string): void;
  /** With all that is in it, if it is there. */
  remove(path: string): void;
}

export const nodePlaces: LogPlaces = {
  has: existsSync,
  list: (directory) => readdirSync(directory),
  rename: renameSync,
  remove: (path) => rmSync(path, { recursive: true, force: true }),
  syncDirectory: (path) => patientDisk.syncDirectory(path),
};

const LOG = 'log';
const NEXT = /^log\.[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

export function logDirectoryOf(dataDirectory: string): string {
  return join(dataDirectory, LOG);
}

/** Where the log is made that a store is to have. */
export function nextLogDirectory(dataDirectory: string, storeId: string): string {
  return join(dataDirectory, `${LOG}.${storeId}`);
}

/**
 * Leaves one log: that of the store. May be repeated, wherever it was broken off; nothing else has the directory open.
 */
export function settleLog(dataDirectory: string, storeId: string, places: LogPlaces = nodePlaces): void {
  const next = nextLogDirectory(dataDirectory, storeId);
  if (places.has(next)) {
    places.remove(logDirectoryOf(dataDirectory));
    places.syncDirectory(dataDirectory);
    places.rename(next, logDirectoryOf(dataDirectory));
    places.syncDirectory(dataDirectory);
  }
  for (const name of places.list(dataDirectory)) {
    if (NEXT.test(name)) places.remove(join(dataDirectory, name));
  }
}
