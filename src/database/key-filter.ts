/**
 * Which keys surely have no row yet: a Bloom filter in memory, so that new ids and new subjects, the common case, cost
 * no read of the store. It never decides anything: a key that it may know is looked up (D6).
 *
 * After a restart it does not know the keys of before and answers "maybe" to all, until it has been told every one of
 * them (`complete`). It grows by adding sections, each twice as large as the one before; beyond its bound it gives up
 * and answers "maybe" for ever.
 *
 * A section is an array of blocks of 64 bytes, one cache line; a key sets BITS_PER_KEY bits of one block. With about 21
 * bits a key, 2 in 1,000 keys that it does not hold are looked up in vain.
 */
const WORDS_PER_BLOCK = 16;
const BITS_PER_KEY = 7;
const KEYS_PER_BLOCK = 24;
const FIRST_SECTION_KEYS = 128 * KEYS_PER_BLOCK;

interface Section {
  readonly words: Uint32Array;
  /** Count of blocks − 1; the count is a power of two. */
  readonly blockMask: number;
  readonly keysMax: number;
  keys: number;
}

export class KeyFilter {
  readonly #bytesMax: number;
  readonly #sections: Section[] = [];
  #bytes = 0;
  #state: 'partial' | 'complete' | 'overflowed' = 'partial';

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Every key that has a row has been added. */
  complete(): void {
    if (this.#state === 'partial') this.#state = 'complete';
  }

  get isComplete(): boolean {
    return this.#state === 'complete';
  }

  /** Whether adding more is of any use. */
  get isOverflowed(): boolean {
    return this.#state === 'overflowed';
  }

  add(high: number, low: number): void {
    if (this.#state === 'overflowed') return;
    let section = this.#sections.at(-1);
    if (section === undefined || section.keys === section.keysMax) {
      section = this.#grow(section);
      if (section === undefined) return;
    }
    section.keys++;
    const at = (low & section.blockMask) * WORDS_PER_BLOCK;
    let bits = high;
    for (let n = 0; n < BITS_PER_KEY; n++) {
      const word = at + ((bits >>> 5) & 15);
      section.words[word] = (section.words[word] ?? 0) | (1 << (bits & 31));
      bits = nextBits(bits);
    }
  }

  /** False: the key has surely not been added, nor had it a row before. */
  mayHold(high: number, low: number): boolean {
    if (this.#state !== 'complete') return true;
    for (const section of this.#sections) {
      if (holds(section, high, low)) return true;
    }
    return false;
  }

  #grow(last: Section | undefined): Section | undefined {
    const keysMax = last === undefined ? FIRST_SECTION_KEYS : last.keysMax * 2;
    const blocks = keysMax / KEYS_PER_BLOCK;
    const words = blocks * WORDS_PER_BLOCK;
    if (this.#bytes + words * 4 > this.#bytesMax) {
      this.#state = 'overflowed';
      this.#sections.length = 0;
      return undefined;
    }
    this.#bytes += words * 4;
    const section = { words: new Uint32Array(words), blockMask: blocks - 1, keysMax, keys: 0 };
    this.#sections.push(section);
    return section;
  }
}

function holds(section: Section, high: number, low: number): boolean {
  const at = (low & section.blockMask) * WORDS_PER_BLOCK;
  let bits = high;
  for (let n = 0; n < BITS_PER_KEY; n++) {
    if (((section.words[at + ((bits >>> 5) & 15)] ?? 0) & (1 << (bits & 31))) === 0) return false;
    bits = nextBits(bits);
  }
  return true;
}

function nextBits(bits: number): number {
  const mixed = Math.imul(bits ^ (bits >>> 9), 0x2c1b3c6d);
  return mixed ^ (mixed >>> 15);
}
