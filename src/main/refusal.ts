/** What is said in one line, and what is a bug. */
import { DatabaseError } from '#base';
import { StorageFailure } from '#storage';

/**
 * Whether somebody can do something about it who runs the command: the place, the settings, or the operating system.
 */
export function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  // By its name, for the class is lost where the core's thread says it; and whatever the operating system refuses.
  return error instanceof DatabaseError || error.name === StorageFailure.name || 'syscall' in error;
}
