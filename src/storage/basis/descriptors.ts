/**
 * Being out of file descriptors, which passes: whoever holds them, a crowd of connections mostly, lets go of them.
 *
 * A file that could not be opened is not a write or a sync that failed: nothing was begun, and nothing is in doubt. So
 * opening is tried again for a while, where a second write would be a lie (W7).
 */
import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = 50;
const PATIENCE_MS = 30_000;

/** Also for a failure that was caused by such an error. */
export function isOutOfDescriptors(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && (error.code === 'EMFILE' || error.code === 'ENFILE')) || isOutOfDescriptors(error.cause);
}

/** Tries again while there is no descriptor, for 30 s at most. Takes the thread: not for one that clients wait for. */
export function patiently<Value>(work: () => Value): Value {
  let endMs: number | undefined;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isOutOfDescriptors(error)) throw error;
      endMs ??= performance.now() + PATIENCE_MS;
      if (performance.now() > endMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

/** As `patiently`, and takes no thread. */
export async function patientlyAwait<Value>(work: () => Promise<Value>): Promise<Value> {
  let endMs: number | undefined;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isOutOfDescriptors(error)) throw error;
      endMs ??= performance.now() + PATIENCE_MS;
      if (performance.now() > endMs) throw error;
      await delay(PAUSE_MS);
    }
  }
}
