/** Waits for a node that may be silent, by the time in which this thread has run. */

/** A thread that stood still misses one step of the wait, however long it stood. */
const STEPS = 10;

/**
 * Calls back after `ms` in which this thread could hear an answer. Returns a function that ends the wait.
 *
 * A process without a processor for a while finds its timers due before it reads what has arrived. One timer would
 * declare every other node silent then: each step gives the event loop a turn to read.
 */
export function afterSilence(ms: number, onSilent: () => void): () => void {
  let left = STEPS;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    onSilent();
  }, ms / STEPS);
  return () => clearInterval(timer);
}
