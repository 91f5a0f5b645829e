/** Failures that the person who runs a node or a command can fix, and their exit codes. */
import { DatabaseError } from '#base';
import type { StorageFailure } from '#storage';

/** The node cannot start; or the command was refused, or got no answer. The reason is on stderr. */
export const EXIT_REFUSED = 1;
/** The command line is malformed, or settings contradict each other or the data directory. */
export const EXIT_USAGE = 2;

/** The command is refused: its reason is on stderr, and the exit code is EXIT_REFUSED. */
export function refused(reason: string): DatabaseError {
  return new DatabaseError('unavailable', reason);
}

/** The name alone, because a command that opens no store does not load it. */
const STORAGE_FAILURE: StorageFailure['name'] = 'StorageFailure';

/** Writes a line for each fault of a command line. @returns the exit code */
export function refuseUsage(command: string, faults: readonly string[], err: (text: string) => void): number {
  for (const fault of faults) err(`${command}: ${fault}\n`);
  return EXIT_USAGE;
}

/** Returns whether the person who runs the command can fix the cause: an address, a setting, the operating system. */
export function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  // Compared by name, because an error from the core thread loses its class; and every error of the operating system.
  return error instanceof DatabaseError || error.name === STORAGE_FAILURE || 'syscall' in error;
}
