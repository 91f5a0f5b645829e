/**
 * The records of the write-ahead log: their bytes, and the writer that a batch of them is encoded with.
 *
 *   offset  size  field      (all numbers little-endian)
 *        0     4  length     of the whole record, these 36 bytes included
 *        4     4  crc        CRC-32 of the bytes [8, length)
 *        8     4  chain      crc of the record before this one of the same group, 0 for the group's first
 *       12     1  type       see RECORD_TYPE
 *       13     1  level      feature level of an entry, 0 for every other type
 *       14     2  zero
 *       16     4  group
 *       20     8  term
 *       28     8  index
 *       36     …  payload
 *
 * The encoder leaves `crc` and `chain` zero: only the log knows the previous record of the group, so it
 * seals the records of a batch just before it writes them (see batch-slab.ts).
 *
 * An entry that carries a membership has a type of its own, and the membership where others have their payload.
 *
 * This file does not know segments, batches or files, and it does not look into the payload of an entry.
 *
 *   W1  A record that was encoded decodes to the same value; a record that breaks the layout is refused, never guessed.
 */
import {
  assert,
  ByteReader,
  ByteWriter,
  type GroupId,
  isLogIndex,
  isTerm,
  LEVEL_FIRST,
  type LogIndex,
  NO_BYTES,
  type Term,
  toGroupId,
  toLogIndex,
  toTerm,
} from '#base';
import { decodeMembership, encodeMembership, type Membership } from '#raft';
import { readU64, writeU64 } from './basis/little-endian.ts';
import { type Checkpoint, readCheckpoint, writeCheckpoint } from './checkpoint.ts';

/** The byte that tells records apart. Numbers are never used again for something else. */
export const RECORD_TYPE = {
  entry: 1,
  hardState: 2,
  truncateFrom: 3,
  checkpoint: 4,
  groupTombstone: 5,
  groupSummary: 6,
  tombstones: 7,
  membership: 8,
  logStart: 9,
  row: 10,
  rowDeletion: 11,
} as const;

export const RECORD_HEADER_BYTES = 36;
/** Largest payload of one entry: a transaction of the largest allowed size with room for its frame. */
export const PAYLOAD_BYTES_MAX: number = 2 * 1024 * 1024;

/** Where each field of a record starts. */
export const RECORD_OFFSET = {
  length: 0,
  crc: 4,
  chain: 8,
  type: 12,
  level: 13,
  zero: 14,
  group: 16,
  term: 20,
  index: 28,
  payload: 36,
} as const;

const U64_BYTES = 8;
/** Bytes of a summary before those of its checkpoint. */
const SUMMARY_BYTES = 3 * U64_BYTES;
const START_BYTES = 4096;

/** State that a replica must never lose: the newest term it has seen, and its vote in that term (0: none). */
export interface HardState {
  readonly term: Term;
  readonly vote: number;
}

export interface LogEntry {
  readonly term: Term;
  readonly index: LogIndex;
  /** Opaque to the log; empty for a leader's own entry. */
  readonly payload: Uint8Array;
  /** Membership of the group once the entry is committed. Only in an entry without payload. */
  readonly membership?: Membership;
}

export interface LeveledEntry extends LogEntry {
  /** The feature level that the entry was written with. The log stores it; the state machine checks it. */
  readonly level: number;
}

/** State of a group at the start of a segment, so that older segments can be removed. */
export interface GroupSummary {
  readonly group: GroupId;
  readonly hardState: HardState;
  readonly checkpoint: Checkpoint;
  /** The group's last entry so far; that of the checkpoint if there is none after it. */
  readonly lastIndex: LogIndex;
}

export type LogRecord =
  | ({ readonly kind: 'entry'; readonly group: GroupId } & LeveledEntry)
  | { readonly kind: 'hard-state'; readonly group: GroupId; readonly hardState: HardState }
  | { readonly kind: 'truncate-from'; readonly group: GroupId; readonly index: LogIndex }
  | { readonly kind: 'checkpoint'; readonly group: GroupId; readonly checkpoint: Checkpoint }
  /** The state became that of a snapshot: the group's log begins after it, whatever it held before. */
  | { readonly kind: 'log-start'; readonly group: GroupId; readonly checkpoint: Checkpoint }
  | { readonly kind: 'group-tombstone'; readonly group: GroupId }
  | { readonly kind: 'group-summary'; readonly summary: GroupSummary; readonly chain: number }
  | { readonly kind: 'tombstones'; readonly groups: readonly GroupId[] };

