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
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

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
export function settleLog(dataDirectory: string, storeId: string): void {
  const next = nextLogDirectory(dataDirectory, storeId);
  if (existsSync(next)) {
    rmSync(logDirectoryOf(dataDirectory), { recursive: true, force: true });
    syncDirectory(dataDirectory);
    renameSync(next, logDirectoryOf(dataDirectory));
    syncDirectory(dataDirectory);
  }
  for (const name of readdirSync(dataDirectory)) {
    if (NEXT.test(name)) rmSync(join(dataDirectory, name), { recursive: true, force: true });
  }
}

/** Makes the names in a directory durable. */
export function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
