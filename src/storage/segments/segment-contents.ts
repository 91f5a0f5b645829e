/**
 * The contents of a sealed segment (docs/formats/segments.md), block by block: verifies blocks and the framing of
 * records, and makes the footer that follows from them.
 *
 * ```
 * footer := table, last
 * table  := blocks with u64 revision, u64 position of every 64 KiB or so                     none for a short segment
 * last   := a block with the magic, the start of the next segment, the hash, u32 count of the entries of the table
 * ```
 */
import { createHash } from 'node:crypto';
import { hasBytesAt } from '#base';
import { RECORD, type SegmentStart } from '#kv';
import { viewOf, writeU64 } from '../basis/little-endian.ts';
import {
  BLOCK_BYTES,
  BLOCK_DATA_BYTES,
  blockStart,
  fillBlocks,
  IN_FOOTER,
  readHeader,
  readStart,
  START_BYTES,
  sealBlock,
  usedInBlock,
  writeStart,
} from './segment-format.ts';

const MAGIC: Uint8Array = Uint8Array.from('CairnEnd', (letter) => letter.charCodeAt(0));
const NEXT_AT = 8;
const HASH_AT: number = NEXT_AT + START_BYTES;
const COUNT_AT: number = HASH_AT + 32;
const LAST_BYTES: number = COUNT_AT + 4;

/** A record that begins at least so many bytes after that of the last entry has the next entry. */
const ENTRY_DISTANCE = 64 * 1024;
/** The next byte of a length is worth no more. */
const SCALE_MAX = 2 ** 49;

export class SegmentContents {
  readonly #base: number;
  readonly #hash = createHash('sha256');
  /** Revision and position of each entry. */
  readonly #table: number[] = [];
  #block = 0;
  #position: number;
  #revision = 0;
  #entryAt: number;
  /** Bytes of the record that are still to come; its length is known. */
  #left = 0;
  /** The factor of the next byte of its length; 0 at the begin of a record. */
  #scale = 0;
  #length = 0;
  #fault: string | undefined;

  constructor(base: number) {
    this.#base = base;
    this.#position = base;
    this.#entryAt = base;
  }

  /** Takes the next blocks of the file, from the header on. */
  take(blocks: Uint8Array): void {
    for (let at = 0; at < blocks.length; at += BLOCK_BYTES)
      this.#fault ??= this.#takeBlock(blocks.subarray(at, at + BLOCK_BYTES));
  }

  /** The footer of a segment that ends here; as text: why it has none. */
  footer(next: SegmentStart): Uint8Array | string {
    if (this.#fault !== undefined) return this.#fault;
    if (this.#left !== 0 || this.#scale !== 0) return 'its last record is cut';
    if (next.position !== this.#position || next.revision !== this.#revision) {
      const found = `position ${this.#position} and before revision ${this.#revision}`;
      return `it ends at ${found}, and the next one begins at ${next.position} with ${next.revision}`;
    }
    return encodeFooter(next, this.#hash.digest(), this.#table);
  }

  #takeBlock(block: Uint8Array): string | undefined {
    const number = this.#block++;
    const used = usedInBlock(block, 0);
    if (used === undefined) return `block ${number} does not match its checksum`;
    const data = block.subarray(0, used);
    this.#hash.update(data);
    if (number === 0) return this.#takeHeader(block);
    if (this.#position !== blockStart(number, this.#base)) return `block ${number - 1} is not full`;
    this.#walk(data);
    return undefined;
  }

  #takeHeader(block: Uint8Array): string | undefined {
    const start = readHeader(block);
    if (typeof start === 'string') return start;
    this.#revision = start.revision;
    return start.position === this.#base ? undefined : `its header has position ${start.position}`;
  }

  /** Follows records from one to the next. */
  #walk(data: Uint8Array): void {
    const start = this.#position;
    for (let at = 0; at < data.length; ) {
      if (this.#left > 0) {
        const some = Math.min(this.#left, data.length - at);
        at += some;
        this.#left -= some;
        continue;
      }
      const byte = data[at] ?? 0;
      if (this.#scale === 0) this.#beginRecord(byte, start + at);
      else this.#readLength(byte);
      at += 1;
    }
    this.#position = start + data.length;
  }

  #beginRecord(kind: number, position: number): void {
    if (position >= this.#entryAt + ENTRY_DISTANCE) {
      this.#table.push(this.#revision, position);
      this.#entryAt = position;
    }
    if (kind === RECORD.TRANSACTION) this.#revision += 1;
    this.#scale = 1;
    this.#length = 0;
  }

  #readLength(byte: number): void {
    this.#length += (byte & 0x7f) * this.#scale;
    this.#scale *= 0x80;
    const isTooLong = this.#scale > SCALE_MAX;
    if (byte >= 0x80 && !isTooLong) return;
    // No segment has a record that is so long, so it is cut.
    this.#left = isTooLong ? Number.POSITIVE_INFINITY : this.#length;
    this.#scale = 0;
  }
}

function encodeFooter(next: SegmentStart, hash: Uint8Array, table: readonly number[]): Uint8Array {
  const entries = new Uint8Array(8 * table.length);
  for (const [index, value] of table.entries()) writeU64(viewOf(entries), 8 * index, value);
  const lastAt = Math.ceil(entries.length / BLOCK_DATA_BYTES) * BLOCK_BYTES;
  const bytes = new Uint8Array(lastAt + BLOCK_BYTES);
  if (lastAt > 0) fillBlocks(bytes, 0, entries, IN_FOOTER);
  bytes.set(MAGIC, lastAt);
  writeStart(bytes, lastAt + NEXT_AT, next);
  bytes.set(hash, lastAt + HASH_AT);
  viewOf(bytes).setUint32(lastAt + COUNT_AT, table.length / 2, true);
  sealBlock(bytes, lastAt, LAST_BYTES, IN_FOOTER);
  return bytes;
}

/** The start of the next segment, from the last block of a sealed one; undefined when it is another block. */
export function readNext(bytes: Uint8Array): SegmentStart | undefined {
  const isLast = usedInBlock(bytes, 0, IN_FOOTER) === LAST_BYTES && hasBytesAt(bytes, 0, MAGIC);
  return isLast ? readStart(bytes, NEXT_AT) : undefined;
}
