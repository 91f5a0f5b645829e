/**
 * Reads `io.cloudevents.v1.CloudEvent`, the other form of events over gRPC, into an `Event`, whose canonical bytes the
 * walk then checks (M1). Events that a component emits have the same parts, and are read alike.
 *
 * subject, time, datacontenttype and dataschema are attributes there and must have their types; all others are
 * extensions and keep theirs. A time may also be text; its spelling is then kept.
 *
 * The form of the payload decides its form in JSON, as far as the content type agrees:
 * - binary: left to the content type when that says JSON or text, else binary;
 * - a message: its `google.protobuf.Any`, serialised.
 */
import { decodeUtf8, NO_BYTES, ProtoReader, parseInstant } from '#base';
import { DATA_KIND, type EffectiveTime, type Event, type ExtensionValue } from './event.ts';
import { decodeExtension, readEvent, readText, refuseOtherField } from './event-decode.ts';
import { addEventFault, type EventPlace, standInFor } from './event-place.ts';
import { eventFacts } from './event-spans.ts';
import { acceptDecoded } from './event-walk.ts';
import { timeRule } from './json-read.ts';
import { isWellFormedJson } from './json-scan.ts';
import { isJsonType, isTextType } from './media-type.ts';
import { payloadForm } from './payload-form.ts';

/** The fields that are texts, by tag, and the names of their attributes. */
const TEXTS: ReadonlyMap<number, readonly [member: 'id' | 'source' | 'specVersion' | 'type', attribute: string]> =
  new Map([
    [0x0a, ['id', 'id']],
    [0x12, ['source', 'source']],
    [0x1a, ['specVersion', 'specversion']],
    [0x22, ['type', 'type']],
  ]);
const ATTRIBUTES_TAG = 0x2a;
const BINARY_TAG = 0x32;
const TEXT_TAG = 0x3a;
const PROTO_TAG = 0x42;

interface Draft {
  id: string;
  source: string;
  specVersion: string;
  type: string;
  readonly attributes: Map<string, ExtensionValue>;
  payload: { readonly tag: number; readonly bytes: Uint8Array } | undefined;
}

/** The canonical bytes of an acceptable event in `[from, to)`; otherwise undefined with all its faults added. */
export function acceptCloudEvent(
  bytes: Uint8Array,
  from: number,
  to: number,
  place: EventPlace,
): Uint8Array | undefined {
  const countBefore = place.faults.count;
  const draft = draftFrom(bytes, from, to, place);
  const accepted = draft === undefined ? undefined : acceptDecoded(draft, place);
  return place.faults.count === countBefore ? accepted : undefined;
}

/** A CloudEvent with parsed parts. */
export interface CloudEventParts {
  readonly id: string;
  readonly source: string;
  readonly specVersion: string;
  readonly type: string;
  /** Extensions, and subject, time, datacontenttype and dataschema. */
  readonly attributes: ReadonlyMap<string, ExtensionValue>;
  readonly payload: { readonly kind: 'binary' | 'text'; readonly bytes: Uint8Array } | undefined;
}

/** The canonical bytes of an acceptable event; otherwise undefined with all its faults added. */
export function acceptCloudEventParts(parts: CloudEventParts, place: EventPlace): Uint8Array | undefined {
  const countBefore = place.faults.count;
  const { attributes, payload, ...rest } = parts;
  const tagged =
    payload === undefined
      ? undefined
      : { tag: payload.kind === 'binary' ? BINARY_TAG : TEXT_TAG, bytes: payload.bytes };
  const event = eventOf({ ...rest, attributes: new Map(attributes), payload: tagged }, place);
  const accepted = acceptDecoded(event, place);
  return place.faults.count === countBefore ? accepted : undefined;
}

/** Replaces invalid attributes by valid ones. Undefined only when the bytes are no such message. */
function draftFrom(bytes: Uint8Array, from: number, to: number, place: EventPlace): Event | undefined {
  const draft: Draft = { id: '', source: '', specVersion: '', type: '', attributes: new Map(), payload: undefined };
  const reader = new ProtoReader(bytes, from, to);
  while (!reader.done) readField(reader, draft, place);
  if (reader.failed) return addEventFault(place, '', 'must be a protobuf message of io.cloudevents.v1.CloudEvent');
  return eventOf(draft, place);
}

function eventOf(draft: Draft, place: EventPlace): Event {
  const { id, source, specVersion, type, attributes } = draft;
  const dataContentType = takeText(attributes, 'datacontenttype', TEXT_KINDS, place);
  return {
    id,
    source,
    specVersion,
    type,
    subject: takeText(attributes, 'subject', TEXT_KINDS, place),
    time: takeTime(attributes, place),
    dataContentType,
    dataSchema: takeText(attributes, 'dataschema', URI_KINDS, place),
    ...payloadOf(draft.payload, dataContentType, place),
    // The remaining attributes are extensions.
    extensions: attributes,
  };
}

