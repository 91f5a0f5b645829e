// Waits for effects of sockets, timers and other processes, which do not notify the test.
import { vi } from 'vitest';
import { spending } from './costs.ts';

/** Not a speed limit: it is shorter than the timeout of a test, so that the failure shows the unmet condition. */
const LAST_MS = 50_000;

/** Polling more often would slow down the processes under test. */
const ASK_MS = 20;

/** Repeats the check until it does not fail. */
export function eventually<T>(check: () => T | Promise<T>, options: { readonly interval?: number } = {}): Promise<T> {
  return spending('waiting', () => vi.waitFor(check, { interval: ASK_MS, ...options, timeout: LAST_MS }));
}

/** Waits until the condition returns a truthy value, and returns that value. */
export function until<T>(condition: () => T | Promise<T>): Promise<T> {
  return spending('waiting', () => vi.waitUntil(condition, { interval: ASK_MS, timeout: LAST_MS })) as Promise<T>;
}
