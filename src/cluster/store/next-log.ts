/**
 * Replaces the log of a store (refounding.ts): the new log is created next to the old one, under the id of the store
 * that it is for. It is valid from the moment in which the store has that id.
 *
 * ```
 *   log   log.<next store_id>      the store has another id: the new log is invalid, and deleted
 *   log   log.<store_id>           the store has this id: log is deleted, and log.<store_id> renamed
 *   log
 * ```
 */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Disk, patientDisk } from '#storage';

/** File system operations; `syncDirectory` of the parent makes renames durable. */
export interface LogPlaces extends Pick<Disk, 'syncDirectory'> {
  has(path: string): boolean;
  list(directory: string): readonly string[];
  rename(from: string, to: string): void;
  /** Removes it recursively, if it exists. */
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

/** Directory for the next log of a store. */
export function nextLogDirectory(dataDirectory: string, storeId: string): string {
  return join(dataDirectory, `${LOG}.${storeId}`);
}

/** Leaves only the log of the store. May be repeated after a crash; no other process may use the directory. */
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
