/**
 * The pieces of a body that has not arrived whole. A sender decides how small they are, and an object for each byte
 * would be a hundred times the byte: they are put together now and then.
 */

const LOOSE_PIECES_MAX = 256;

export class BodyPieces {
  #joined: Uint8Array[] = [];
  #loose: Uint8Array[] = [];
  #byteCount = 0;

  get byteCount(): number {
    return this.#byteCount;
  }

  add(piece: Uint8Array): void {
    this.#byteCount += piece.length;
    if (this.#loose.push(piece) < LOOSE_PIECES_MAX) return;
    this.#joined.push(Buffer.concat(this.#loose));
    this.#loose = [];
  }

  /** All of them in one, copied: none shares memory with what the socket is read into. */
  whole(): Uint8Array {
    return Buffer.concat([...this.#joined, ...this.#loose], this.#byteCount);
  }

  clear(): void {
    this.#joined = [];
    this.#loose = [];
    this.#byteCount = 0;
  }
}
