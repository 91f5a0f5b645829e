/**
 * Pages: runs of consecutive whole transactions, the one place where events are kept.
 *
 * The body of a page is byte for byte the proto message `LogBatch` (`0a length LoggedTransaction`)*, so that a verified
 * body goes out as one message, untouched. The header makes one event readable without its neighbours: the body is
 * checksummed in blocks of 4 KiB, and only those that cover the event are verified.
 *
 * ```
 * u8 format = 2
 * varint first revision | varint transaction count | varint events in the revisions before
 * varint log index of the last transaction | varint its term
 * varint recorded time ms of the first transaction
 * per transaction: varint its bytes in the body | varint event count · 2 + has stored ids | varint recorded time delta
 * varint body length | u32 LE CRC of each 4 KiB of the body, the last one shorter
 * u32 LE CRC of everything before
 * body
 * ```
 */
import {
  ByteReader,
  type ByteWriter,
  type Crc32,
  crc32,
  isLogIndex,
  isTerm,
  type LogIndex,
  type Term,
  toLogIndex,
  toTerm,
} from '#base';
import { corruptRecord, unexpectedRow } from './corruption.ts';

const FORMAT = 2;
const BLOCK_BYTES = 4096;
const RECORD_TAG = 0x0a;
/** Numbers kept of each transaction: bytes in the body, event count, has stored ids, recorded time. */
const NUMBERS = 4;
/** A page takes transactions up to here; a single larger one makes a page of its own. */
export const PAGE_BODY_BYTES: number = 16 * 1024;

/** A page in the making: what its header will say. The body is kept by whoever collects it. */
export interface PageOutline {
  readonly firstRevision: number;
  /** Events in the revisions before the first. */
  readonly eventsBefore: number;
  /** `NUMBERS` for each transaction. */
  readonly numbers: number[];
  /** The entry of its last transaction: whoever has everything up to this page stands there in the log. */
  last: LogPlace;
}

/** A place in the log. */
export interface LogPlace {
  readonly index: LogIndex;
  readonly term: Term;
}

/** One transaction of a page, without its content. Offsets are in the page's body. */
export interface PageRecord {
  readonly revision: number;
  readonly recordedTimeMs: number;
  readonly eventCount: number;
  /** Events in the revisions 1 to `revision`. */
  readonly totalEvents: number;
  readonly hasStoredIds: boolean;
  /** Where the `LoggedTransaction` starts, behind its tag and length. */
  readonly start: number;
  readonly end: number;
}

export function pushRecord(
  page: PageOutline,
  record: Pick<PageRecord, 'eventCount' | 'hasStoredIds' | 'recordedTimeMs'> & {
    readonly byteLength: number;
    readonly place: LogPlace;
  },
): void {
  page.last = record.place;
  page.numbers.push(record.byteLength, record.eventCount, record.hasStoredIds ? 1 : 0, record.recordedTimeMs);
}

export function writePage(into: ByteWriter, page: PageOutline, body: Uint8Array, checksum: Crc32): void {
  const { numbers } = page;
  into.u8(FORMAT);
  into.varint(page.firstRevision);
  into.varint(numbers.length / NUMBERS);
  into.varint(page.eventsBefore);
  into.varint(page.last.index);
  into.varint(page.last.term);
  let recordedTimeMs = numbers[3] ?? 0;
  into.varint(recordedTimeMs);
  for (let at = 0; at < numbers.length; at += NUMBERS) {
    into.varint(numbers[at] ?? 0);
    into.varint((numbers[at + 1] ?? 0) * 2 + (numbers[at + 2] ?? 0));
    into.varint((numbers[at + 3] ?? 0) - recordedTimeMs);
    recordedTimeMs = numbers[at + 3] ?? 0;
  }
  into.varint(body.length);
  for (let from = 0; from < body.length; from += BLOCK_BYTES) {
    into.u32le(checksum(body.subarray(from, Math.min(from + BLOCK_BYTES, body.length))));
  }
  into.u32le(crc32(into.view()));
  into.bytes(body);
}

