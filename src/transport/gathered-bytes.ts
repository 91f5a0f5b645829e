/**
 * Memory of long requests: gathers their pieces, and frees it once they are answered. Each piece is copied once, into
 * memory for all of them, so that its read buffer is free at once, and the request is complete with its last piece.
 *
 *   few bytes      stay as they arrived; nothing is reserved for a sender that announces much and sends little
 *   more           get memory for the announced length, or else for twice as much; memory that was never written has no
 *                  pages, so bytes that are announced and do not arrive cost none (TM3)
 */
import { DatabaseError, giveBack } from '#base';

/** Up to these bytes and pieces, the pieces stay as they arrived. */
const LOOSE_BYTES_MAX = 1_048_576;
const LOOSE_PIECES_MAX = 256;
/** Longer announcements are ignored: no request may be longer. */
const ANNOUNCED_BYTES_MAX = 2 ** 27;

export class GatheredBytes {
  readonly #announcedBytes: number;
  #loose: Uint8Array[] = [];
  #looseBytes = 0;
  #gathered: Buffer | undefined;
  #gatheredBytes = 0;

  /** `announcedBytes`: length that the sender has announced; 0 when it has not. */
  constructor(announcedBytes: number = 0) {
    this.#announcedBytes = announcedBytes <= ANNOUNCED_BYTES_MAX ? announcedBytes : 0;
  }

  get byteCount(): number {
    return this.#gatheredBytes + this.#looseBytes;
  }

  /** Number of pieces. Each keeps its whole buffer, which may be larger. */
  get pieceCount(): number {
    return this.#loose.length + (this.#gathered === undefined ? 0 : 1);
  }

  /** Adds a piece, which the caller does not use again. */
  add(piece: Uint8Array): void {
    this.#loose.push(piece);
    this.#looseBytes += piece.length;
    const isLong = this.#gathered !== undefined || this.#looseBytes > LOOSE_BYTES_MAX;
    if (isLong || this.#loose.length >= LOOSE_PIECES_MAX) this.#gather();
  }

  /** Returns all bytes in one array that shares no memory with the pieces, and forgets them. */
  take(): Uint8Array {
    const gathered = this.#gathered;
    if (gathered === undefined) {
      const whole = Buffer.concat(this.#loose, this.#looseBytes);
      this.clear();
      return whole;
    }
    const whole = gathered.subarray(0, this.#gatheredBytes);
    this.clear();
    return whole;
  }

  clear(): void {
    this.#loose = [];
    this.#looseBytes = 0;
    this.#gathered = undefined;
    this.#gatheredBytes = 0;
  }

  #gather(): void {
    const into = this.#roomFor(this.byteCount);
    for (const piece of this.#loose) {
      into.set(piece, this.#gatheredBytes);
      this.#gatheredBytes += piece.length;
      giveBack(piece);
    }
    this.#loose = [];
    this.#looseBytes = 0;
  }

  #roomFor(bytes: number): Buffer {
    const known = this.#gathered;
    if (known !== undefined && known.length >= bytes) return known;
    const isAnnounced = this.#looseBytes + this.#gatheredBytes > LOOSE_BYTES_MAX && bytes <= this.#announcedBytes;
    // Neither from Node's pool nor filled: `take` returns the part that was written.
    const grown = Buffer.allocUnsafeSlow(isAnnounced ? this.#announcedBytes : 2 * bytes);
    if (known !== undefined) grown.set(known.subarray(0, this.#gatheredBytes));
    this.#gathered = grown;
    return grown;
  }
}

/**
 * Handles a request, then frees it, which is memory of its own: an idle garbage collector would keep it for hours.
 * After a failure that is not a fault of the request it stays, because another node may be asked. `besides`: bytes
 * around it in its buffer.
 */
export async function lettingGo<Reply>(
  request: Uint8Array,
  besides: number,
  work: () => Promise<Reply>,
): Promise<Reply> {
  try {
    const reply = await work();
    giveBack(request, besides);
    return reply;
  } catch (failure) {
    if (failure instanceof DatabaseError && FINAL.has(failure.code)) giveBack(request, besides);
    throw failure;
  }
}

const FINAL: ReadonlySet<string> = new Set(['invalid_argument', 'too_large']);
