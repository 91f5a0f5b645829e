/**
 * Counted and measured values as plain numbers, until they are read.
 *
 * prom-client validates, hashes and looks up labels on every increment. When that code is warm it is cheap; for a
 * single request with cold code it is as expensive as some of the work that is counted. So values are added up here and
 * handed over before a scrape; observations, which cannot be added up, as soon as there are many of them.
 */

/** Maximum number of pending observations. */
const OBSERVATIONS_MAX = 256;

export class PendingCount {
  readonly #handOver: (sum: number) => void;
  #total = 0;
  #handedOver = 0;

  constructor(handOver: (sum: number) => void) {
    this.#handOver = handOver;
  }

  add(by = 1): void {
    this.#total += by;
  }

  raiseTo(total: number): void {
    this.#total = Math.max(this.#total, total);
  }

  /** Hands over 0, too: an unused counter is then shown as 0. */
  handOver(): void {
    this.#handOver(this.#total - this.#handedOver);
    this.#handedOver = this.#total;
  }
}

export class PendingLevel {
  readonly #handOver: (value: number) => void;
  /** Undefined: never set. */
  #value: number | undefined;

  constructor(handOver: (value: number) => void) {
    this.#handOver = handOver;
  }

  set(value: number): void {
    this.#value = value;
  }

  move(by: number): void {
    this.#value = (this.#value ?? 0) + by;
  }

  handOver(): void {
    if (this.#value !== undefined) this.#handOver(this.#value);
  }
}

export class PendingObservations {
  readonly #handOver: (value: number) => void;
  #values: number[] = [];

  constructor(handOver: (value: number) => void) {
    this.#handOver = handOver;
  }

  observe(value: number): void {
    if (this.#values.push(value) >= OBSERVATIONS_MAX) this.handOver();
  }

  handOver(): void {
    const values = this.#values;
    this.#values = [];
    for (const value of values) this.#handOver(value);
  }
}
