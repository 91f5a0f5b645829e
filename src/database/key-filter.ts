/**
 * A Bloom filter in memory of the keys that have rows, so that new ids and new subjects, the common case, cost no
 * read. It never decides anything: a key that may have a row is looked up (D6).
 *
 * After a restart it answers "maybe" for every key, until it has been given all stored keys (`complete`). It grows by
 * adding sections; beyond its bound it is dropped and answers "maybe" from then on.
 *
 * A section is an array of blocks of 64 bytes, one cache line; a key sets BITS_PER_KEY bits of one block. With about 21
 * bits a key, 2 in 1,000 absent keys are looked up in the store without need.
 *
 * A new key is looked up in every section, and with millions of keys most of that time is cache misses. So each section
 * is four times as large as the one before, which keeps their number low. Three bits of a block are tested at once:
 * they are almost never all set, so the processor speculates on to the next section while it waits.
 */
const WORDS_PER_BLOCK = 16;
const BLOCK_BYTES = 4 * WORDS_PER_BLOCK;
const BITS_PER_KEY = 7;
const BITS_LOOKED_AT_FIRST = 3;
const KEYS_PER_BLOCK = 24;
const FIRST_SECTION_BLOCKS = 128;
const GROWTH = 4;

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

  /** True when it was dropped, so that adding more has no effect. */
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
    const second = nextBits(high);
    const third = nextBits(second);
    for (const { words, blockMask } of this.#sections) {
      const at = (low & blockMask) * WORDS_PER_BLOCK;
      const first = (words[at + ((high >>> 5) & 15)] ?? 0) >>> (high & 31);
      const both = first & ((words[at + ((second >>> 5) & 15)] ?? 0) >>> (second & 31));
      const all = both & ((words[at + ((third >>> 5) & 15)] ?? 0) >>> (third & 31));
      if ((all & 1) === 1 && holdsRest(words, at, third)) return true;
    }
    return false;
  }

  /** The next section: as large as it should be, or as there is room for. */
  #grow(last: Section | undefined): Section | undefined {
    let blocks = last === undefined ? FIRST_SECTION_BLOCKS : (last.blockMask + 1) * GROWTH;
    while (this.#bytes + blocks * BLOCK_BYTES > this.#bytesMax) blocks /= 2;
    if (blocks < FIRST_SECTION_BLOCKS) {
      this.#state = 'overflowed';
      this.#sections.length = 0;
      return undefined;
    }
    this.#bytes += blocks * BLOCK_BYTES;
    const words = new Uint32Array(blocks * WORDS_PER_BLOCK);
    const section = { words, blockMask: blocks - 1, keysMax: blocks * KEYS_PER_BLOCK, keys: 0 };
    this.#sections.push(section);
    return section;
  }
}

/** True when the bits after the third are set, too. */
function holdsRest(words: Uint32Array, at: number, third: number): boolean {
  let bits = third;
  for (let n = BITS_LOOKED_AT_FIRST; n < BITS_PER_KEY; n++) {
    bits = nextBits(bits);
    if (((words[at + ((bits >>> 5) & 15)] ?? 0) & (1 << (bits & 31))) === 0) return false;
  }
  return true;
}

function nextBits(bits: number): number {
  const mixed = Math.imul(bits ^ (bits >>> 9), 0x2c1b3c6d);
  return mixed ^ (mixed >>> 15);
}