/** A page that was read: its header is verified, each block of its body when it is first asked for. */
export class Page {
  readonly firstRevision: number;
  readonly count: number;
  readonly bodyLength: number;
  /** The entry of its last transaction. */
  readonly last: LogPlace;
  readonly #key: Uint8Array;
  readonly #value: Uint8Array;
  readonly #checksum: Crc32;
  readonly #numbers: readonly number[];
  readonly #eventsBefore: number;
  readonly #bodyStart: number;
  readonly #checksumsStart: number;
  /** One for each block: 1 when it has been verified. */
  readonly #verified: Uint8Array;

  /** Throws when the header is corrupt. Keeps both arrays. */
  constructor(key: Uint8Array, value: Uint8Array, checksum: Crc32) {
    const header = readHeader(value);
    if (typeof header === 'string') throw corruptRecord(key, header);
    this.#key = key;
    this.#value = value;
    this.#checksum = checksum;
    this.firstRevision = header.firstRevision;
    this.count = header.numbers.length / NUMBERS;
    this.bodyLength = header.bodyLength;
    this.last = header.last;
    this.#numbers = header.numbers;
    this.#eventsBefore = header.eventsBefore;
    this.#bodyStart = header.bodyStart;
    this.#checksumsStart = header.checksumsStart;
    this.#verified = new Uint8Array(Math.ceil(header.bodyLength / BLOCK_BYTES));
  }

  /** Of its row. */
  get bytes(): number {
    return this.#value.length;
  }

  get lastRevision(): number {
    return this.firstRevision + this.count - 1;
  }

  /** Events in the revisions before the first. */
  get eventsBefore(): number {
    return this.#eventsBefore;
  }

  /** The transaction of a revision that the page holds. Takes time with its place in the page. */
  record(revision: number): PageRecord {
    const place = revision - this.firstRevision;
    if (place < 0 || place >= this.count) throw this.unexpected(`it does not hold revision ${revision}`);
    let before = 0;
    let totalEvents = this.#eventsBefore;
    for (let at = 0; at < place * NUMBERS; at += NUMBERS) {
      before += this.#numbers[at] ?? 0;
      totalEvents += this.#numbers[at + 1] ?? 0;
    }
    return this.#recordAt(place, before, totalEvents);
  }

  /** All transactions, in order. */
  records(): readonly PageRecord[] {
    const records: PageRecord[] = [];
    let before = 0;
    let totalEvents = this.#eventsBefore;
    for (let place = 0; place < this.count; place++) {
      const record = this.#recordAt(place, before, totalEvents);
      records.push(record);
      before = record.end;
      totalEvents = record.totalEvents;
    }
    return records;
  }

  /** Recorded time of a revision that the page holds. */
  recordedTimeMs(revision: number): number {
    return this.#numbers[(revision - this.firstRevision) * NUMBERS + 3] ?? 0;
  }

  /** The whole body, verified: a `LogBatch`. A view. */
  body(): Uint8Array {
    return this.slice(0, this.bodyLength);
  }

  /** The bytes `[from, to)` of the body, verified. A view. */
  slice(from: number, to: number): Uint8Array {
    if (from < 0 || to < from || to > this.bodyLength) throw this.unexpected(`its body has no bytes ${from} to ${to}`);
    const last = Math.ceil(to / BLOCK_BYTES);
    for (let block = Math.floor(from / BLOCK_BYTES); block < last; block++) this.#verify(block);
    return this.#value.subarray(this.#bodyStart + from, this.#bodyStart + to);
  }

  /** The canonical bytes of the event whose length stands at `offset`, as a posting entry says. A view. */
  event(offset: number): Uint8Array {
    const lengthBytesMax = 5;
    const reader = new ByteReader(this.slice(offset, Math.min(offset + lengthBytesMax, this.bodyLength)));
    const length = reader.varint();
    if (reader.failed) throw this.unexpected(`no event starts at ${offset}`);
    return this.slice(offset + reader.at, offset + reader.at + length);
  }

