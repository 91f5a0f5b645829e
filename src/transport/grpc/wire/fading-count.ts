/** Counts what happens, and forgets so many of it in a second. */
export class FadingCount {
  readonly #perSecond: number;
  #count = 0;
  #atMs = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  get count(): number {
    const nowMs = performance.now();
    this.#count = Math.max(0, this.#count - (this.#perSecond * (nowMs - this.#atMs)) / 1_000);
    this.#atMs = nowMs;
    return this.#count;
  }

  add(): void {
    this.#count += 1;
  }
}
