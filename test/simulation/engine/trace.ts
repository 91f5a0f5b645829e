// The trace of a run: a hash, and optionally readable lines. Two runs of a seed must have equal hashes; otherwise
// something in them depends on the real world.
import { crc32 } from 'node:zlib';
import { hashText } from './random.ts';

export class Trace {
  readonly #labels = new Map<string, number>();
  readonly #listener: ((line: string) => void) | undefined;
  #low = 1;
  #high = 2;
  #count = 0;

  constructor(listener?: (line: string) => void) {
    this.#listener = listener;
  }

  get hash(): string {
    return (this.#high >>> 0).toString(16).padStart(8, '0') + (this.#low >>> 0).toString(16).padStart(8, '0');
  }

  get eventCount(): number {
    return this.#count;
  }

  /** Adds an event of the queue to the hash, but not to the lines. */
  event(atUs: number, label: string): void {
    this.#count += 1;
    let number = this.#labels.get(label);
    if (number === undefined) {
      number = hashText(label);
      this.#labels.set(label, number);
    }
    this.#mix(number ^ atUs);
  }

  /** Adds sent or written bytes to the hash, so that equal hashes imply equal bytes. */
  bytes(content: Uint8Array): void {
    this.#mix(crc32(content));
  }

  /** Adds a readable line; `text` is only called when there is a listener. */
  note(atUs: number, key: string, text: () => string): void {
    this.#mix(hashText(key) ^ atUs);
    this.#listener?.(`${(atUs / 1e6).toFixed(6).padStart(12)}  ${text()}`);
  }

  #mix(value: number): void {
    this.#low = Math.imul(this.#low ^ value, 0x9e_37_79_b1);
    this.#low ^= this.#low >>> 15;
    this.#high = (Math.imul(this.#high, 0x85_eb_ca_6b) + this.#low) | 0;
  }
}
