/**
 * Offsets of all fields in an event's canonical bytes, in one pass without strings; it checks only the structure.
 *
 * It accepts exactly the canonical encoding of event-wire.ts. It does not check attribute values: an event without an
 * id, or with an invalid one, has a layout too (event-check.ts checks it).
 */
import { decodeUtf8, formatInstant, type Instant, isInstant, ProtoReader, parseInstant } from '#base';
import { EventSpans } from './event-spans.ts';
import { ENTRY_TAG, INT32_MAX, INT32_MIN, TAG, VALUE_TAG } from './event-wire.ts';
import { readTimestamp } from './timestamp-wire.ts';

/** Shared by all events, because walking is synchronous. */
const layout = new EventSpans();

/** The layout, or undefined when the bytes are not canonical. It is lent until the next call. */
export function layOutEvent(bytes: Uint8Array, from: number, to: number): EventSpans | undefined {
  layout.forget();
  const reader = new ProtoReader(bytes, from, to);
  let previous = 0;
  while (!reader.done) {
    const fieldStart = reader.at;
    const tag = reader.tag();
    if (tag <= previous && !(tag === previous && tag === TAG.EXTENSIONS)) return undefined;
    if (!placeField(reader, tag)) return undefined;
    if (tag === TAG.EXTENSIONS) {
      if (layout.extensionsStart === -1) layout.extensionsStart = fieldStart;
      layout.extensionsEnd = reader.at;
    }
    previous = tag;
  }
  if (reader.failed || reader.overlong) return undefined;
  if (layout.extensionsStart !== -1 && !areExtensionsCanonical(bytes)) return undefined;
  if (layout.timeTextStart !== -1 && isTimeTextNeedless(bytes)) return undefined;
  if (layout.sourceStart !== -1) layout.placeStream(bytes);
  return layout;
}

/** Texts and bytes that may be empty. Other empty ones are omitted in canonical bytes. */
const MAY_BE_EMPTY: ReadonlySet<number> = new Set([TAG.SUBJECT, TAG.DATA_CONTENT_TYPE, TAG.DATA_SCHEMA, TAG.TIME_TEXT]);

/** Records one field. False when the bytes are not canonical here; the reader may have failed as well. */
function placeField(reader: ProtoReader, tag: number): boolean {
  if (tag === TAG.DATA_KIND) {
    layout.dataKind = reader.signedVarint();
    return layout.dataKind !== 0 && layout.dataKind >= INT32_MIN && layout.dataKind <= INT32_MAX;
  }
  if ((tag & 7) !== 2) return false;
  const start = reader.lengthDelimited();
  const end = reader.at;
  if (tag === TAG.EXTENSIONS) return true;
  if (!layout.place(tag, start, end)) return false;
  if (tag === TAG.TIME) return layout.placeTime(reader.bytes);
  return start < end || MAY_BE_EMPTY.has(tag);
}

/** Returns true when the text is the canonical spelling of the time, which canonical bytes omit. */
function isTimeTextNeedless(bytes: Uint8Array): boolean {
  if (!layout.hasTime || !isInstant(layout.seconds, layout.nanos)) return false;
  return decodeUtf8(bytes, layout.timeTextStart, layout.timeTextEnd) === formatInstant(layout);
}

function areExtensionsCanonical(bytes: Uint8Array): boolean {
  const reader = new ProtoReader(bytes, layout.extensionsStart, layout.extensionsEnd);
  let previousStart = 0;
  let previousEnd = 0;
  while (!reader.done) {
    reader.tag();
    const start = reader.lengthDelimited();
    const entry = new ProtoReader(bytes, start, reader.at);
    if (entry.tag() !== ENTRY_TAG.NAME) return false;
    const nameStart = entry.lengthDelimited();
    const nameEnd = entry.at;
    if (entry.tag() !== ENTRY_TAG.VALUE) return false;
    const valueStart = entry.lengthDelimited();
    if (entry.failed || entry.overlong || !entry.done || !isValueCanonical(bytes, valueStart, entry.at)) return false;
    const first = previousEnd === 0;
    if (!first && compareRanges(bytes, [previousStart, previousEnd], [nameStart, nameEnd]) >= 0) return false;
    previousStart = nameStart;
    previousEnd = nameEnd;
  }
  return true;
}

function compareRanges(bytes: Uint8Array, left: readonly [number, number], right: readonly [number, number]): number {
  const common = Math.min(left[1] - left[0], right[1] - right[0]);
  for (let i = 0; i < common; i++) {
    const difference = (bytes[left[0] + i] ?? 0) - (bytes[right[0] + i] ?? 0);
    if (difference !== 0) return difference;
  }
  return left[1] - left[0] - (right[1] - right[0]);
}

/** Accepts exactly one field, or none (a fault, but not of the structure). */
function isValueCanonical(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to) return true;
  const reader = new ProtoReader(bytes, from, to);
  switch (reader.tag()) {
    case VALUE_TAG.BOOLEAN:
      if (reader.varint() > 1) return false;
      break;
    case VALUE_TAG.INTEGER: {
      const value = reader.signedVarint();
      if (value < INT32_MIN || value > INT32_MAX) return false;
      break;
    }
    case VALUE_TAG.STRING:
    case VALUE_TAG.BYTES:
    case VALUE_TAG.URI:
    case VALUE_TAG.URI_REF:
      reader.lengthDelimited();
      break;
    case VALUE_TAG.TIMESTAMP: {
      const start = reader.lengthDelimited();
      if (readTimestamp(bytes, start, reader.at) === undefined) return false;
      break;
    }
    default:
      return false;
  }
  return reader.done && !reader.failed && !reader.overlong;
}

/** The instant of the time text, if the spans have a valid one. */
export function timeTextInstant(bytes: Uint8Array, spans: EventSpans): Instant | undefined {
  const text = decodeUtf8(bytes, spans.timeTextStart, spans.timeTextEnd);
  return text === undefined ? undefined : parseInstant(text);
}
