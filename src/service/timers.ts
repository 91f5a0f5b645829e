/** The port for waiting, so that tests and the simulation control time. */
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface Timers {
  /** Runs a function once, after so many milliseconds. Returns a function that cancels it. */
  after(delayMs: number, run: () => void): () => void;
  /** Resolves after other pending work of the event loop had its turn. */
  turn(): Promise<void>;
  /** A monotonic clock, for measuring durations. */
  monotonicMs(): number;
}

export const systemTimers: Timers = {
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  turn: () => nextTurn(),
  monotonicMs: () => performance.now(),
};
