/**
 * The small rows: transaction, position, event id, tip. Each is `u8 format | fields | u32 CRC`; docs/formats/indexes.md
 * has the grammar.
 */
import type { ByteWriter } from '#base';
import { closeRow, openRow } from './corruption.ts';
import type { EventPlace } from './posting.ts';

const FORMAT = 3;

/** The revision of a transaction id, or the position of a record in the history: `varint`. */
export function writeNumberRow(into: ByteWriter, number: number): void {
  into.u8(FORMAT);
  into.varint(number);
}

export function readNumberRow(key: Uint8Array, value: Uint8Array): number {
  const row = openRow(key, value, FORMAT);
  const number = row.varint();
  closeRow(key, row);
  return number;
}

/**
 * Every event whose (stream, stored id) has this hash, nearly always one: (`varint revision | varint index | varint
 * position`)*.
 */
export function writeEventIdRow(into: ByteWriter, places: readonly EventPlace[]): void {
  into.u8(FORMAT);
  for (const place of places) writeEventPlace(into, place);
}

/** The same for an event that is alone with its hash. */
export function writeLoneEventIdRow(into: ByteWriter, place: EventPlace): void {
  into.u8(FORMAT);
  writeEventPlace(into, place);
}

function writeEventPlace(into: ByteWriter, place: EventPlace): void {
  into.varint(place.revision);
  into.varint(place.index);
  into.varint(place.position);
}

export function readEventIdRow(key: Uint8Array, value: Uint8Array): readonly EventPlace[] {
  const row = openRow(key, value, FORMAT);
  const places: EventPlace[] = [];
  while (row.left > 0 && !row.failed) {
    places.push({ revision: row.varint(), index: row.varint(), position: row.varint() });
  }
  closeRow(key, row);
  return places;
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
}

export function readTipRow(key: Uint8Array, value: Uint8Array): TipRow {
  const row = openRow(key, value, FORMAT);
  const tip = { lastRevision: row.varint(), lastWithoutSubject: row.varint() };
  closeRow(key, row);
  return tip;
}
