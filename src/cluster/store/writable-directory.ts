/**
 * Creates a directory with its parents, or reports why it cannot be written.
 *
 * It creates one directory at a time: the recursive mkdir of Node.js never returns where a file system reports an
 * existing parent as missing, as /proc does.
 */
import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { DatabaseError } from '#base';

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOTDIR', 'it, or a part of its path, is a file'],
  ['EACCES', 'this user has no right to'],
  ['EPERM', 'this user has no right to'],
  ['EROFS', 'its file system is read-only'],
  ['ENOENT', 'its file system does not allow directories there'],
]);

/** @throws DatabaseError when it cannot be created, is not a directory, or is not writable. */
export async function makeWritableDirectory(directory: string): Promise<void> {
  const path = resolve(directory);
  try {
    await make(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    const reason = REASONS.get(String(cause.code)) ?? cause.message;
    const message = `Nothing can be written in ${path}: ${reason} (${String(cause.code)}). The setting data-dir must name a directory that this user can read and write, or a path where it can be created`;
    throw new DatabaseError('invalid_argument', message, { details: { reason: 'DataDirectoryUnusable' }, cause });
  }
}

async function make(path: string): Promise<void> {
  if (await isThere(path)) return;
  const parent = dirname(path);
  if (parent !== path) await make(parent);
  await mkdir(path).catch(async (failure: unknown) => {
    // Another process may have created it meanwhile.
    if (!(await isThere(path))) throw failure;
  });
}

async function isThere(path: string): Promise<boolean> {
  try {
    // With the dot, a file fails.
    await stat(`${path}/.`);
    return true;
  } catch (failure) {
    if (failure instanceof Error && 'code' in failure && failure.code === 'ENOENT') return false;
    throw failure;
  }
}
