// Waiting for what sockets, timers and other processes do, which tell nobody when they have.
import { vi } from 'vitest';
import { spending } from './costs.ts';

/** Not a bound on speed: ends before the limit of a test, so that the test says what is missing. */
const LAST_MS = 50_000;

/** Whoever asks oftener takes the processor from those that are waited for. */
const ASK_MS = 20;

/** Until it holds. */
export function eventually<T>(check: () => T | Promise<T>, options: { readonly interval?: number } = {}): Promise<T> {
  return spending('waiting', () => vi.waitFor(check, { interval: ASK_MS, ...options, timeout: LAST_MS }));
}

/** Until the condition is true, or anything else that counts as true, which it returns. */
export function until<T>(condition: () => T | Promise<T>): Promise<T> {
  return spending('waiting', () => vi.waitUntil(condition, { interval: ASK_MS, timeout: LAST_MS })) as Promise<T>;
}
