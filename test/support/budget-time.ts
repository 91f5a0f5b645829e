/** Time for byte budgets that only the test advances, and a wait for a condition. */
import type { BudgetTime } from '../../src/transport/memory-budget.ts';

export class ManualTime implements BudgetTime {
  readonly #repeated = new Set<() => void>();
  #nowMs = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  every(_periodMs: number, run: () => void): () => void {
    this.#repeated.add(run);
    return () => this.#repeated.delete(run);
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    for (const run of this.#repeated) run();
  }
}

/** Resolves once the condition holds; only the timeout of the test limits the wait. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
}
