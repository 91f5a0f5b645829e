/** Counts and limits the open streaming reads, or subscriptions, of this node. */
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