/** A row of the ledger (ledger.ts), or without `value` its deletion. */
export interface RowChange {
  readonly key: Uint8Array;
  readonly value?: Uint8Array;
}

/**
 * Whole records, one after the other, not sealed yet. Fills its ArrayBuffer from offset 0, so it can be transferred.
 */
export type EncodedRecords = Uint8Array<ArrayBuffer>;

/**
 * Gathers the records of a batch. Each method appends one record; `take()` returns the bytes and starts again.
 * The order of the calls is the order of the records on disk.
 */
export class RecordWriter {
  #bytes: EncodedRecords;
  #view: DataView;
  #length = 0;
  readonly #checkpoint = new ByteWriter();

  constructor(startBytes: number = START_BYTES) {
    this.#bytes = new Uint8Array(startBytes);
    this.#view = new DataView(this.#bytes.buffer);
  }

  get byteLength(): number {
    return this.#length;
  }

  entry(group: GroupId, entry: LogEntry, level: number = LEVEL_FIRST): void {
    assert(entry.payload.length <= PAYLOAD_BYTES_MAX, 'A payload fits its limit', entry.payload.length);
    assert(entry.index > 0 && entry.term > 0, 'Entries start at index 1 and term 1', entry);
    if (entry.membership === undefined) return this.#entry(RECORD_TYPE.entry, group, entry, level);
    assert(entry.payload.length === 0, 'An entry with a membership has no payload', entry.payload.length);
    this.#entry(RECORD_TYPE.membership, group, { ...entry, payload: encodeMembership(entry.membership) }, level);
  }

