/** Real time. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Timers } from '#base';

export const systemTimers: Timers = {
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  turn: () => nextTurn(),
  monotonicMs: () => performance.now(),
};
