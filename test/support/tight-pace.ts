/** A pace with a small byte limit: a larger value must wait for the next turn, and no slice may exceed the limit. */
import type { SlicePace, StoredEvent } from '#query';

export class TightPace implements SlicePace {
  readonly faults: string[] = [];
  /** Number of waits. */
  waits = 0;
  readonly #least: number;
  #bytes: number;
  #needed = 0;

  constructor(bytes: number) {
    this.#least = bytes;
    this.#bytes = bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  ready(): Promise<void> {
    this.#bytes = Math.max(this.#least, Math.ceil(this.#needed / 2));
    this.#needed = 0;
    return Promise.resolve();
  }

  admits(bytes: number): boolean {
    if (bytes <= 2 * this.#bytes) this.faults.push(`${bytes} bytes fit into twice ${this.#bytes}`);
    this.#needed = bytes;
    this.waits++;
    return false;
  }

  took(slice: readonly StoredEvent[]): void {
    const bytes = slice.reduce((sum, event) => sum + event.bytes.length, 0);
    if (bytes > 2 * this.#bytes) this.faults.push(`a slice of ${bytes} bytes is more than twice ${this.#bytes}`);
  }

  rest(): void {
    this.#bytes = this.#least;
  }
}
