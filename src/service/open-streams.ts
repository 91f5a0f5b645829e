/** How many streaming reads are open on this node, and that there are not too many. */
import { tooManyStreams } from './errors.ts';

export class OpenStreams {
  #count = 0;
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  get count(): number {
    return this.#count;
  }

  open(): void {
    if (this.#count >= this.#countMax) throw tooManyStreams(this.#countMax);
    this.#count++;
  }

  close(): void {
    this.#count--;
  }
}
