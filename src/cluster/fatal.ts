/**
 * The end of the process when something is broken that must not go on: a failed write or sync, damaged data of ours, a
 * broken invariant of the core, an entry of a later release. One line says what and where; the next start recovers.
 */
import { DatabaseError } from '#base';
import { isCorruptRecord } from '#database';
import type { Logger } from '#observability';
import { isStoreDamage, RESTORE_HINT, StorageFailure } from '#storage';
import { noteDamage } from './front/damage-note.ts';

/** The exit code of a process that ended so; EX_SOFTWARE of sysexits. */
export const EXIT_FATAL = 70;

/** Where it happened: beside the clients, where groups, log and store are, or where tables are looked through. */
export type Isolate = 'front' | 'core' | 'scrub';

/** What the process leaves behind: a line in its log, and a note in its data directory if rows were damaged. */
export interface Remains {
  readonly logger: Logger;
  readonly dataDirectory: string;
}

/** Logs the failure and ends the process at once. Nothing that is in flight is answered. */
export function stopProcess({ logger, dataDirectory }: Remains, isolate: Isolate, failure: unknown): never {
  const reason = failure instanceof DatabaseError ? failure.details.reason : undefined;
  const error = failure instanceof Error ? failure : new Error(String(failure));
  const isDamaged = isDamage(isolate, failure);
  if (isDamaged) note(dataDirectory, error.message, logger);
  const advice = isDamaged ? { advice: `Check the disk. ${RESTORE_HINT}` } : {};
  const told = { isolate, exitCode: EXIT_FATAL, ...(reason === undefined ? {} : { reason }), ...advice };
  logger.fatal('fatal', { ...told, error });
  logger.flush();
  process.exit(EXIT_FATAL);
}

/** Whether the next start has to look at every row before it believes one (W19). */
function isDamage(isolate: Isolate, failure: unknown): boolean {
  if (isCorruptRecord(failure) || isStoreDamage(failure)) return true;
  return isolate === 'scrub' && failure instanceof StorageFailure;
}

function note(dataDirectory: string, text: string, logger: Logger): void {
  try {
    noteDamage(dataDirectory, text);
  } catch (cause) {
    // The process ends all the same; its next start finds the damage later.
    logger.error('damage-not-noted', { error: cause instanceof Error ? cause : new Error(String(cause)) });
  }
}
