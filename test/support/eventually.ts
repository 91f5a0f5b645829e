// Waiting for what happens on its own time, for as long as a busy machine may take.
import { vi } from 'vitest';

/** Until it holds; a busy machine takes its time. */
export function eventually<T>(check: () => T | Promise<T>, options: { readonly interval?: number } = {}): Promise<T> {
  return vi.waitFor(check, { ...options, timeout: 15_000 });
}
