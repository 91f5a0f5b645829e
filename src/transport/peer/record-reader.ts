/** Assembles the records of a stream, each in memory of its own. */
import { NO_BYTES } from '#base';
import { RECORD_HEAD_BYTES, recordLength } from './lane-words.ts';

export interface ReadOn {
  /** Consumed bytes of the chunk. */
  readonly taken: number;
  /** The completed record; empty for a question. */
  readonly record: Uint8Array | undefined;
}

export class RecordReader {
  readonly #bytesMax: number;
  readonly #head = new Uint8Array(RECORD_HEAD_BYTES);
  #headLength = 0;
  #record: Uint8Array | undefined;
  #filled = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Fault of the current record's head, if any: nothing after it can be read. */
  get fault(): string | undefined {
    if (this.#headLength < RECORD_HEAD_BYTES || this.#record !== undefined) return undefined;
    const length = recordLength(this.#head);
    if (length === undefined) return 'the head of a record is damaged';
    return `a frame of ${length} bytes; the longest has ${this.#bytesMax}`;
  }

  /** Reads up to the end of a record, or all bytes. */
  read(chunk: Uint8Array): ReadOn {
    let taken = 0;
    if (this.#record === undefined) {
      taken = Math.min(RECORD_HEAD_BYTES - this.#headLength, chunk.length);
      this.#head.set(chunk.subarray(0, taken), this.#headLength);
      this.#headLength += taken;
      if (this.#headLength < RECORD_HEAD_BYTES) return { taken, record: undefined };
      const length = recordLength(this.#head);
      if (length === undefined || length > this.#bytesMax) return { taken: chunk.length, record: undefined };
      this.#record = length === 0 ? NO_BYTES : Buffer.allocUnsafeSlow(length);
      this.#filled = 0;
    }
    const part = chunk.subarray(taken, taken + this.#record.length - this.#filled);
    this.#record.set(part, this.#filled);
    this.#filled += part.length;
    taken += part.length;
    if (this.#filled < this.#record.length) return { taken, record: undefined };
    const record = this.#record;
    this.#record = undefined;
    this.#headLength = 0;
    return { taken, record };
  }
}
