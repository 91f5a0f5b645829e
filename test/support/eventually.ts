// Waiting for what sockets, timers and other processes do, which tell nobody when they have.
import { vi } from 'vitest';
import { spending } from './costs.ts';

/**
 * Nothing is said about how long it takes: what has to be quick is tested against what would be slower. This ends
 * before the limit of the test only so that the test says what is missing.
 */
const LAST_MS = 50_000;

/** Whoever asks oftener takes the processor from those that are waited for. */
const ASK_MS = 20;

/** Until it holds. */
export function eventually<T>(check: () => T | Promise<T>, options: { readonly interval?: number } = {}): Promise<T> {
  return spending('waiting', () => vi.waitFor(check, { interval: ASK_MS, ...options, timeout: LAST_MS }));
}
