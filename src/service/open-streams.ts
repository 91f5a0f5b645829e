/** How many streaming reads, or live tails, are open on this node, and that there are not too many. */
import { tooManyStreams } from './errors.ts';

export class OpenStreams {
  #count = 0;
  readonly #what: 'streaming reads' | 'live tails';
  readonly #countMax: number;

  constructor(what: 'streaming reads' | 'live tails', countMax: number) {
    this.#what = what;
    this.#countMax = countMax;
  }

  get count(): number {
    return this.#count;
  }

  open(): void {
    if (this.#count >= this.#countMax) throw tooManyStreams(this.#what, this.#countMax);
    this.#count++;
  }

  close(): void {
    this.#count--;
  }
}
