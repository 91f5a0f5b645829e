// What happened, as one number and, when somebody wants to read it, as lines. Two runs of a seed have equal hashes, or
// something inside them looked at the real world.
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

  /** An event of the queue: part of the hash, not of the lines. */
  event(atUs: number, label: string): void {
    this.#count += 1;
    let number = this.#labels.get(label);
    if (number === undefined) {
      number = hashText(label);
      this.#labels.set(label, number);
    }
    this.#mix(number ^ atUs);
  }

  /** What was sent, or written to a disk: part of the hash, so that equal ones speak of equal bytes, too. */
  bytes(content: Uint8Array): void {
    this.#mix(crc32(content));
  }

  /** Something worth reading; `text` is only asked when somebody does. */
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
