/** Waiting as a port, so that tests decide when time passes. */

export interface Timers {
  /** Runs something once, after so many milliseconds. Returns how to stop it. */
  after(delayMs: number, run: () => void): () => void;
}

export const systemTimers: Timers = {
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
