/**
 * Ends the process after a fatal failure: a failed write or sync, damaged data, a broken invariant of the core, or a
 * log entry that a newer release wrote. One log line names the failure; the next start recovers.
 */
import { DatabaseError } from '#base';
import { isCorruptRecord } from '#database';
import { isHistoryDamage } from '#kv';
import type { Logger } from '#observability';
import { isStoreDamage, RESTORE_HINT } from '#storage';
import { DUPLICATE_PROCESS } from '../refusals.ts';
import { noteDamage } from '../store/damage-note.ts';

/** Exit code of such a process; EX_SOFTWARE of sysexits. */
export const EXIT_FATAL = 70;
/** EX_CONFIG of sysexits: two processes were started as one node. */
const EXIT_DUPLICATE = 78;

const DAMAGE_HINT =
  'Check disk and memory. The next start makes damaged and missing rows again, from the events, or takes a database ' +
  `with damaged events out of service. If it refuses: ${RESTORE_HINT}`;

/** Where it happened: in the thread of the clients, of the core, or of the scrub. */
export type Isolate = 'front' | 'core' | 'scrub';

/** Traces of the process: a line in its log, and a note in its data directory if data were damaged. */
export interface Remains {
  readonly logger: Logger;
  readonly dataDirectory: string;
}

/** Logs the failure and ends the process at once. Requests in flight are not answered. */
export function stopProcess({ logger, dataDirectory }: Remains, isolate: Isolate, failure: unknown): never {
  const reason = failure instanceof DatabaseError ? failure.details.reason : undefined;
  const error = failure instanceof Error ? failure : new Error(String(failure));
  const isDamaged = isCorruptRecord(failure) || isHistoryDamage(failure) || isStoreDamage(failure);
  if (isDamaged) noteOrLog({ logger, dataDirectory }, error);
  const advice = isDamaged ? { advice: DAMAGE_HINT } : {};
  const exitCode = reason === DUPLICATE_PROCESS ? EXIT_DUPLICATE : EXIT_FATAL;
  const fields = { isolate, exitCode, ...(reason === undefined ? {} : { reason }), ...advice };
  logger.fatal('fatal', { ...fields, error });
  logger.flush();
  process.exit(exitCode);
}

/** Notes the damage for the next start. */
export function noteOrLog({ logger, dataDirectory }: Remains, damage: Error): void {
  try {
    const group = damage instanceof DatabaseError ? damage.details.damaged : undefined;
    const groups = group === undefined ? [] : [group];
    noteDamage(dataDirectory, { text: damage.message, groups, isOfStore: isStoreDamage(damage) });
  } catch (cause) {
    // The process exits anyway; its next start finds the damage later.
    logger.error('damage-not-noted', { error: cause instanceof Error ? cause : new Error(String(cause)) });
  }
}
