/** The artifacts that a process holds, by number; the least recently used one is dropped when there are too many. */
export interface Use {
  readonly number: number;
  readonly isNew: boolean;
  /** The number of the artifact to unload. */
  readonly dropped: number | undefined;
}

export class LoadedArtifacts {
  readonly #max: number;
  /** In the order of their last use. */
  readonly #numbers: Map<string, number> = new Map();
  #next = 1;

  constructor(max: number) {
    this.#max = max;
  }

  use(pool: string): Use {
    const known = this.#numbers.get(pool);
    const number = known ?? this.#next++;
    this.#numbers.delete(pool);
    this.#numbers.set(pool, number);
    return { number, isNew: known === undefined, dropped: this.#overflow() };
  }

  #overflow(): number | undefined {
    const [oldest] = this.#numbers;
    if (this.#numbers.size <= this.#max || oldest === undefined) return undefined;
    this.#numbers.delete(oldest[0]);
    return oldest[1];
  }
}
