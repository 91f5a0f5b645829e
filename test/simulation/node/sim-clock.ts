/** The two clocks of a node: a wall clock that drifts and can be set, and a monotonic clock that only drifts. */
import type { Simulator } from '../engine/simulator.ts';

/** The wall clock at the start of a run: 2026-01-01. */
const EPOCH_MS = 1_767_225_600_000;

export class SimClock {
  readonly #simulator: Simulator;
  readonly #rate: number;
  #stepMs = 0;

  /** `ppm`: rate error of the clock in parts per million; positive is fast. */
  constructor(simulator: Simulator, ppm: number) {
    this.#simulator = simulator;
    this.#rate = 1 + ppm / 1e6;
  }

  nowMs(): number {
    return Math.floor(EPOCH_MS + this.#stepMs + this.monotonicMs());
  }

  monotonicMs(): number {
    return (this.#simulator.nowUs / 1000) * this.#rate;
  }

  /** Sets the wall clock. */
  step(byMs: number): void {
    this.#stepMs += byMs;
  }

  correct(): void {
    this.#stepMs = 0;
  }
}
