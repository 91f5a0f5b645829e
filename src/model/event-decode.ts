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
import { unknownFieldRule } from './message-fields.ts';
import { mergeTimestamp, showTimestamp, TIMESTAMP_RULE } from './timestamp-wire.ts';

type Draft = { -readonly [Name in keyof Omit<Event, 'time' | 'extensions'>]: Event[Name] } & {
  instant?: Instant | undefined;
  timeText?: string;
  readonly extensions: Map<string, ExtensionValue>;
};

type TextName = 'id' | 'specVersion' | 'type' | 'source' | 'subject' | 'dataContentType' | 'dataSchema' | 'timeText';

/** The fields that are texts, by tag, and the names of their attributes in faults. */
const TEXTS: ReadonlyMap<number, readonly [member: TextName, attribute: string]> = new Map([
  [TAG.ID, ['id', 'id']],
  [TAG.SPEC_VERSION, ['specVersion', 'specversion']],
  [TAG.TYPE, ['type', 'type']],
  [TAG.SOURCE, ['source', 'source']],
  [TAG.SUBJECT, ['subject', 'subject']],
  [TAG.DATA_CONTENT_TYPE, ['dataContentType', 'datacontenttype']],
  [TAG.DATA_SCHEMA, ['dataSchema', 'dataschema']],
  [TAG.TIME_TEXT, ['timeText', 'time_text']],
]);

/** The event in `[from, to)`, or undefined with faults added. `data` is a view into `bytes`. */
export function decodeEvent(bytes: Uint8Array, from: number, to: number, place: EventPlace): Event | undefined {
  const countBefore = place.faults.count;
  const event = draftEvent(bytes, from, to, place);
  return place.faults.count === countBefore ? event : undefined;
}

/** Decodes, replacing invalid attributes by valid ones. Undefined only when the bytes are no such message. */
export function draftEvent(bytes: Uint8Array, from: number, to: number, place: EventPlace): Event | undefined {
  const required = { id: '', specVersion: '', type: '', source: '' };
  const draft: Draft = { ...required, data: NO_BYTES, dataKind: DATA_KIND.UNSPECIFIED, extensions: new Map() };
  const reader = new ProtoReader(bytes, from, to);
  while (!reader.done) decodeField(draft, reader, place);
  if (reader.failed) return addEventFault(place, '', 'must be a protobuf message of cairn.v1.Event');
  const { instant, timeText: text, ...attributes } = draft;
  if (text !== undefined && instant === undefined) {
    return addEventFault(place, 'time', 'must be set when time_text is', text);
  }
  return { ...attributes, time: instant === undefined ? undefined : { instant, text } };
}

/** Decodes an event that was accepted before. `data` is a view into `bytes`. */
export function readEvent(bytes: Uint8Array, from: number, to: number): Event {
  const event = decodeEvent(bytes, from, to, { faults: new Faults(), list: 'stored', index: 0 });
  assert(event !== undefined, 'A stored event is in canonical wire form', [from, to]);
  return event;
}

function decodeField(draft: Draft, reader: ProtoReader, place: EventPlace): void {
  const tag = reader.tag();
  const text = TEXTS.get(tag);
  if (text !== undefined) draft[text[0]] = readText(reader, place, text[1]);
  else if (tag === TAG.TIME) {
    draft.instant = readInstant(reader, draft.instant, { place, name: 'time', addFault: addEventFault });
  } else if (tag === TAG.DATA) draft.data = reader.view();
  else if (tag === TAG.EXTENSIONS) decodeExtension(draft.extensions, reader, place);
  else if (tag === TAG.DATA_KIND) draft.dataKind = reader.signedVarint() | 0;
  else refuseOtherField(reader, tag, place, 'cairn.v1.Event');
}

const SERVER_FIELDS: ReadonlyMap<number, string> = new Map([
  [TAG.REVISION, 'revision'],
  [TAG.INDEX, 'index'],
  [TAG.RECORDED_TIME, 'recordedtime'],
]);

/** Refuses an unknown field: it could not be stored. */
export function refuseOtherField(reader: ProtoReader, tag: number, place: EventPlace, shape: EventShape): void {
  reader.skipField(tag);
  if (reader.failed) return;
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

/** Reads one entry of a map of attributes into `attributes`; the last of one name wins. */
export function decodeExtension(attributes: Map<string, ExtensionValue>, reader: ProtoReader, place: EventPlace): void {
  const entry = reader.message();
  if (reader.failed) return;
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
  const message = reader.message();
  const { place, name, addFault } = named;
  let value = earlier;
  while (!message.done) {
    const tag = message.tag();
    if (tag === VALUE_TAG.BOOLEAN) value = { kind: 'boolean', value: message.varint() !== 0 };
    else if (tag === VALUE_TAG.INTEGER) value = { kind: 'integer', value: message.signedVarint() | 0 };
    else if (tag === VALUE_TAG.STRING) value = { kind: 'string', value: readText(message, place, name, addFault) };
    else if (tag === VALUE_TAG.BYTES) value = { kind: 'bytes', value: message.view() };
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
  if (sent === undefined) {
    reader.fail();
    return undefined;
  }
  const { seconds, nanos } = sent;
  if (typeof seconds === 'number') return { seconds, nanos };
  addFault(place, name, TIMESTAMP_RULE, showTimestamp(sent));
  return { seconds: 0, nanos: 0 };
}
