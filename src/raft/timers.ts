/**
 * Timers as a table of deadlines: nothing here sleeps. The runtime reads the next deadline and sends a `tick` when it
 * has passed; `step` then checks which timers are due.
 */

/**
 * Purpose of each deadline.
 *   election   campaign if there is no leader
 *   beat       send heartbeats, and check that a quorum still answers
 *   transfer   give up the leadership transfer
 *   read       give up forwarded reads without an answer
 */
export type TimerName = 'election' | 'beat' | 'transfer' | 'read';

/** Deadlines in milliseconds of the caller's clock; a timer that is not armed is absent. */
export type Timers = Readonly<Partial<Record<TimerName, number>>>;

export const NO_TIMERS: Timers = {};

export function arm(timers: Timers, name: TimerName, deadlineMs: number): Timers {
  return { ...timers, [name]: deadlineMs };
}

export function disarm(timers: Timers, name: TimerName): Timers {
  if (timers[name] === undefined) return timers;
  const { [name]: _, ...others } = timers;
  return others;
}

export function isDue(timers: Timers, name: TimerName, nowMs: number): boolean {
  const deadlineMs = timers[name];
  return deadlineMs !== undefined && deadlineMs <= nowMs;
}

/** Time of the next useful `tick`; undefined when no timer is armed. */
export function nextDeadline({ election, beat, transfer, read }: Timers): number | undefined {
  const first = Math.min(election ?? Infinity, beat ?? Infinity, transfer ?? Infinity, read ?? Infinity);
  return first === Infinity ? undefined : first;
}
