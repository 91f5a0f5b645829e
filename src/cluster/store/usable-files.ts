/**
 * Files of a data directory that this process cannot use, such as those that another user has made: found before
 * anything is opened, so that a start does not end somewhere in the middle of it with what the operating system says.
 */
import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '#base';

/** What is written where it stands. Of other files there are new ones. */
const WRITTEN = /^(?:\d+\.wal|guard|LOCK)$/;
const OTHERS = /^(?:\d+\.(?:ldb|sst|log)|CURRENT|MANIFEST-\d+)$/;

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'this user has no right to'],
  ['EPERM', 'this user has no right to'],
  ['EROFS', 'its file system is read-only'],
]);
/** It is gone, or never was: whoever needs it says so. */
const GONE = 'ENOENT';

/** @throws DatabaseError for the first one that is no file, or must not be read, or written where it has to be. */
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
      const reason = REASONS.get(String(cause.code)) ?? cause.message;
      throw unusable(path, `cannot be ${isWritten ? 'written' : 'read'}: ${reason} (${String(cause.code)})`, cause);
    }
  }
}

function unusable(path: string, fault: string, cause?: Error): DatabaseError {
  const hint = 'Give the data directory to the user that the node runs as, with all that is in it';
  const message = `${path} ${fault}. ${hint}, and let nothing else write there`;
  return new DatabaseError('invalid_argument', message, { details: { reason: 'DataDirectoryUnusable' }, cause });
}