function readField(reader: ProtoReader, draft: Draft, place: EventPlace): void {
  const tag = reader.tag();
  const text = TEXTS.get(tag);
  if (text !== undefined) draft[text[0]] = readText(reader, place, text[1]);
  else if (tag === ATTRIBUTES_TAG) decodeExtension(draft.attributes, reader, place);
  else if (tag === BINARY_TAG || tag === TEXT_TAG || tag === PROTO_TAG) draft.payload = { tag, bytes: reader.view() };
  else refuseOtherField(reader, tag, place, 'io.cloudevents.v1.CloudEvent');
}

const TEXT_KINDS: ReadonlySet<string> = new Set(['string']);
const URI_KINDS: ReadonlySet<string> = new Set(['uri', 'string']);

/** Removes the attribute from the map. One of another type is reported and replaced by a valid value. */
function takeText(
  attributes: Draft['attributes'],
  name: string,
  kinds: ReadonlySet<string>,
  place: EventPlace,
): string | undefined {
  const attribute = attributes.get(name);
  attributes.delete(name);
  if (attribute === undefined) return undefined;
  if (typeof attribute.value === 'string' && kinds.has(attribute.kind)) return attribute.value;
  addEventFault(place, name, `must be of type ${[...kinds].join(' or ')}`, attribute.kind);
  return standInFor(name);
}

function takeTime(attributes: Draft['attributes'], place: EventPlace): EffectiveTime | undefined {
  const attribute = attributes.get('time');
  attributes.delete('time');
  if (attribute === undefined) return undefined;
  if (attribute.kind === 'timestamp') return { instant: attribute.value };
  if (attribute.kind !== 'string') return addEventFault(place, 'time', 'must be of type timestamp', attribute.kind);
  const instant = parseInstant(attribute.value);
  return instant === undefined
    ? addEventFault(place, 'time', timeRule(attribute.value), attribute.value)
    : { instant, text: attribute.value };
}

type Payload = Pick<Event, 'data' | 'dataKind'>;

function payloadOf(payload: Draft['payload'], contentType: string | undefined, place: EventPlace): Payload {
  if (payload === undefined) return { data: NO_BYTES, dataKind: DATA_KIND.UNSPECIFIED };
  const { tag, bytes } = payload;
  if (tag === PROTO_TAG) return { data: bytes, dataKind: DATA_KIND.PROTO };
  if (tag === TEXT_TAG) return textPayload(bytes, contentType, place);
  const saysHow = contentType !== undefined && (isJsonType(contentType) || isTextType(contentType));
  return { data: bytes, dataKind: saysHow && bytes.length > 0 ? DATA_KIND.UNSPECIFIED : DATA_KIND.BINARY };
}

function textPayload(bytes: Uint8Array, contentType: string | undefined, place: EventPlace): Payload {
  if (decodeUtf8(bytes) === undefined) addEventFault(place, 'data', 'must be well-formed UTF-8: it is text');
  const isJson = (contentType === undefined || isJsonType(contentType)) && isWellFormedJson(bytes, 0, bytes.length);
  return { data: bytes, dataKind: isJson ? DATA_KIND.JSON : DATA_KIND.TEXT };
}

/**
 * The inverse of `acceptCloudEventParts`, for the accepted event in `[from, to)`. A payload that JSON shows in base64
 * is binary, any other is text.
 */
export function eventParts(bytes: Uint8Array, from: number, to: number): CloudEventParts {
  const { id, source, specVersion, type, subject, time, dataContentType, dataSchema, data, extensions } = readEvent(
    bytes,
    from,
    to,
  );
  const attributes = new Map<string, ExtensionValue>();
  if (subject !== undefined) attributes.set('subject', { kind: 'string', value: subject });
  if (time !== undefined) attributes.set('time', { kind: 'timestamp', value: time.instant });
  if (dataContentType !== undefined) attributes.set('datacontenttype', { kind: 'string', value: dataContentType });
  if (dataSchema !== undefined) attributes.set('dataschema', { kind: 'uri', value: dataSchema });
  for (const [name, value] of extensions) attributes.set(name, value);
  const form = payloadForm(bytes, eventFacts(bytes, from, to));
  const kind = form === 'base64' ? 'binary' : 'text';
  return { id, source, specVersion, type, attributes, payload: form === 'absent' ? undefined : { kind, bytes: data } };
}
