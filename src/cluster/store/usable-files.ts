/**
 * Directories that this process can write, and files that it can use: checked before anything is opened, so that a
 * start does not fail halfway with an error of the operating system.
 */
import { constants } from 'node:fs';
import { access, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DatabaseError } from '#base';

/** Files that are written in place; other files are replaced by new ones. */
const WRITTEN = /^(?:\d+\.wal|guard|ledger|LOCK)$/;
const OTHERS = /^(?:\d+\.(?:ldb|sst|log)|CURRENT|MANIFEST-\d+)$/;

const FILE_REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'this user has no right to'],
  ['EPERM', 'this user has no right to'],
  ['EROFS', 'its file system is read-only'],
]);
const DIRECTORY_REASONS: ReadonlyMap<string, string> = new Map([
  ...FILE_REASONS,
  ['ENOTDIR', 'it, or a part of its path, is a file'],
  ['ENOENT', 'its file system does not allow directories there'],
]);
/** A missing file is reported where it is needed. */
const GONE = 'ENOENT';

/** Creates it with its parents. @throws DatabaseError when it cannot be created, or is no writable directory. */
export async function makeWritableDirectory(directory: string): Promise<void> {
  const path = resolve(directory);
  try {
    await make(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    const reason = DIRECTORY_REASONS.get(String(cause.code)) ?? cause.message;
    const message = `Nothing can be written in ${path}: ${reason} (${String(cause.code)}). The setting data-dir must name a directory that this user can read and write, or a path where it can be created`;
    throw new DatabaseError('invalid_argument', message, { details: { reason: 'DataDirectoryUnusable' }, cause });
  }
}

/**
 * @throws DatabaseError for the first path that is not a file, cannot be read, or cannot be written although it must
 * be.
 */
export async function checkUsable(directory: string): Promise<void> {
  for (const name of (await readdir(directory)).toSorted()) {
    const isWritten = WRITTEN.test(name);
    if (!isWritten && !OTHERS.test(name)) continue;
    const path = join(directory, name);
    try {
      if (!(await stat(path)).isFile()) throw unusable(path, 'must be a file, and is something else');
      await access(path, isWritten ? constants.R_OK | constants.W_OK : constants.R_OK);
    } catch (cause) {
      if (!(cause instanceof Error && 'syscall' in cause && 'code' in cause)) throw cause;
      if (cause.code === GONE) continue;
      const reason = FILE_REASONS.get(String(cause.code)) ?? cause.message;
      throw unusable(path, `cannot be ${isWritten ? 'written' : 'read'}: ${reason} (${String(cause.code)})`, cause);
    }
  }
}

/** One directory at a time: mkdir({ recursive }) never returns where an existing parent is missing, as in /proc. */
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
    if (failure instanceof Error && 'code' in failure && failure.code === GONE) return false;
    throw failure;
  }
}

function unusable(path: string, fault: string, cause?: Error): DatabaseError {
  const hint = 'Give the data directory to the user that the node runs as, with all that is in it';
  const message = `${path} ${fault}. ${hint}, and let no other program write there`;
  return new DatabaseError('invalid_argument', message, { details: { reason: 'DataDirectoryUnusable' }, cause });
}
