/**
 * Any valid protobuf of `cairn.v1.Event` as an `Event`: fields in any order, repeated (the last wins, messages merge),
 * varints of any length. It reports faults of the wire format only: invalid protobuf, invalid UTF-8, an extension
 * without a value, and fields that an event does not have or only the server sets.
 */
import { assert, decodeUtf8, type Instant, NO_BYTES, ProtoReader } from '#base';
import { DATA_KIND, type Event, type ExtensionValue } from './event.ts';
import {
  addEntryFault,
  addEventFault,
  type EventPlace,
  type EventShape,
  foundBytes,
  standInFor,
} from './event-place.ts';
import { ENTRY_TAG, TAG, VALUE_TAG } from './event-wire.ts';
import { Faults } from './faults.ts';
import { mergeTimestamp, showTimestamp, TIMESTAMP_RULE } from './timestamp-wire.ts';
import { unknownFieldRule } from './unknown-field.ts';

interface Draft {
  id: string;
  specVersion: string;
  type: string;
  source: string;
  subject: string | undefined;
  instant: Instant | undefined;
  timeText: string | undefined;
  data: Uint8Array;
  dataKind: number;
  dataContentType: string | undefined;
  dataSchema: string | undefined;
  readonly extensions: Map<string, ExtensionValue>;
}

/** The event in `[from, to)`, or undefined with faults added. `data` is a view into `bytes`. */
export function decodeEvent(bytes: Uint8Array, from: number, to: number, place: EventPlace): Event | undefined {
  const countBefore = place.faults.count;
  const event = draftEvent(bytes, from, to, place);
  return place.faults.count === countBefore ? event : undefined;
}

/** Decodes, replacing invalid attributes by valid ones. Undefined only when the bytes are no such message. */
export function draftEvent(bytes: Uint8Array, from: number, to: number, place: EventPlace): Event | undefined {
  const draft = emptyDraft();
  const reader = new ProtoReader(bytes, from, to);
  while (!reader.done) decodeField(draft, reader, place);
  if (reader.failed) return addEventFault(place, '', 'must be a protobuf message of cairn.v1.Event');
  if (draft.timeText !== undefined && draft.instant === undefined) {
    return addEventFault(place, 'time', 'must be set when time_text is', draft.timeText);
  }
  return eventOf(draft);
}

/** Decodes an event that was accepted before. `data` is a view into `bytes`. */
export function readEvent(bytes: Uint8Array, from: number, to: number): Event {
  const event = decodeEvent(bytes, from, to, { faults: new Faults(), list: 'stored', index: 0 });
  assert(event !== undefined, 'A stored event is in canonical wire form', [from, to]);
  return event;
}

function emptyDraft(): Draft {
  return {
    id: '',
    specVersion: '',
    type: '',
    source: '',
    subject: undefined,
    instant: undefined,
    timeText: undefined,
    data: NO_BYTES,
    dataKind: DATA_KIND.UNSPECIFIED,
    dataContentType: undefined,
    dataSchema: undefined,
    extensions: new Map(),
  };
}

function eventOf(draft: Draft): Event {
  const { instant, timeText, ...attributes } = draft;
  return { ...attributes, time: instant === undefined ? undefined : { instant, text: timeText } };
}

function decodeField(draft: Draft, reader: ProtoReader, place: EventPlace): void {
  const tag = reader.tag();
  switch (tag) {
    case TAG.ID:
      draft.id = readText(reader, place, 'id');
      return;
    case TAG.SPEC_VERSION:
      draft.specVersion = readText(reader, place, 'specversion');
      return;
    case TAG.TYPE:
      draft.type = readText(reader, place, 'type');
      return;
    case TAG.SOURCE:
      draft.source = readText(reader, place, 'source');
      return;
    case TAG.SUBJECT:
      draft.subject = readText(reader, place, 'subject');
      return;
    case TAG.TIME:
      draft.instant = readInstant(reader, draft.instant, { place, name: 'time', addFault: addEventFault });
      return;
    case TAG.DATA:
      draft.data = readBytes(reader);
      return;
    case TAG.EXTENSIONS:
      decodeExtension(draft.extensions, reader, place);
      return;
    case TAG.DATA_CONTENT_TYPE:
      draft.dataContentType = readText(reader, place, 'datacontenttype');
      return;
    case TAG.DATA_SCHEMA:
      draft.dataSchema = readText(reader, place, 'dataschema');
      return;
    case TAG.DATA_KIND:
      draft.dataKind = reader.signedVarint() | 0;
      return;
    case TAG.TIME_TEXT:
      draft.timeText = readText(reader, place, 'time_text');
      return;
    default:
      reader.skipField(tag);
      if (!reader.failed) refuseOtherField(tag, place, 'cairn.v1.Event');
  }
}

const SERVER_FIELDS: ReadonlyMap<number, string> = new Map([
  [TAG.REVISION, 'revision'],
  [TAG.INDEX, 'index'],
  [TAG.RECORDED_TIME, 'recordedtime'],
]);

