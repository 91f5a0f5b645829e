/**
 * A table of LevelDB, read to find out whether it is still what was written.
 *
 * LevelDB stores a checksum with each block of a table, and this binding never looks at it: one bit can make a value
 * wrong, but also a row, or a whole block of them, seem not to be there. A missing row has no checksum of its own that
 * could be wrong. So the blocks are verified here.
 *
 *   W19  A table passes only when every one of its bytes is as it was written: blocks lie end to end and each matches
 *        its checksum, and the footer is, bit for bit, the one that these blocks have.
 *
 * ```
 *   table  := block*  filter?  metaindex  index  footer
 *   block  := contents, u8 type, u32 masked CRC-32C of both      type: 0 as it is, 1 Snappy
 *   footer := handle of metaindex, handle of index, zeros up to 40 bytes, u64 magic
 *   handle := varint offset, varint length of the contents
 * ```
 * metaindex and index are rows of keys with handles as values: of the filter, and of each block of rows.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { ByteReader, ByteWriter } from '#base';
import { hex32 } from './basis/little-endian.ts';
import { RESTORE_HINT, StorageFailure } from './basis/storage-failure.ts';
import { maskedCrc32c, readU32 } from './level-bytes.ts';
import { unsnappy } from './snappy.ts';

export interface BlockHandle {
  readonly offset: number;
  /** Bytes of the contents, without type and checksum. */
  readonly length: number;
}

export interface BlockRow {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** What is read and verified at a time, unless a single block is larger. */
const SLICE_BYTES = 256 * 1024;
const TRAILER_BYTES = 5;
const FOOTER_BYTES = 48;
const HANDLES_BYTES = 40;
const MAGIC = Uint8Array.of(0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb);
const TYPE_RAW = 0;
const TYPE_SNAPPY = 1;
/** An index has about 40 bytes for each block of 4 KiB of its table; more than this is no index. */
const INDEX_BYTES_MAX = 2 ** 28;

const HINT =
  'Its rows cannot be trusted, nor can an answer that something is not there. Copy the data directory as it is, replace ' +
  `the disk or the memory if either is at fault. ${RESTORE_HINT}`;

export class LevelTable {
  static #slice: Uint8Array = new Uint8Array(0);
  readonly path: string;
  readonly bytes: number;
  readonly #descriptor: number;
  #rowBlocks: readonly BlockHandle[] = [];

  private constructor(path: string, bytes: number, descriptor: number) {
    this.path = path;
    this.bytes = bytes;
    this.#descriptor = descriptor;
  }

  /**
   * Opens the table, which has so many bytes, and verifies all of it but the blocks of rows.
   * @throws StorageFailure `corrupt`, with the file and the place; whatever opening the file throws.
   */
  static open(path: string, bytes: number): LevelTable {
    const table = new LevelTable(path, bytes, openSync(path, 'r'));
    try {
      table.#rowBlocks = table.#verifyFrame();
      return table;
    } catch (failure) {
      table.close();
      throw failure;
    }
  }

  /** The blocks that hold rows, in order and end to end from offset 0. */
  get rowBlocks(): readonly BlockHandle[] {
    return this.#rowBlocks;
  }

