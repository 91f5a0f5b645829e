/** Keys that a controller wants to see again after a time that it knows, as a source of its loop. */
import type { Runtime, Source } from '../kube/index.ts';

export class Later implements Source {
  readonly synced: Promise<void> = Promise.resolve();
  readonly #runtime: Runtime;
  readonly #timers = new Map<string, () => void>();
  #add: ((key: string) => void) | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  subscribe(add: (key: string) => void): () => void {
    this.#add = add;
    return () => {
      this.#add = undefined;
      for (const cancel of this.#timers.values()) cancel();
      this.#timers.clear();
    };
  }

  /** Replaces an earlier time of the key. */
  again(key: string, ms: number): void {
    this.#timers.get(key)?.();
    const then = (): void => {
      this.#timers.delete(key);
      this.#add?.(key);
    };
    this.#timers.set(key, this.#runtime.after(ms, then));
  }
}