  /** The error to throw when this page does not hold what is looked for. */
  unexpected(fault: string): Error {
    return unexpectedRow(this.#key, fault);
  }

  #recordAt(place: number, before: number, eventsBefore: number): PageRecord {
    const at = place * NUMBERS;
    const byteLength = this.#numbers[at] ?? 0;
    const eventCount = this.#numbers[at + 1] ?? 0;
    return {
      revision: this.firstRevision + place,
      recordedTimeMs: this.#numbers[at + 3] ?? 0,
      eventCount,
      totalEvents: eventsBefore + eventCount,
      hasStoredIds: this.#numbers[at + 2] === 1,
      start: before + recordOverhead(byteLength),
      end: before + byteLength,
    };
  }

  #verify(block: number): void {
    if (this.#verified[block] === 1) return;
    const from = this.#bodyStart + block * BLOCK_BYTES;
    const to = Math.min(from + BLOCK_BYTES, this.#bodyStart + this.bodyLength);
    const stored = new ByteReader(this.#value, this.#checksumsStart + 4 * block).u32le();
    const found = this.#checksum(this.#value.subarray(from, to));
    if (stored !== found) {
      throw corruptRecord(
        this.#key,
        `the checksum of block ${block} of its body is ${stored}, its content gives ${found}`,
      );
    }
    this.#verified[block] = 1;
  }
}

/** Tag and length before a record that takes `byteLength` bytes together with them. */
function recordOverhead(byteLength: number): number {
  for (let lengthBytes = 1; ; lengthBytes++) {
    if (byteLength - 1 - lengthBytes < 2 ** (7 * lengthBytes)) return 1 + lengthBytes;
  }
}

/** Writes the tag and the length of a record; returns the bytes that it takes with them. */
export function writeRecordTag(into: ByteWriter, length: number): number {
  const from = into.length;
  into.u8(RECORD_TAG);
  into.varint(length);
  return into.length - from + length;
}

interface Header {
  readonly firstRevision: number;
  readonly eventsBefore: number;
  readonly last: LogPlace;
  readonly numbers: readonly number[];
  readonly bodyLength: number;
  readonly checksumsStart: number;
  readonly bodyStart: number;
}

/** The header, or what is wrong with it. */
function readHeader(value: Uint8Array): Header | string {
  const reader = new ByteReader(value);
  const format = reader.u8();
  if (format !== FORMAT) return `format ${format} is unknown here, ${FORMAT} would be known`;
  const firstRevision = reader.varint();
  const count = reader.varint();
  const eventsBefore = reader.varint();
  const index = reader.varint();
  const term = reader.varint();
  const numbers = readNumbers(reader, count);
  const bodyLength = reader.varint();
  const checksumsStart = reader.at;
  reader.skip(4 * Math.ceil(bodyLength / BLOCK_BYTES));
  const headerEnd = reader.at;
  const stored = reader.u32le();
  if (reader.failed) return 'it ends inside its header';
  const found = crc32(value, 0, headerEnd);
  if (stored !== found) return `the checksum of its header is ${stored}, its content gives ${found}`;
  if (reader.left !== bodyLength) return `its body has ${reader.left} bytes, its header says ${bodyLength}`;
  if (!isLogIndex(index) || !isTerm(term)) return `log index ${index} of term ${term} is none`;
  const last = { index: toLogIndex(index), term: toTerm(term) };
  return { firstRevision, eventsBefore, last, numbers, bodyLength, checksumsStart, bodyStart: reader.at };
}

function readNumbers(reader: ByteReader, count: number): readonly number[] {
  const numbers: number[] = [];
  let recordedTimeMs = reader.varint();
  for (let place = 0; place < count && !reader.failed; place++) {
    const byteLength = reader.varint();
    const events = reader.varint();
    recordedTimeMs += reader.varint();
    numbers.push(byteLength, Math.floor(events / 2), events % 2, recordedTimeMs);
  }
  return numbers;
}
