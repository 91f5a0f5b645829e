/** Distinguishes refusals, which are reported in one line, from bugs. */
import { DatabaseError } from '#base';
import { StorageFailure } from '#storage';

/** Returns whether the person who runs the command can fix the cause: an address, a setting, the operating system. */
export function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  // Compared by name, because an error from the core thread loses its class; and every error of the operating system.
  return error instanceof DatabaseError || error.name === StorageFailure.name || 'syscall' in error;
}