  /** Verifies blocks that lie end to end, by one read. */
  verify(blocks: readonly BlockHandle[]): void {
    const [first] = blocks;
    const last = blocks.at(-1);
    if (first === undefined || last === undefined) return;
    const count = endOf(last) - first.offset;
    // One for all tables of the thread: to make room for each slice costs as much as to read it.
    if (LevelTable.#slice.length < count) LevelTable.#slice = new Uint8Array(count);
    const bytes = this.#read(first.offset, LevelTable.#slice.subarray(0, count));
    for (const block of blocks) this.#check(block, bytes, block.offset - first.offset);
  }

  /** Verifies the blocks of rows from the first one on, a slice at a time, and gives the bytes of each. */
  *verifyRows(): Generator<number, void> {
    for (let done = 0; done < this.#rowBlocks.length; ) {
      const slice = sliceOf(this.#rowBlocks, done);
      this.verify(slice);
      done += slice.length;
      yield slice.reduce((sum, { length }) => sum + length, 0);
    }
  }

  /** The rows of a block, in the order of their keys; a key ends with eight bytes of LevelDB's own. */
  rows(block: BlockHandle): readonly BlockRow[] {
    const bytes = this.#read(block.offset, new Uint8Array(block.length + TRAILER_BYTES));
    this.#check(block, bytes, 0);
    const contents = bytes.subarray(0, block.length);
    const raw = bytes[block.length] === TYPE_SNAPPY ? unsnappy(contents, INDEX_BYTES_MAX) : contents;
    const rows = raw === undefined ? undefined : readRows(raw);
    if (rows === undefined) throw this.#damaged(block.offset, 'a block matches its checksum and holds no rows');
    return rows;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #verifyFrame(): readonly BlockHandle[] {
    const found = fstatSync(this.#descriptor).size;
    if (found !== this.bytes) throw this.#damaged(found, `its end, expected ${this.bytes} bytes`);
    const footerAt = this.bytes - FOOTER_BYTES;
    if (footerAt < 0) throw this.#damaged(0, `only ${this.bytes} bytes, which is less than a footer`);
    const footer = this.#read(footerAt, new Uint8Array(FOOTER_BYTES));
    const reader = new ByteReader(footer, 0, HANDLES_BYTES);
    const metaindex = readHandle(reader);
    const index = readHandle(reader);
    const isWhole = !reader.failed && Buffer.compare(footer, encodeFooter(metaindex, index)) === 0;
    if (!isWhole || endOf(index) !== footerAt || endOf(metaindex) !== index.offset) {
      throw this.#damaged(footerAt, `the footer ${Buffer.from(footer).toString('hex')}, which no such table has`);
    }
    const rowBlocks = this.rows(index).map(({ value }) => readHandle(new ByteReader(value)));
    const filters = this.rows(metaindex).map(({ value }) => readHandle(new ByteReader(value)));
    this.#expectEndToEnd([...rowBlocks, ...filters, metaindex]);
    this.verify(filters);
    return rowBlocks;
  }

  #expectEndToEnd(blocks: readonly BlockHandle[]): void {
    let at = 0;
    for (const block of blocks) {
      if (block.offset !== at) throw this.#damaged(at, `the next block only at ${block.offset}`);
      at = endOf(block);
    }
  }

  #check({ offset, length }: BlockHandle, bytes: Uint8Array, from: number): void {
    const stored = readU32(bytes, from + length + 1);
    const seen = maskedCrc32c(bytes, from, from + length + 1);
    if (stored !== seen) {
      throw this.#damaged(
        offset,
        `a block of ${length} bytes with checksum ${hex32(seen)}, expected ${hex32(stored)} as it was written`,
      );
    }
    const type = bytes[from + length];
    if (type !== TYPE_RAW && type !== TYPE_SNAPPY) throw this.#damaged(offset, `a block of the unknown type ${type}`);
  }

  /** Fills the bytes from there on, and gives them back. */
  #read(at: number, bytes: Uint8Array): Uint8Array {
    let done = 0;
    while (done < bytes.length) {
      const got = this.#readSome(bytes, done, at + done);
      if (got === 0) throw this.#damaged(at + done, `its end, expected ${this.bytes} bytes`);
      done += got;
    }
    return bytes;
  }

  #readSome(bytes: Uint8Array, from: number, at: number): number {
    try {
      return readSync(this.#descriptor, bytes, from, bytes.length - from, at);
    } catch (cause) {
      // The disk has said that it lost the bytes.
      throw this.#damaged(at, cause instanceof Error ? cause.message : String(cause));
    }
  }

  #damaged(offset: number, found: string): StorageFailure {
    const message = `${this.path} is damaged at offset ${offset}: found ${found}. ${HINT}`;
    return new StorageFailure('corrupt', message, { path: this.path, offset });
  }
}

/** The blocks from `from` on that fill a slice: one at least. */
function sliceOf(blocks: readonly BlockHandle[], from: number): readonly BlockHandle[] {
  const start = blocks[from]?.offset ?? 0;
  let to = from + 1;
  while (to < blocks.length && (blocks[to]?.offset ?? 0) - start < SLICE_BYTES) to++;
  return blocks.slice(from, to);
}

function endOf({ offset, length }: BlockHandle): number {
  return offset + length + TRAILER_BYTES;
}

function readHandle(reader: ByteReader): BlockHandle {
  return { offset: reader.varint(), length: reader.varint() };
}

/** The one footer that a table with these handles has: whatever LevelDB would read over must not be there either. */
function encodeFooter(metaindex: BlockHandle, index: BlockHandle): Uint8Array {
  const writer = new ByteWriter();
  for (const value of [metaindex.offset, metaindex.length, index.offset, index.length]) writer.varint(value);
  const footer = new Uint8Array(FOOTER_BYTES);
  footer.set(writer.take());
  footer.set(MAGIC, HANDLES_BYTES);
  return footer;
}

/**
 * Each key is given by how much of the one before it it shares, and the rest; the offsets of full keys end the block.
 */
function readRows(block: Uint8Array): readonly BlockRow[] | undefined {
  const restarts = readU32(block, block.length - 4);
  const reader = new ByteReader(block, 0, block.length - 4 * (restarts + 1));
  const rows: BlockRow[] = [];
  let before: Uint8Array = new Uint8Array(0);
  while (reader.left > 0 && !reader.failed) {
    const shared = reader.varint();
    const ownLength = reader.varint();
    const valueLength = reader.varint();
    const own = reader.bytes(ownLength);
    const value = reader.bytes(valueLength);
    if (shared > before.length) return undefined;
    before = shared === 0 ? own : new Uint8Array(Buffer.concat([before.subarray(0, shared), own]));
    rows.push({ key: before, value });
  }
  return reader.failed ? undefined : rows;
}
