/**
 * Writes the CloudEvents JSON format: canonical bytes and the server fields become one object of JSON text.
 *
 * The order is fixed: id, source, specversion, type, subject, time, datacontenttype, dataschema, the extensions by
 * name, revision, index, recordedtime, and the payload last. A JSON payload is copied (M5), so that numbers
 * beyond 2^53, the order of names and their spelling are preserved.
 *
 * The payload appears as
 * - `data`, raw, when its kind is JSON, or unspecified and the content type is JSON or absent; and it is valid JSON;
 * - `data`, a string, when its kind is text, or unspecified and the content type is text/…; and it is valid UTF-8;
 * - `data_base64` otherwise; omitted when there is no payload.
 */
import {
  assert,
  decodeUtf8,
  formatInstant,
  type Instant,
  indexOfIllFormed,
  instantFromMs,
  ProtoReader,
  toBase64,
} from '#base';
import { DATA_KIND, type ServerFields } from './event.ts';
import { type EventLayout, trustedLayout } from './event-layout.ts';
import { VALUE_TAG } from './event-wire.ts';
import { isJsonType, isTextType } from './media-type.ts';
import { readTimestamp } from './timestamp-wire.ts';
import { isWellFormedJson } from './json-scan.ts';

/** `bytes` is a stored event; the text is an object without white space of its own. */
export function eventToJson(bytes: Uint8Array, server: ServerFields): string {
  const layout = trustedLayout(bytes, 0, bytes.length);
  const id = server.storedId ?? textAt(bytes, layout.idStart, layout.idEnd);
  let json = `{"id":${JSON.stringify(id)}`;
  json += member(bytes, 'source', layout.sourceStart, layout.sourceEnd);
  json += member(bytes, 'specversion', layout.versionStart, layout.versionEnd);
  json += member(bytes, 'type', layout.typeStart, layout.typeEnd);
  json += member(bytes, 'subject', layout.subjectStart, layout.subjectEnd);
  json += timeMember(bytes, layout);
  json += member(bytes, 'datacontenttype', layout.contentTypeStart, layout.contentTypeEnd);
  json += member(bytes, 'dataschema', layout.schemaStart, layout.schemaEnd);
  if (layout.extensionsStart !== -1) json += extensionMembers(bytes, layout);
  const recordedTime = formatInstant(instantFromMs(server.recordedTimeMs));
  json += `,"revision":${server.revision},"index":${server.index},"recordedtime":"${recordedTime}"`;
  return `${json}${payloadMember(bytes, layout)}}`;
}

/** Accepted bytes have well-formed text only. */
function textAt(bytes: Uint8Array, from: number, to: number): string {
  const text = decodeUtf8(bytes, from, to);
  assert(text !== undefined, 'Text of a stored event is UTF-8', [from, to]);
  return text;
}

function member(bytes: Uint8Array, name: string, from: number, to: number): string {
  return from === -1 ? '' : `,"${name}":${JSON.stringify(textAt(bytes, from, to))}`;
}

function timeMember(bytes: Uint8Array, layout: EventLayout): string {
  if (!layout.hasTime) return '';
  if (layout.timeTextStart !== -1) return member(bytes, 'time', layout.timeTextStart, layout.timeTextEnd);
  return `,"time":"${formatInstant(layout)}"`;
}

/**
 * The structure is known to be canonical: `42 length (0A name) (12 value)`, and the names are of letters and digits.
 */
function extensionMembers(bytes: Uint8Array, layout: EventLayout): string {
  const reader = new ProtoReader(bytes, layout.extensionsStart, layout.extensionsEnd);
  let json = '';
  while (!reader.done) {
    reader.tag();
    reader.varint();
    reader.tag();
    const nameStart = reader.lengthDelimited();
    const name = textAt(bytes, nameStart, reader.at);
    reader.tag();
    const valueStart = reader.lengthDelimited();
    json += `,"${name}":${extensionJson(new ProtoReader(bytes, valueStart, reader.at))}`;
  }
  return json;
}

function extensionJson(reader: ProtoReader): string {
  const tag = reader.tag();
  if (tag === VALUE_TAG.BOOLEAN) return reader.varint() === 1 ? 'true' : 'false';
  if (tag === VALUE_TAG.INTEGER) return String(reader.signedVarint());
  const start = reader.lengthDelimited();
  if (tag === VALUE_TAG.BYTES) return JSON.stringify(toBase64(reader.bytes.subarray(start, reader.at)));
  if (tag === VALUE_TAG.TIMESTAMP) return `"${formatInstant(timestampAt(reader.bytes, start, reader.at))}"`;
  return JSON.stringify(textAt(reader.bytes, start, reader.at));
}

function timestampAt(bytes: Uint8Array, from: number, to: number): Instant {
  const instant = readTimestamp(bytes, from, to);
  assert(instant !== undefined, 'A timestamp of a stored event is canonical', [from, to]);
  return instant;
}

function payloadMember(bytes: Uint8Array, layout: EventLayout): string {
  const form = payloadForm(bytes, layout);
  if (form === 'absent') return '';
  const from = Math.max(0, layout.dataStart);
  const to = Math.max(0, layout.dataEnd);
  if (form === 'base64') return `,"data_base64":"${toBase64(bytes.subarray(from, to))}"`;
  const text = textAt(bytes, from, to);
  return `,"data":${form === 'json' ? text : JSON.stringify(text)}`;
}

/** Offsets of the payload, its kind and its content type. */
export type PayloadSpan = Pick<
  EventLayout,
  'dataKind' | 'dataStart' | 'dataEnd' | 'contentTypeStart' | 'contentTypeEnd'
>;

/** The JSON form of the payload of a stored event. */
export function payloadForm(bytes: Uint8Array, span: PayloadSpan): 'absent' | 'json' | 'text' | 'base64' {
  const { dataKind, dataStart, contentTypeStart } = span;
  if (dataStart === -1 && dataKind === DATA_KIND.UNSPECIFIED) return 'absent';
  const from = dataStart === -1 ? 0 : dataStart;
  const to = dataStart === -1 ? 0 : span.dataEnd;
  const isTyped = dataKind === DATA_KIND.UNSPECIFIED && contentTypeStart !== -1;
  const contentType = isTyped ? textAt(bytes, contentTypeStart, span.contentTypeEnd) : undefined;
  if (mayBeJson(dataKind, contentType) && isWellFormedJson(bytes, from, to)) return 'json';
  if (mayBeText(dataKind, contentType) && indexOfIllFormed(bytes, from, to) === -1) return 'text';
  return 'base64';
}

function mayBeJson(dataKind: number, contentType: string | undefined): boolean {
  if (dataKind !== DATA_KIND.UNSPECIFIED) return dataKind === DATA_KIND.JSON;
  return contentType === undefined || isJsonType(contentType);
}

function mayBeText(dataKind: number, contentType: string | undefined): boolean {
  if (dataKind !== DATA_KIND.UNSPECIFIED) return dataKind === DATA_KIND.TEXT;
  return contentType !== undefined && isTextType(contentType);
}