/** Refuses an unknown field: it could not be stored. */
export function refuseOtherField(tag: number, place: EventPlace, shape: EventShape): void {
  const name = shape === 'cairn.v1.Event' ? SERVER_FIELDS.get(tag) : undefined;
  if (name !== undefined) addEventFault(place, name, 'must be absent: the server sets it');
  else addEventFault(place, `${Math.floor(tag / 8)}`, unknownFieldRule(tag, shape));
}

/** Reports invalid UTF-8 and replaces it by a valid text. */
export function readText(
  reader: ProtoReader,
  place: EventPlace,
  attribute: string,
  addFault: typeof addEventFault = addEventFault,
): string {
  const start = reader.lengthDelimited();
  if (reader.failed) return '';
  const text = decodeUtf8(reader.bytes, start, reader.at);
  if (text === undefined) {
    addFault(place, attribute, 'must be well-formed UTF-8', foundBytes(reader.bytes, start, reader.at));
  }
  return text ?? standInFor(attribute);
}

function readBytes(reader: ProtoReader): Uint8Array {
  const start = reader.lengthDelimited();
  return reader.bytes.subarray(start, reader.at);
}

function failed(reader: ProtoReader): undefined {
  reader.fail();
}

/** Reads one entry of a map of attributes into `attributes`; the last of one name wins. */
export function decodeExtension(attributes: Map<string, ExtensionValue>, reader: ProtoReader, place: EventPlace): void {
  const start = reader.lengthDelimited();
  if (reader.failed) return;
  const entry = new ProtoReader(reader.bytes, start, reader.at);
  let name = '';
  let value: ExtensionValue | undefined;
  while (!entry.done) {
    const tag = entry.tag();
    if (tag === ENTRY_TAG.NAME) name = readName(entry, place);
    else if (tag === ENTRY_TAG.VALUE)
      value = decodeExtensionValue(entry, value, { place, name, addFault: addEntryFault });
    else entry.skipField(tag);
  }
  if (entry.failed) reader.fail();
  else if (value === undefined) addEntryFault(place, name, 'must have a value');
  else attributes.set(name, value);
}

/** Reports an invalid name, and replaces it by a valid extension name. */
function readName(entry: ProtoReader, place: EventPlace): string {
  const countBefore = place.faults.count;
  const name = readText(entry, place, 'extensions');
  return place.faults.count === countBefore ? name : 'x';
}

/** An attribute of an event. */
interface AttributePlace {
  readonly place: EventPlace;
  readonly name: string;
  readonly addFault: typeof addEventFault;
}

/** One `CloudEventAttributeValue`; the last of its alternatives wins. Undefined when it has none. */
function decodeExtensionValue(
  reader: ProtoReader,
  earlier: ExtensionValue | undefined,
  named: AttributePlace,
): ExtensionValue | undefined {
  const start = reader.lengthDelimited();
  if (reader.failed) return undefined;
  const message = new ProtoReader(reader.bytes, start, reader.at);
  const { place, name, addFault } = named;
  let value = earlier;
  while (!message.done) {
    const tag = message.tag();
    if (tag === VALUE_TAG.BOOLEAN) value = { kind: 'boolean', value: message.varint() !== 0 };
    else if (tag === VALUE_TAG.INTEGER) value = { kind: 'integer', value: message.signedVarint() | 0 };
    else if (tag === VALUE_TAG.STRING) value = { kind: 'string', value: readText(message, place, name, addFault) };
    else if (tag === VALUE_TAG.BYTES) value = { kind: 'bytes', value: readBytes(message) };
    else if (tag === VALUE_TAG.URI) value = { kind: 'uri', value: readText(message, place, name, addFault) };
    else if (tag === VALUE_TAG.URI_REF) value = { kind: 'uri-ref', value: readText(message, place, name, addFault) };
    else if (tag === VALUE_TAG.TIMESTAMP) value = mergeTimestampValue(message, value, named);
    else message.skipField(tag);
  }
  if (message.failed) reader.fail();
  return value;
}

function mergeTimestampValue(
  message: ProtoReader,
  earlier: ExtensionValue | undefined,
  named: AttributePlace,
): ExtensionValue | undefined {
  const value = readInstant(message, earlier?.kind === 'timestamp' ? earlier.value : undefined, named);
  return value === undefined ? undefined : { kind: 'timestamp', value };
}

/** Reports seconds that are no safe number and replaces them; others are checked with the event. */
function readInstant(
  reader: ProtoReader,
  earlier: Instant | undefined,
  { place, name, addFault }: AttributePlace,
): Instant | undefined {
  const sent = mergeTimestamp(reader, earlier);
  if (sent === undefined) return failed(reader);
  const { seconds, nanos } = sent;
  if (typeof seconds === 'number') return { seconds, nanos };
  addFault(place, name, TIMESTAMP_RULE, showTimestamp(sent));
  return { seconds: 0, nanos: 0 };
}
