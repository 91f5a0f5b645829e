/** Waiting as a port, so that tests and the simulation decide when time passes. */
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface Timers {
  /** Runs something once, after so many milliseconds. Returns how to stop it. */
  after(delayMs: number, run: () => void): () => void;
  /** Resolves when everything else that is waiting for its turn has had it. */
  turn(): Promise<void>;
  /** A clock that never goes back, for measuring how long something took. */
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
