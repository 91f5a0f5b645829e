/**
 * The elements of a JSON array. The text of a long array becomes bytes as it grows, because V8 collects large strings
 * late (ADR 0017).
 */
import { assert, giveBack } from '#base';
import type { JsonText } from './json-text.ts';
import { PIECE_BYTES } from './limits.ts';

export class JsonElements {
  /** The first elements as bytes. Each piece starts with a comma if it needs one. */
  readonly #pieces: Buffer[] = [];
  readonly #pieceLength: number;
  /** The elements after them. */
  #texts: JsonText[] = [];
  #textLength = 0;
  #count = 0;
  #length = 0;

  /** `pieceLength`: characters of a piece that becomes bytes. */
  constructor(pieceLength: number = PIECE_BYTES) {
    this.#pieceLength = pieceLength;
  }

  /** An array that stays text. */
  static of(texts: readonly JsonText[]): JsonElements {
    const elements = new JsonElements(Number.POSITIVE_INFINITY);
    elements.add(texts);
    return elements;
  }

  get count(): number {
    return this.#count;
  }

  /** Bytes, or characters while the elements are text. */
  get length(): number {
    return this.#length;
  }

  add(elements: readonly JsonText[]): void {
    for (const element of elements) {
      this.#texts.push(element);
      this.#count++;
      this.#textLength += element.length + 1;
      this.#length += element.length + 1;
      if (this.#textLength >= this.#pieceLength) this.#toBytes();
    }
  }

  texts(): readonly JsonText[] {
    assert(this.#pieces.length === 0, 'Elements that are bytes are no texts any more');
    return this.#texts;
  }

  /**
   * Returns an object of the first members, this array under its name, and the last members, or without a name the
   * array alone: as text when it is short, as UTF-8 with a line break otherwise. Drops the elements.
   */
  inObject(first: string, name: string | undefined, last: string): JsonText | Buffer {
    if (name === undefined) return this.#between('[', ']');
    const start = `{${first}${first === '' ? '' : ','}${JSON.stringify(name)}:[`;
    return this.#between(start, `]${last === '' ? '' : ','}${last}}`);
  }

  #between(start: string, end: string): JsonText | Buffer {
    if (this.#pieces.length === 0) return `${start}${this.#texts.join(',')}${end}`;
    this.#toBytes();
    const bytes = Buffer.concat([Buffer.from(start), ...this.#pieces, Buffer.from(`${end}\n`)]);
    for (const piece of this.#pieces.splice(0)) giveBack(piece);
    return bytes;
  }

  #toBytes(): void {
    if (this.#texts.length === 0) return;
    const comma = this.#pieces.length === 0 ? '' : ',';
    this.#pieces.push(Buffer.from(`${comma}${this.#texts.join(',')}`));
    this.#texts = [];
    this.#textLength = 0;
  }
}
