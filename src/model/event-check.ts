/**
 * The rules of event attributes (M1), applied to canonical bytes by their layout. Reports all faults, builds text only
 * to report one, and does not inspect `data`: its meaning is between writers and readers (ADR: payload bytes).
 */
import { decodeUtf8, formatInstant, isInstant, ProtoReader } from '#base';
import { DATA_KIND, SPEC_VERSION } from './event.ts';
import { timeTextInstant } from './event-layout.ts';
import {
  addEntryFault,
  addEntryNameFault,
  addEventFault,
  type EventPlace,
  foundBytes,
  showBytes,
} from './event-place.ts';
import type { EventSpans } from './event-spans.ts';
import { extensionNameFault, VALUE_TAG } from './event-wire.ts';
import type { Found } from './faults.ts';
import { timeRule } from './json-read.ts';
import {
  CONTENT_TYPE_BYTES_MAX,
  EXTENSION_NAME_BYTES_MAX,
  EXTENSIONS_MAX,
  NAME_BYTES_MAX,
  URI_BYTES_MAX,
} from './limits.ts';
import { isMediaType } from './media-type.ts';
import { describeTextFault, nameFault, textFault } from './text-rules.ts';
import { readTimestamp, showTimestamp, TIMESTAMP_RULE } from './timestamp-wire.ts';
import { isAbsoluteUri, isUriReference } from './uri.ts';

/** Adds every fault of the event to the place. */
export function checkEvent(bytes: Uint8Array, layout: EventSpans, place: EventPlace): void {
  checkName({ bytes, from: layout.idStart, to: layout.idEnd }, 'id', place);
  checkSpecVersion(bytes, layout, place);
  checkName({ bytes, from: layout.typeStart, to: layout.typeEnd }, 'type', place);
  checkSource(bytes, layout, place);
  if (layout.subjectStart !== -1) {
    checkName({ bytes, from: layout.subjectStart, to: layout.subjectEnd }, 'subject', place);
  }
  if (layout.hasTime || layout.timeTextStart !== -1) checkTime(bytes, layout, place);
  if (layout.contentTypeStart !== -1) checkContentType(bytes, layout, place);
  if (layout.schemaStart !== -1) checkDataSchema(bytes, layout, place);
  if (layout.dataKind < DATA_KIND.UNSPECIFIED || layout.dataKind > DATA_KIND.PROTO) {
    addEventFault(place, 'data_kind', 'must be one of 0 to 4', layout.dataKind);
  }
  if (layout.extensionsStart !== -1) checkExtensions(bytes, layout, place);
}

