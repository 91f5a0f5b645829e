/**
 * Histories: the events of each group, as one sequence of bytes that grows at its end and never changes before it.
 *
 * ```
 * history  := record*
 * record   := u8 kind, varint length, `length` bytes
 * position := the number of bytes of the history before a place in it
 * ```
 * A history is kept in segments, which are cut between two records. Where they are cut follows from the log alone, so
 * the segments of all replicas of a group are equal (docs/formats/segments.md).
 */
import { DatabaseError, type GroupId, giveBack, NO_BYTES } from '#base';

/** Kinds of records. A transaction has the next revision; the others raise none. */
export const RECORD = { TRANSACTION: 1, DEFINITION: 2, REFUSAL: 3 } as const;

/** Where a segment begins, and the state there: a segment can be verified without those before it. */
export interface SegmentStart {
  readonly position: number;
  /** The revision of the first transaction from here on, which may be in a later segment. */
  readonly revision: number;
  /** The chain hash of the revision before, 32 bytes. */
  readonly chainHash: Uint8Array;
  /** Events in the revisions before. */
  readonly totalEvents: number;
  /** Recorded time of the revision before; 0 before revision 1. */
  readonly recordedTimeMs: number;
}

/** The positions `[from, to)` of a history. */
export interface HistoryRange {
  readonly from: number;
  readonly to: number;
}

/** End of the synced part of a history. A later append may tear the block there; the checksum proves its data. */
export interface HistoryEnd {
  readonly end: number;
  /** Checksum of the data of the block with the last byte, up to the end. */
  readonly crc: number;
}

/** The end of an empty history. */
export const NO_HISTORY: HistoryEnd = { end: 0, crc: 0 };

/** Records to add to a history. */
export interface HistoryAppend {
  /** The end of the history so far. */
  readonly position: number;
  /** Whole records. Not copied: they must not change until the batch is written. */
  readonly bytes: Uint8Array;
  /** The segments that begin within these records, in order; the first record of a history begins one. */
  readonly segments: readonly SegmentStart[];
}

export interface HistoryReader {
  /**
   * At least the bytes of the range, and those after it that were read along: `length` is `to - from` or more. The
   * bytes never change; with `memory` they are valid until it is reset. Reads the disk on this thread.
   * @throws HistoryFault when a checksum fails, or when the history ends before `to`
   */
  read(group: GroupId, range: HistoryRange, memory?: ReadMemory): Uint8Array;
  /**
   * Like `read` for all ranges at once: returns a promise unless they are in memory. It never waits for the disk. After
   * the promise is settled, nothing is written into `memory`.
   */
  readAll(
    group: GroupId,
    ranges: readonly HistoryRange[],
    memory?: ReadMemory,
  ): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
}

const HISTORY_DAMAGED = 'HistoryDamaged';

/**
 * Bytes of a history that are not what was written; or that are not there: the database may have been deleted during
 * the read. Both end what reads them, and nothing else.
 */
export class HistoryFault extends DatabaseError {
  readonly group: GroupId;
  readonly range: HistoryRange;

  constructor(group: GroupId, range: HistoryRange, fault: { readonly isMissing: boolean; readonly text: string }) {
    const { from, to } = range;
    const message = `The bytes ${from} to ${to} of the history of group ${group} cannot be read: ${fault.text}`;
    const details = fault.isMissing ? { reason: 'UnexpectedRow' } : { reason: HISTORY_DAMAGED, damaged: group };
    super('internal', message, { details });
    this.group = group;
    this.range = range;
  }
}

/** Returns whether bytes of a history are damaged. The failure may come from another thread. */
export function isHistoryDamage(failure: unknown): failure is DatabaseError {
  return failure instanceof DatabaseError && failure.details.reason === HISTORY_DAMAGED;
}

const CHUNK_BYTES = 32 * 1024;
/** At most 4 MiB for the readers of one thread. */
const SPARES_MAX = 128;
const spares: Uint8Array[] = [];
/** The same for larger reads; longer ones are freed. */
const LARGE_BYTES_MAX = 512 * 1024;
const LARGE_SPARES_MAX = 8;
const largeSpares: Uint8Array[] = [];

/**
 * Memory for many reads that end together. Buffers of their own would be garbage that V8 counts, and collects its whole
 * heap for.
 */
export class ReadMemory {
  /**
   * Stands for the replica that is read. Reads with the same owner may share bytes that were read before; a replica
   * that is deleted and received again may have others, so it needs an owner of its own. Absent: nothing is shared.
   */
  readonly owner: object | undefined;
  /** Chunks in use; the last one has room. */
  readonly #chunks: Uint8Array[] = [];
  #used = CHUNK_BYTES;
  /** Memory of a read that is larger than a chunk. */
  #large: Uint8Array | undefined;

  constructor(owner?: object) {
    this.owner = owner;
  }

  /** Bytes of any content, valid until `reset`. */
  take(byteLength: number): Uint8Array {
    if (byteLength > CHUNK_BYTES) return this.#takeLarge(byteLength);
    if (this.#used + byteLength > CHUNK_BYTES) {
      this.#chunks.push(spares.pop() ?? new Uint8Array(CHUNK_BYTES));
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += byteLength;
    return this.#chunks.at(-1)?.subarray(from, this.#used) ?? NO_BYTES;
  }

  /** Nothing that was taken is used any more. */
  reset(): void {
    spares.push(...this.#chunks.splice(0, SPARES_MAX - spares.length));
    this.#chunks.length = 0;
    this.#used = CHUNK_BYTES;
    // Thousands of readers may wait for their clients: none keeps its memory for the next read.
    if (this.#large !== undefined) keepOrFree(this.#large);
    this.#large = undefined;
  }

  #takeLarge(byteLength: number): Uint8Array {
    if (this.#large !== undefined) return new Uint8Array(byteLength);
    const at = largeSpares.findLastIndex(({ length }) => length >= byteLength);
    const [spare = new Uint8Array(byteLength)] = at < 0 ? [] : largeSpares.splice(at, 1);
    this.#large = spare;
    return spare.subarray(0, byteLength);
  }
}

function keepOrFree(large: Uint8Array): void {
  if (large.length > LARGE_BYTES_MAX) return giveBack(large);
  largeSpares.push(large);
  if (largeSpares.length > LARGE_SPARES_MAX) giveBack(largeSpares.shift() ?? NO_BYTES);
}
