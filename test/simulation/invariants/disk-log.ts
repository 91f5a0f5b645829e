// What a disk holds durably of the log, read from the bytes of its segments after each sync, by docs/formats/wal.md and
// nothing else: it shares no line with what wrote them. What is on its way to the disk is not there.
import { crc32 } from 'node:zlib';
import type { Place } from './raft-watch.ts';

/** What is durable of the log of one group. */
export interface HeldGroup {
  readonly term: number;
  /** The replica that it voted for in that term; 0 for nobody. */
  readonly vote: number;
  /** Whether the entry is in the log, or in the state that the log begins behind. */
  holds(place: Place): boolean;
}

const SECTOR_BYTES = 512;
const SEGMENT_MAGIC = bytesOf('CAIRNWAL');
const BATCH_MAGIC = bytesOf('CBAT');
const BATCH_HEADER_BYTES = 44;
const RECORD_HEADER_BYTES = 36;
const TYPES = { entry: 1, hardState: 2, truncateFrom: 3, tombstone: 5, membership: 8, start: 9 } as const;

class GroupLog implements HeldGroup {
  term = 0;
  vote = 0;
  /** The log begins behind this entry, and holds those of these terms. */
  #base = 0;
  #terms: number[] = [];

  holds({ index, term }: Place): boolean {
    return index <= this.#base || this.#terms[index - this.#base - 1] === term;
  }

  put({ index, term }: Place): void {
    this.dropFrom(index);
    this.#terms.push(term);
  }

  dropFrom(index: number): void {
    this.#terms.length = Math.min(this.#terms.length, Math.max(0, index - this.#base - 1));
  }

  beginBehind(index: number): void {
    this.#base = index;
    this.#terms = [];
  }
}

export class DiskLog {
  readonly #groups = new Map<number, GroupLog>();
  /** Groups that have ended here, as they were. */
  readonly #former = new Map<number, GroupLog>();
  readonly #ends = new Map<number, number>();
  /** How far each file was read. */
  readonly #read = new WeakMap<object, number>();

  /** Undefined when the disk knows nothing of the group. */
  group(group: number): HeldGroup | undefined {
    return this.#groups.get(group) ?? this.#former.get(group);
  }

  /** Number of times that the log of the group has ended. */
  endsOf(group: number): number {
    return this.#ends.get(group) ?? 0;
  }

  /** Whether it holds the last of these records, which are as their writer has encoded them. */
  holdsLast(records: Uint8Array): boolean {
    const last = [...recordsOf(records)].at(-1);
    if (last === undefined) return true;
    const { type, group, place } = headOf(last);
    const held = this.group(group);
    if (type === TYPES.entry || type === TYPES.membership) return held?.holds(place) === true;
    return type !== TYPES.hardState || (held?.term === place.term && held.vote === numberAt(last, RECORD_HEADER_BYTES));
  }

  /** The file holds these bytes durably; `file` tells it from others, whatever its name. */
  synced(file: object, bytes: Uint8Array): void {
    if (!startsWith(bytes, 0, SEGMENT_MAGIC)) return;
    const from = this.#read.get(file) ?? SECTOR_BYTES;
    let to = from;
    for (const batch of batchesOf(bytes, from)) {
      for (const record of batch.records) this.#take(record);
      to = batch.end;
    }
    this.#read.set(file, to);
  }

  /** What these segments have of the entries that the log holds. */
  payloads(segments: Iterable<Uint8Array>): readonly Uint8Array[] {
    const found: Uint8Array[] = [];
    for (const bytes of segments) {
      if (!startsWith(bytes, 0, SEGMENT_MAGIC)) continue;
      for (const { records } of batchesOf(bytes, SECTOR_BYTES)) {
        for (const record of records) {
          const { type, group, place } = headOf(record);
          if (type !== TYPES.entry || this.group(group)?.holds(place) !== true) continue;
          found.push(new Uint8Array(record.buffer, record.byteOffset + RECORD_HEADER_BYTES));
        }
      }
    }
    return found;
  }

  #take(record: DataView): void {
    const { type, group, place } = headOf(record);
    switch (type) {
      case TYPES.entry:
      case TYPES.membership:
        return this.#of(group).put(place);
      case TYPES.hardState:
        Object.assign(this.#of(group), { term: place.term, vote: numberAt(record, RECORD_HEADER_BYTES) });
        return;
      case TYPES.truncateFrom:
        return this.#of(group).dropFrom(place.index);
      case TYPES.start:
        return this.#of(group).beginBehind(place.index);
      case TYPES.tombstone:
        this.#former.set(group, this.#of(group));
        this.#groups.delete(group);
        this.#ends.set(group, this.endsOf(group) + 1);
        return;
      default:
    }
  }

  #of(group: number): GroupLog {
    const known = this.#groups.get(group);
    if (known !== undefined) return known;
    const made = new GroupLog();
    this.#groups.set(group, made);
    return made;
  }
}

interface Batch {
  readonly records: Iterable<DataView>;
  /** Where the next one begins. */
  readonly end: number;
}

/** The whole batches of a segment from there on. */
function* batchesOf(bytes: Uint8Array, from: number): Iterable<Batch> {
  for (let at = from; startsWith(bytes, at, BATCH_MAGIC); ) {
    const header = new DataView(bytes.buffer, bytes.byteOffset + at, BATCH_HEADER_BYTES);
    const length = header.getUint32(24, true);
    const begin = at + BATCH_HEADER_BYTES;
    if (begin + length > bytes.length) return;
    const records = unmasked(bytes.subarray(begin, begin + length), header.getUint32(36, true));
    if (!areWhole(records)) return;
    at += Math.ceil((BATCH_HEADER_BYTES + length) / SECTOR_BYTES) * SECTOR_BYTES;
    yield { records: recordsOf(records), end: at };
  }
}

function headOf(record: DataView): { readonly type: number; readonly group: number; readonly place: Place } {
  const place = { term: numberAt(record, 20), index: numberAt(record, 28) };
  return { type: record.getUint8(12), group: record.getUint32(16, true), place };
}

function* recordsOf(bytes: Uint8Array): Iterable<DataView> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += view.getUint32(at, true)) {
    yield new DataView(bytes.buffer, bytes.byteOffset + at, view.getUint32(at, true));
  }
}

/** Whether every record has its length and its checksum. */
function areWhole(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  while (at + RECORD_HEADER_BYTES <= bytes.length) {
    const end = at + view.getUint32(at, true);
    if (end < at + RECORD_HEADER_BYTES || end > bytes.length) return false;
    if (crc32(bytes.subarray(at + 8, end)) !== view.getUint32(at + 4, true)) return false;
    at = end;
  }
  return at === bytes.length;
}

/** Records begin on a multiple of four, as the mask does. */
function unmasked(bytes: Uint8Array, mask: number): Uint8Array {
  if (mask === 0) return bytes;
  return bytes.map((byte, at) => byte ^ ((mask >>> (8 * (at % 4))) & 0xff));
}

function numberAt(record: DataView, at: number): number {
  return Number(record.getBigUint64(at, true));
}

function startsWith(bytes: Uint8Array, at: number, start: Uint8Array): boolean {
  return at + start.length <= bytes.length && start.every((byte, place) => bytes[at + place] === byte);
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
