/** Waiting for somebody who may have fallen silent, by a clock that runs on while this thread stands still. */

/**
 * Calls back when so much time has passed, and whatever had arrived by then was heard. Returns what ends the wait.
 *
 * A thread that stood still finds its timers due before it reads what lies in its sockets: the answer may be there.
 */
export function afterSilence(ms: number, onSilent: () => void): () => void {
  let isOver = false;
  const timer = setTimeout(() => {
    setImmediate(() => {
      if (!isOver) onSilent();
    });
  }, ms);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
