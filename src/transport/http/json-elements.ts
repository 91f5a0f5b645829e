/**
 * The elements of a JSON array that may be long. Of a long one nothing stays in the heap of V8, which collects late
 * what is large: its text becomes bytes as it grows. (ADR 0065)
 */
import { giveBack } from '#base';
import { type JsonMembers, type JsonText, jsonMembers } from './json-text.ts';
import { PIECE_BYTES } from './limits.ts';

export class JsonElements {
  /** The first elements, each piece with the comma in front of it that it needs. */
  readonly #pieces: Buffer[] = [];
  /** Those behind them. */
  #text = '';
  #count = 0;
  #length = 0;

  get count(): number {
    return this.#count;
  }

  /** Bytes, or characters where they are text. */
  get length(): number {
    return this.#length;
  }

  add(elements: readonly JsonText[]): void {
    for (const element of elements) {
      this.#text += this.#count === 0 ? element : `,${element}`;
      this.#count++;
      this.#length += element.length + 1;
      if (this.#text.length >= PIECE_BYTES) this.#toBytes();
    }
  }

  /**
   * An object of the first members, this array under its name, and the last members: text when it is short, UTF-8 when
   * it is not. The elements are gone afterwards.
   */
  inObject(first: JsonMembers, name: string, last: JsonMembers): JsonText | Buffer {
    const [before, behind] = [jsonMembers(first), jsonMembers(last)];
    const start = `{${before}${before === '' ? '' : ','}${JSON.stringify(name)}:[`;
    const end = `]${behind === '' ? '' : ','}${behind}}`;
    if (this.#pieces.length === 0) return `${start}${this.#text}${end}`;
    this.#toBytes();
    const bytes = Buffer.concat([Buffer.from(start), ...this.#pieces, Buffer.from(end)]);
    for (const piece of this.#pieces.splice(0)) giveBack(piece);
    return bytes;
  }

  #toBytes(): void {
    if (this.#text !== '') this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}
