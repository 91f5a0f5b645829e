/**
 * The small rows: transaction, event id, effective time, tip, page directory. Each is
 * `u8 format = 1 | fields | u32 CRC`; docs/formats/indexes.md has the grammar.
 */
import type { ByteReader, ByteWriter } from '#base';
import { closeRow, openRow, sealRow } from './corruption.ts';
import { DIRECTORY_BLOCK } from './keys.ts';
import type { PostingEntry } from './posting.ts';

const FORMAT = 1;

/** Where a transaction is: `varint revision | varint revision − first revision of its page`. */
export interface TransactionRow {
  readonly revision: number;
  readonly pageOffset: number;
}

export function writeTransactionRow(into: ByteWriter, row: TransactionRow): void {
  into.u8(FORMAT);
  into.varint(row.revision);
  into.varint(row.pageOffset);
  sealRow(into);
}

export function readTransactionRow(key: Uint8Array, value: Uint8Array): TransactionRow {
  const row = openRow(key, value, FORMAT);
  const content = { revision: row.varint(), pageOffset: row.varint() };
  closeRow(key, row);
  return content;
}

/** Where an event is, without its time. */
export interface EventPlace {
  readonly revision: number;
  readonly index: number;
  readonly pageOffset: number;
  readonly offset: number;
}

/**
 * Every event whose (stream, stored id) has this hash, nearly always one:
 * (`varint revision | varint page offset | varint index | varint offset`)*.
 */
export function writeEventIdRow(into: ByteWriter, places: readonly EventPlace[]): void {
  into.u8(FORMAT);
  for (const place of places) writeEventPlace(into, place);
  sealRow(into);
}

/** The same for an event that is alone with its hash. */
export function writeLoneEventIdRow(into: ByteWriter, place: EventPlace): void {
  into.u8(FORMAT);
  writeEventPlace(into, place);
  sealRow(into);
}

function writeEventPlace(into: ByteWriter, place: EventPlace): void {
  into.varint(place.revision);
  into.varint(place.pageOffset);
  into.varint(place.index);
  into.varint(place.offset);
}

export function readEventIdRow(key: Uint8Array, value: Uint8Array): readonly EventPlace[] {
  const row = openRow(key, value, FORMAT);
  const places: EventPlace[] = [];
  while (row.left > 0 && !row.failed) {
    const revision = row.varint();
    const pageOffset = row.varint();
    places.push({ revision, pageOffset, index: row.varint(), offset: row.varint() });
  }
  closeRow(key, row);
  return places;
}

/**
 * The events of one page that take effect in one second, by time, then position. Second and page are in the key:
 * `varint count`, then each `varint nanos delta | varint revision − first of the page | varint index | varint offset`.
 */
export function writeTimeRow(into: ByteWriter, firstRevision: number, entries: readonly number[]): void {
  into.u8(FORMAT);
  into.varint(entries.length / TIME_ENTRY);
  let last = 0;
  for (let at = 0; at < entries.length; at += TIME_ENTRY) {
    const nanos = entries[at] ?? 0;
    into.varint(nanos - last);
    into.varint((entries[at + 1] ?? 0) - firstRevision);
    into.varint(entries[at + 2] ?? 0);
    into.varint(entries[at + 3] ?? 0);
    last = nanos;
  }
  sealRow(into);
}

/** Numbers of one entry as it is written: nanoseconds, revision, index, offset. */
export const TIME_ENTRY = 4;

export interface TimeRowKey {
  readonly seconds: number;
  readonly firstRevision: number;
}

export function readTimeRow(key: Uint8Array, value: Uint8Array, place: TimeRowKey): readonly PostingEntry[] {
  const row = openRow(key, value, FORMAT);
  const count = row.varint();
  const entries: PostingEntry[] = [];
  let nanos = 0;
  for (let at = 0; at < count && !row.failed; at++) {
    nanos += row.varint();
    entries.push(readTimeEntry(row, place, nanos));
  }
  closeRow(key, row);
  return entries;
}

function readTimeEntry(row: ByteReader, place: TimeRowKey, nanos: number): PostingEntry {
  const pageOffset = row.varint();
  const revision = place.firstRevision + pageOffset;
  return { revision, pageOffset, index: row.varint(), offset: row.varint(), seconds: place.seconds, nanos };
}

/** The tip of a spilled head: `varint latest revision | varint latest revision without a subject`. */
export interface TipRow {
  readonly lastRevision: number;
  /** 0: none. Always 0 in the tips of subjects. */
  readonly lastWithoutSubject: number;
}

export function writeTipRow(into: ByteWriter, tip: TipRow): void {
  into.u8(FORMAT);
  into.varint(tip.lastRevision);
  into.varint(tip.lastWithoutSubject);
  sealRow(into);
}

export function readTipRow(key: Uint8Array, value: Uint8Array): TipRow {
  const row = openRow(key, value, FORMAT);
  const tip = { lastRevision: row.varint(), lastWithoutSubject: row.varint() };
  closeRow(key, row);
  return tip;
}

const DIRECTORY_BYTES = DIRECTORY_BLOCK / 8;

/**
 * Which revisions of a block begin a page: a bit map of 32 bytes, revision n of the block in bit n % 8 of byte n / 8.
 */
export function writeDirectoryRow(into: ByteWriter, bits: Uint8Array): void {
  into.u8(FORMAT);
  into.bytes(bits);
  sealRow(into);
}

export function readDirectoryRow(key: Uint8Array, value: Uint8Array): Uint8Array {
  const row = openRow(key, value, FORMAT);
  const bits = row.bytes(DIRECTORY_BYTES);
  closeRow(key, row);
  return bits;
}

export function emptyDirectoryBits(): Uint8Array {
  return new Uint8Array(DIRECTORY_BYTES);
}

export function setDirectoryBit(bits: Uint8Array, revision: number): void {
  const place = revision % DIRECTORY_BLOCK;
  bits[place >> 3] = (bits[place >> 3] ?? 0) | (1 << (place & 7));
}

/** The highest place of the block, at most `from`, that begins a page; −1 when there is none. */
export function lastDirectoryBit(bits: Uint8Array, from: number): number {
  for (let place = from; place >= 0; place--) {
    if (((bits[place >> 3] ?? 0) & (1 << (place & 7))) !== 0) return place;
  }
  return -1;
}
