/**
 * Finds files of a data directory that this process cannot use, such as those of another user, before anything is
 * opened, so that a start does not fail halfway with an error of the operating system.
 */
import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '#base';

/** Files that are written in place; other files are replaced by new ones. */
const WRITTEN = /^(?:\d+\.wal|guard|LOCK)$/;
const OTHERS = /^(?:\d+\.(?:ldb|sst|log)|CURRENT|MANIFEST-\d+)$/;

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'this user has no right to'],
  ['EPERM', 'this user has no right to'],
  ['EROFS', 'its file system is read-only'],
]);
/** A missing file is reported where it is needed. */
const GONE = 'ENOENT';

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
      const reason = REASONS.get(String(cause.code)) ?? cause.message;
      throw unusable(path, `cannot be ${isWritten ? 'written' : 'read'}: ${reason} (${String(cause.code)})`, cause);
    }
  }
}

function unusable(path: string, fault: string, cause?: Error): DatabaseError {
  const hint = 'Give the data directory to the user that the node runs as, with all that is in it';
  const message = `${path} ${fault}. ${hint}, and let no other program write there`;
  return new DatabaseError('invalid_argument', message, { details: { reason: 'DataDirectoryUnusable' }, cause });
}
