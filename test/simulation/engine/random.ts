// Random numbers from one seed, split into named streams that do not affect each other. A fault or an operation can
// therefore be removed from a run without changing any other random decision.

const TWO_32 = 2 ** 32;

/** The generator sfc32: small, fast, and good enough for choosing faults. */
export class Rng {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number, name: string) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / TWO_32) | 0;
    this.#c = hashText(name);
    for (let round = 0; round < 12; round += 1) this.next();
  }

  /** An unsigned 32-bit number. */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A number in `[0, 1)`. */
  share(): number {
    return this.next() / TWO_32;
  }

  chance(probability: number): boolean {
    return this.share() < probability;
  }

  /** A whole number in `[from, to]`. */
  between(from: number, to: number): number {
    return from + Math.floor(this.share() * (to - from + 1));
  }

  /** Exponentially distributed waiting times with this mean, at most ten times the mean. */
  exponential(mean: number): number {
    return Math.min(-Math.log(1 - this.share()), 10) * mean;
  }

  pick<Value>(values: readonly [Value, ...Value[]]): Value {
    return values[this.between(0, values.length - 1)] ?? values[0];
  }

  pickFrom<Value>(values: readonly Value[]): Value | undefined {
    return values[this.between(0, values.length - 1)];
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.next() >>> 24);
  }

  /** A new stream, seeded from this one. */
  split(name: string): Rng {
    return new Rng(this.next() + this.next() * TWO_32, name);
  }
}

export function hashText(text: string): number {
  let hash = 0x81_1c_9d_c5 | 0;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01_00_01_93);
  return hash;
}