  hardState(group: GroupId, hardState: HardState): void {
    const at = this.#begin(RECORD_TYPE.hardState, group, U64_BYTES);
    writeU64(this.#view, at + RECORD_OFFSET.term, hardState.term);
    writeU64(this.#view, at + RECORD_OFFSET.payload, hardState.vote);
  }

  /** Drops the group's entries from `index` on: what follows starts there again. */
  truncateFrom(group: GroupId, index: LogIndex): void {
    const at = this.#begin(RECORD_TYPE.truncateFrom, group, 0);
    writeU64(this.#view, at + RECORD_OFFSET.index, index);
  }

  checkpoint(group: GroupId, checkpoint: Checkpoint): void {
    this.#mark(RECORD_TYPE.checkpoint, group, checkpoint);
  }

  /** Drops all entries of the group: its state is a snapshot's, durable elsewhere, and its log begins after that. */
  logStart(group: GroupId, checkpoint: Checkpoint): void {
    this.#mark(RECORD_TYPE.logStart, group, checkpoint);
  }

  /** Ends the group for ever: nothing may be written for it afterwards, and recovery reports it as dead. */
  groupTombstone(group: GroupId): void {
    this.#begin(RECORD_TYPE.groupTombstone, group, 0);
  }

  /** Only for the first batch of a segment. `chain` is the crc of the group's last record. */
  groupSummary(summary: GroupSummary, chain: number): void {
    const checkpoint = this.#encoded(summary.checkpoint);
    const at = this.#begin(RECORD_TYPE.groupSummary, summary.group, SUMMARY_BYTES + checkpoint.length);
    this.#view.setUint32(at + RECORD_OFFSET.chain, chain, true);
    writeU64(this.#view, at + RECORD_OFFSET.term, summary.hardState.term);
    writeU64(this.#view, at + RECORD_OFFSET.index, summary.checkpoint.index);
    let payload = at + RECORD_OFFSET.payload;
    for (const value of [summary.hardState.vote, summary.checkpoint.term, summary.lastIndex]) {
      writeU64(this.#view, payload, value);
      payload += U64_BYTES;
    }
    this.#bytes.set(checkpoint, payload);
  }

  /** Only for the first batch of a segment: every group that ever ended, in ascending order. */
  tombstones(groups: readonly GroupId[]): void {
    let at = this.#begin(RECORD_TYPE.tombstones, toGroupId(0), 4 * groups.length) + RECORD_OFFSET.payload;
    for (const group of groups) {
      this.#view.setUint32(at, group, true);
      at += 4;
    }
  }

  /** Only for the ledger, whose records belong to no group. */
  row({ key, value }: RowChange): void {
    const type = value === undefined ? RECORD_TYPE.rowDeletion : RECORD_TYPE.row;
    const at = this.#begin(type, toGroupId(0), 4 + key.length + (value?.length ?? 0)) + RECORD_OFFSET.payload;
    this.#view.setUint32(at, key.length, true);
    this.#bytes.set(key, at + 4);
    this.#bytes.set(value ?? NO_BYTES, at + 4 + key.length);
  }

  /** The records so far, in an ArrayBuffer of their own; the writer is empty afterwards. */
  take(): EncodedRecords {
    const taken = this.#bytes.subarray(0, this.#length);
    // The next batch is likely to be as large as this one.
    this.#bytes = new Uint8Array(Math.max(START_BYTES, this.#length));
    this.#view = new DataView(this.#bytes.buffer);
    this.#length = 0;
    return taken;
  }

  #mark(type: number, group: GroupId, checkpoint: Checkpoint): void {
    const payload = this.#encoded(checkpoint);
    const at = this.#begin(type, group, payload.length);
    writeU64(this.#view, at + RECORD_OFFSET.term, checkpoint.term);
    writeU64(this.#view, at + RECORD_OFFSET.index, checkpoint.index);
    this.#bytes.set(payload, at + RECORD_OFFSET.payload);
  }

  /** All of a checkpoint but its index and term; lent until the next one. */
  #encoded(checkpoint: Checkpoint): Uint8Array {
    this.#checkpoint.reset();
    writeCheckpoint(this.#checkpoint, checkpoint);
    return this.#checkpoint.view();
  }

  #entry(type: number, group: GroupId, { term, index, payload }: LogEntry, level: number): void {
    const at = this.#begin(type, group, payload.length);
    this.#bytes[at + RECORD_OFFSET.level] = level;
    writeU64(this.#view, at + RECORD_OFFSET.term, term);
    writeU64(this.#view, at + RECORD_OFFSET.index, index);
    this.#bytes.set(payload, at + RECORD_OFFSET.payload);
  }

  #begin(type: number, group: GroupId, payloadBytes: number): number {
    const at = this.#length;
    const length = RECORD_HEADER_BYTES + payloadBytes;
    if (at + length > this.#bytes.length) this.#grow(at + length);
    this.#view.setUint32(at + RECORD_OFFSET.length, length, true);
    this.#bytes[at + RECORD_OFFSET.type] = type;
    this.#view.setUint32(at + RECORD_OFFSET.group, group, true);
    this.#length = at + length;
    return at;
  }

  #grow(atLeast: number): void {
    const grown = new Uint8Array(Math.max(atLeast, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/**
 * The record at `at`, whose length lies within `bytes` and whose checksum is already verified; or, as text, what is
 * wrong with it. The payload of an entry is a view into `bytes`.
 */
export function decodeRecord(bytes: Uint8Array, view: DataView, at: number): LogRecord | string {
  const type = view.getUint8(at + RECORD_OFFSET.type);
  const payloadAt = at + RECORD_OFFSET.payload;
  const payloadBytes = view.getUint32(at, true) - RECORD_HEADER_BYTES;
  if (!payloadFits(type, payloadBytes)) return `a record of type ${type} with ${payloadBytes} bytes of payload`;
  const group = toGroupId(view.getUint32(at + RECORD_OFFSET.group, true));
  const term = readU64(view, at + RECORD_OFFSET.term);
  const index = readU64(view, at + RECORD_OFFSET.index);
  if (!isTerm(term) || !isLogIndex(index)) return `a record with term ${term} and index ${index}`;
  switch (type) {
    case RECORD_TYPE.entry: {
      const level = view.getUint8(at + RECORD_OFFSET.level);
      return { kind: 'entry', group, level, term, index, payload: bytes.subarray(payloadAt, payloadAt + payloadBytes) };
    }
    case RECORD_TYPE.membership: {
      const membership = decodeMembership(bytes.subarray(payloadAt, payloadAt + payloadBytes));
      if (typeof membership === 'string') return `a membership that is none: ${membership}`;
      const level = view.getUint8(at + RECORD_OFFSET.level);
      return { kind: 'entry', group, level, term, index, payload: NO_BYTES, membership };
    }
    case RECORD_TYPE.hardState:
      return withSafe(readU64(view, payloadAt), (vote) => ({ kind: 'hard-state', group, hardState: { term, vote } }));
    case RECORD_TYPE.truncateFrom:
      return { kind: 'truncate-from', group, index };
    case RECORD_TYPE.checkpoint:
    case RECORD_TYPE.logStart: {
      const payload = bytes.subarray(payloadAt, payloadAt + payloadBytes);
      const checkpoint = readCheckpoint(payload, { index, term });
      const kind = type === RECORD_TYPE.checkpoint ? 'checkpoint' : 'log-start';
      return checkpoint === undefined ? NO_SUCH_CHECKPOINT : { kind, group, checkpoint };
    }
    case RECORD_TYPE.groupTombstone:
      return { kind: 'group-tombstone', group };
    case RECORD_TYPE.groupSummary:
      return decodeSummary(view, bytes.subarray(at, payloadAt + payloadBytes), at, { group, term, index });
    default:
      return decodeTombstones(view, payloadAt, payloadBytes);
  }
}

/** The change of a row in the record at `at`, copied; undefined when the record is another one. */
export function decodeRow(bytes: Uint8Array, view: DataView, at: number): RowChange | undefined {
  const type = view.getUint8(at + RECORD_OFFSET.type);
  const payload = new ByteReader(new Uint8Array(bytes.subarray(at + RECORD_OFFSET.payload, recordEnd(view, at))));
  const key = payload.bytes(payload.u32le());
  if (payload.failed || (type !== RECORD_TYPE.row && type !== RECORD_TYPE.rowDeletion)) return undefined;
  return type === RECORD_TYPE.row ? { key, value: payload.bytes(payload.left) } : { key };
}

/** Where the record at `at` ends. */
export function recordEnd(view: DataView, at: number): number {
  return at + view.getUint32(at + RECORD_OFFSET.length, true);
}

function decodeSummary(
  view: DataView,
  record: Uint8Array,
  at: number,
  fields: { readonly group: GroupId; readonly term: Term; readonly index: LogIndex },
): LogRecord | string {
  const [vote = 0, term = 0, lastIndex = 0] = [0, 1, 2].map((place) =>
    readU64(view, at + RECORD_OFFSET.payload + place * U64_BYTES),
  );
  const place = { index: fields.index, term: toTerm(term) };
  const checkpoint = readCheckpoint(record.subarray(RECORD_OFFSET.payload + SUMMARY_BYTES), place);
  if (checkpoint === undefined) return NO_SUCH_CHECKPOINT;
  return withSafe(Math.max(vote, term, lastIndex), () => ({
    kind: 'group-summary',
    chain: view.getUint32(at + RECORD_OFFSET.chain, true),
    summary: {
      group: fields.group,
      hardState: { term: fields.term, vote },
      checkpoint,
      lastIndex: toLogIndex(lastIndex),
    },
  }));
}

const NO_SUCH_CHECKPOINT = 'a checkpoint that is none';

function decodeTombstones(view: DataView, payloadAt: number, payloadBytes: number): LogRecord {
  const groups: GroupId[] = [];
  for (let at = payloadAt; at < payloadAt + payloadBytes; at += 4) groups.push(toGroupId(view.getUint32(at, true)));
  return { kind: 'tombstones', groups };
}

/** Builds the record unless the number that it needs is beyond 2^53 - 1. */
function withSafe(value: number, build: (value: number) => LogRecord): LogRecord | string {
  return Number.isSafeInteger(value) ? build(value) : `a record with the number ${value}`;
}

function payloadFits(type: number, payloadBytes: number): boolean {
  switch (type) {
    case RECORD_TYPE.entry:
    case RECORD_TYPE.membership:
      return payloadBytes <= PAYLOAD_BYTES_MAX;
    case RECORD_TYPE.hardState:
      return payloadBytes === U64_BYTES;
    case RECORD_TYPE.checkpoint:
    case RECORD_TYPE.logStart:
      return payloadBytes <= PAYLOAD_BYTES_MAX;
    case RECORD_TYPE.truncateFrom:
    case RECORD_TYPE.groupTombstone:
      return payloadBytes === 0;
    case RECORD_TYPE.groupSummary:
      return payloadBytes >= SUMMARY_BYTES && payloadBytes <= PAYLOAD_BYTES_MAX;
    case RECORD_TYPE.tombstones:
      return payloadBytes % 4 === 0;
    default:
      return false;
  }
}
