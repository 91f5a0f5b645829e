/**
 * The end of the process when something is broken that must not go on: a failed write or sync, damaged data of ours, a
 * broken invariant, an entry of a later release. One line says what and where; the next start recovers.
 */
import { DatabaseError } from '#base';
import type { Logger } from '#observability';

/** The exit code of a process that ended so; EX_SOFTWARE of sysexits. */
export const EXIT_FATAL = 70;

/** Where it happened: beside the clients, where groups, log and store are, or where tables are looked through. */
export type Isolate = 'front' | 'core' | 'scrub';

/** Logs the failure and ends the process at once. Nothing that is in flight is answered. */
export function stopProcess(logger: Logger, isolate: Isolate, failure: unknown): never {
  const reason = failure instanceof DatabaseError ? failure.details.reason : undefined;
  const error = failure instanceof Error ? failure : new Error(String(failure));
  logger.error('fatal', { isolate, exitCode: EXIT_FATAL, ...(reason === undefined ? {} : { reason }), error });
  logger.flush();
  process.exit(EXIT_FATAL);
}