/** A range of the event's bytes; a `from` of −1 means absent. */
interface Range {
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

function show({ bytes, from, to }: Range): Found {
  return foundBytes(bytes, from, to);
}

function checkName(range: Range, attribute: string, place: EventPlace): void {
  if (range.from === -1) {
    addEventFault(place, attribute, `is required (1 to ${NAME_BYTES_MAX} bytes of UTF-8)`);
    return;
  }
  const fault = nameFault(range.bytes, range.from, range.to);
  if (fault !== undefined) addEventFault(place, attribute, describeTextFault(fault, NAME_BYTES_MAX), show(range));
}

function checkSpecVersion(bytes: Uint8Array, layout: EventSpans, place: EventPlace): void {
  const { versionStart: at, versionEnd } = layout;
  if (at === -1) {
    addEventFault(place, 'specversion', `is required, "${SPEC_VERSION}"`);
    return;
  }
  if (versionEnd - at === 3 && bytes[at] === 0x31 && bytes[at + 1] === 0x2e && bytes[at + 2] === 0x30) return;
  addEventFault(place, 'specversion', `must be "${SPEC_VERSION}"`, foundBytes(bytes, at, versionEnd));
}

function checkSource(bytes: Uint8Array, layout: EventSpans, place: EventPlace): void {
  const { sourceStart, sourceEnd, streamStart, streamEnd } = layout;
  if (sourceStart === -1) {
    addEventFault(place, 'source', 'is required: a URI-reference (RFC 3986)');
    return;
  }
  const fault = sourceFault(bytes, layout);
  if (fault !== undefined) {
    addEventFault(place, 'source', fault, foundBytes(bytes, sourceStart, sourceEnd));
  } else if (streamEnd - streamStart > NAME_BYTES_MAX) {
    const rule = `must name a stream of at most ${NAME_BYTES_MAX} bytes`;
    addEventFault(place, 'source', rule, foundBytes(bytes, streamStart, streamEnd));
  }
}

function sourceFault(bytes: Uint8Array, layout: EventSpans): string | undefined {
  const { sourceStart, sourceEnd } = layout;
  if (sourceEnd - sourceStart > URI_BYTES_MAX) return `must be at most ${URI_BYTES_MAX} bytes`;
  return isUriReference(bytes, sourceStart, sourceEnd) ? undefined : 'must be a URI-reference (RFC 3986)';
}

function checkTime(bytes: Uint8Array, layout: EventSpans, place: EventPlace): void {
  if (layout.hasTime && !isInstant(layout.seconds, layout.nanos)) {
    addEventFault(place, 'time', TIMESTAMP_RULE, showTimestamp(layout));
  } else if (layout.timeTextStart !== -1) checkTimeText(bytes, layout, place);
}

function checkTimeText(bytes: Uint8Array, layout: EventSpans, place: EventPlace): void {
  const { timeTextStart, timeTextEnd } = layout;
  const named = timeTextInstant(bytes, layout);
  const shown = showBytes(bytes, timeTextStart, timeTextEnd);
  if (named === undefined) addEventFault(place, 'time_text', timeRule(shown), shown);
  else if (!layout.hasTime) addEventFault(place, 'time_text', 'must be absent when time is', shown);
  else if (named.seconds !== layout.seconds || named.nanos !== layout.nanos) {
    addEventFault(place, 'time_text', `must name the instant of time, ${formatInstant(layout)}`, shown);
  }
}

function checkContentType(bytes: Uint8Array, layout: EventSpans, place: EventPlace): void {
  const { contentTypeStart: from, contentTypeEnd: to } = layout;
  if (to - from <= CONTENT_TYPE_BYTES_MAX && isMediaType(bytes, from, to)) return;
  const rule = `must be a media type such as application/json, at most ${CONTENT_TYPE_BYTES_MAX} bytes`;
  addEventFault(place, 'datacontenttype', rule, foundBytes(bytes, from, to));
}

function checkDataSchema(bytes: Uint8Array, layout: EventSpans, place: EventPlace): void {
  const { schemaStart: from, schemaEnd: to } = layout;
  if (to - from <= URI_BYTES_MAX && isAbsoluteUri(bytes, from, to)) return;
  const rule = `must be a URI with a scheme, at most ${URI_BYTES_MAX} bytes`;
  addEventFault(place, 'dataschema', rule, foundBytes(bytes, from, to));
}

function checkExtensions(bytes: Uint8Array, layout: EventSpans, place: EventPlace): void {
  const reader = new ProtoReader(bytes, layout.extensionsStart, layout.extensionsEnd);
  let count = 0;
  while (!reader.done) {
    reader.tag();
    const start = reader.lengthDelimited();
    checkExtension(new ProtoReader(bytes, start, reader.at), place);
    count++;
  }
  if (count > EXTENSIONS_MAX) {
    addEventFault(place, 'extensions', `must have at most ${EXTENSIONS_MAX} extension attributes`, count);
  }
}

/** `entry` is at the tag of the name, and the structure is known to be canonical. */
function checkExtension(entry: ProtoReader, place: EventPlace): void {
  entry.tag();
  const nameStart = entry.lengthDelimited();
  const name = showBytes(entry.bytes, nameStart, entry.at);
  const fault = nameFaultOfExtension(entry.bytes, nameStart, entry.at);
  if (fault !== undefined) addEntryNameFault(place, name, fault);
  entry.tag();
  const valueStart = entry.lengthDelimited();
  const valueFault = extensionValueFault(entry.bytes, valueStart, entry.at);
  if (valueFault === undefined) return;
  const shown = showExtensionValue(entry.bytes, valueStart, entry.at);
  addEntryFault(place, fault === undefined ? name : '', valueFault, shown);
}

/** Undefined when there is none. */
function showExtensionValue(bytes: Uint8Array, from: number, to: number): Found | undefined {
  if (from === to) return undefined;
  const reader = new ProtoReader(bytes, from, to);
  const tag = reader.tag();
  const start = reader.lengthDelimited();
  const time = tag === VALUE_TAG.TIMESTAMP ? readTimestamp(bytes, start, reader.at) : undefined;
  return time === undefined ? foundBytes(bytes, start, reader.at) : showTimestamp(time);
}

function nameFaultOfExtension(bytes: Uint8Array, from: number, to: number): string | undefined {
  if (to - from > EXTENSION_NAME_BYTES_MAX) return `must have a name of at most ${EXTENSION_NAME_BYTES_MAX} bytes`;
  const name = decodeUtf8(bytes, from, to);
  return name === undefined ? 'must have a name of well-formed UTF-8' : extensionNameFault(name);
}

function extensionValueFault(bytes: Uint8Array, from: number, to: number): string | undefined {
  if (from === to) return 'must have a value';
  const reader = new ProtoReader(bytes, from, to);
  const tag = reader.tag();
  if (tag === VALUE_TAG.BOOLEAN || tag === VALUE_TAG.INTEGER || tag === VALUE_TAG.BYTES) return undefined;
  const start = reader.lengthDelimited();
  const end = reader.at;
  if (tag === VALUE_TAG.STRING) {
    const fault = textFault(bytes, start, end);
    return fault === undefined ? undefined : describeTextFault(fault, to - from);
  }
  if (tag === VALUE_TAG.URI) return isAbsoluteUri(bytes, start, end) ? undefined : 'must be a URI with a scheme';
  if (tag === VALUE_TAG.URI_REF) return isUriReference(bytes, start, end) ? undefined : 'must be a URI-reference';
  const time = readTimestamp(bytes, start, end);
  return time !== undefined && isInstant(time.seconds, time.nanos) ? undefined : TIMESTAMP_RULE;
}
