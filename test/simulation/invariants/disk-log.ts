// Reads the durable content of a log from the bytes of its segments after each sync, according to docs/formats/wal.md.
// It shares no code with the writer, and ignores writes in progress.
import { crc32 } from 'node:zlib';
import type { Place } from './raft-watch.ts';

/** The durable log of one group. */
export interface HeldGroup {
  readonly term: number;
  /** The replica that it voted for in that term; 0 for none. */
  readonly vote: number;
  /** True when the entry is in the log, or in the state before its start. */
  holds(place: Place): boolean;
}

const SECTOR_BYTES = 512;
/** Bytes of a sector before its tag. */
const CONTENT_BYTES = 508;
const SEGMENT_MAGIC = bytesOf('CAIRNWAL');
const BATCH_MAGIC = bytesOf('CBAT');
const BATCH_HEADER_BYTES = 40;
const RECORD_HEADER_BYTES = 36;
const TYPES = { entry: 1, hardState: 2, truncateFrom: 3, tombstone: 5, membership: 8, start: 9 } as const;

class GroupLog implements HeldGroup {
  term = 0;
  vote = 0;
  /** The entry before the start of the log, and the terms of the entries after it. */
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
  /** Groups whose log has ended on this disk, with their last content. */
  readonly #former = new Map<number, GroupLog>();
  readonly #ends = new Map<number, number>();
  /** Segment of each file, and the end of its batches that were read. A file can be several segments in turn. */
  readonly #read = new WeakMap<object, { readonly segment: number; readonly to: number }>();

  /** Undefined when the disk has no data of the group. */
  group(group: number): HeldGroup | undefined {
    return this.#groups.get(group) ?? this.#former.get(group);
  }

  /** Number of times that the log of the group has ended. */
  endsOf(group: number): number {
    return this.#ends.get(group) ?? 0;
  }

  /** True when the log has the last of these encoded records. */
  holdsLast(records: Uint8Array): boolean {
    const last = [...recordsOf(records)].at(-1);
    if (last === undefined) return true;
    const { type, group, place } = headOf(last);
    const held = this.group(group);
    if (type === TYPES.entry || type === TYPES.membership) return held?.holds(place) === true;
    return type !== TYPES.hardState || (held?.term === place.term && held.vote === numberAt(last, RECORD_HEADER_BYTES));
  }

  /** Called when the file durably has these bytes; `file` identifies it regardless of its name. */
  synced(file: object, bytes: Uint8Array): void {
    if (!startsWith(bytes, 0, SEGMENT_MAGIC)) return;
    const segment = segmentOf(bytes);
    const read = this.#read.get(file);
    const from = read?.segment === segment ? read.to : SECTOR_BYTES;
    let to = from;
    for (const batch of batchesOf(bytes, from)) {
      for (const record of batch.records) this.#take(record);
      to = batch.end;
    }
    this.#read.set(file, { segment, to });
  }

  /** Payloads of the log's entries in these segments. */
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
  /** Start of the next batch. */
  readonly end: number;
}

/** The complete batches of a segment from this offset. Other sectors are of earlier segments in the file. */
function* batchesOf(bytes: Uint8Array, from: number): Iterable<Batch> {
  const segment = segmentOf(bytes);
  for (let at = from; startsWith(bytes, at, BATCH_MAGIC); ) {
    const header = new DataView(bytes.buffer, bytes.byteOffset + at, BATCH_HEADER_BYTES);
    const length = header.getUint32(24, true);
    const end = at + Math.ceil((BATCH_HEADER_BYTES + length) / CONTENT_BYTES) * SECTOR_BYTES;
    if (end > bytes.length) return;
    const content = contentOf(bytes.subarray(at, end), segment);
    const records = content?.subarray(BATCH_HEADER_BYTES, BATCH_HEADER_BYTES + length);
    if (records === undefined || !areWhole(records)) return;
    at = end;
    yield { records: recordsOf(records), end };
  }
}

/** Offsets of the sectors with the content of the segment; the others are of earlier segments in the file. */
export function sectorsOfSegment(bytes: Uint8Array): readonly number[] {
  const segment = segmentOf(bytes);
  const offsets = Array.from({ length: bytes.length / SECTOR_BYTES }, (_, sector) => sector * SECTOR_BYTES);
  return offsets.filter((at) => at === 0 || tagAt(bytes, at) === tagOf(segment));
}

function tagAt(bytes: Uint8Array, sector: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset + sector + CONTENT_BYTES).getUint32(0, true);
}

function tagOf(segment: number): number {
  return 3 * segment;
}

function segmentOf(bytes: Uint8Array): number {
  return numberAt(new DataView(bytes.buffer, bytes.byteOffset), 48);
}

/** Sectors without their tags; undefined when a tag is not that of the segment. */
function contentOf(sectors: Uint8Array, segment: number): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < sectors.length; at += SECTOR_BYTES) {
    if (tagAt(sectors, at) !== tagOf(segment)) return undefined;
    parts.push(sectors.subarray(at, at + CONTENT_BYTES));
  }
  return new Uint8Array(Buffer.concat(parts));
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

/** True when every record has the right length and checksum. */
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

function numberAt(record: DataView, at: number): number {
  return Number(record.getBigUint64(at, true));
}

function startsWith(bytes: Uint8Array, at: number, start: Uint8Array): boolean {
  return at + start.length <= bytes.length && start.every((byte, place) => bytes[at + place] === byte);
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
