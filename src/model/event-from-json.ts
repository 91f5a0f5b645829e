/**
 * Reads the CloudEvents JSON format: an object becomes an `Event`, whose canonical bytes the walk then checks (M1).
 *
 * Only JSON types are checked here, because the bytes no longer show them. An attribute of the wrong type is reported
 * and replaced by a valid value, so that the walk reports all other faults of the event as well.
 *
 * `data` keeps its bytes (M5): JSON as written, unless the value is a string and the content type is another one; then
 * the string is the payload text. `data: null` is the payload `null`; any other null counts as absent.
 */
import { assert, encodeUtf8, fromBase64, NO_BYTES, parseInstant } from '#base';
import { DATA_KIND, type EffectiveTime, type Event, type ExtensionValue, SPEC_VERSION } from './event.ts';
import { type EventPlace, standInFor } from './event-place.ts';
import { acceptDecoded } from './event-walk.ts';
import { CORE_NAMES, INT32_MAX, INT32_MIN } from './event-wire.ts';
import type { FaultPlace } from './faults.ts';
import { type JsonNode, type JsonObject, textOfRaw } from './json.ts';
import { describe, inside, isPresent, objectFrom, textFrom, timeRule } from './json-read.ts';
import { isJsonType } from './media-type.ts';

const BASE64_NAME = 'data_base64';
const NOT_EMPTY = {
  id: 'must not be empty',
  specversion: `must be "${SPEC_VERSION}"`,
  type: 'must not be empty',
  source: 'must be a URI-reference (RFC 3986)',
} as const;

/**
 * The canonical bytes of an acceptable event; otherwise undefined with all its faults added. The body was parsed with
 * `raw: RAW_DATA`.
 */
export function acceptJsonEvent(node: JsonNode, place: EventPlace): Uint8Array | undefined {
  const countBefore = place.faults.count;
  const draft = draftFrom(node, place);
  const bytes = draft === undefined ? undefined : acceptDecoded(draft, place);
  return place.faults.count === countBefore ? bytes : undefined;
}

function draftFrom(node: JsonNode, { faults, list, index }: EventPlace): Event | undefined {
  const place = { faults, field: `${list}[${index}]` };
  const object = objectFrom(node, place);
  if (object === undefined) return undefined;
  const dataContentType = optionalText(object, 'datacontenttype', place);
  return {
    id: requiredText(object, 'id', place),
    specVersion: requiredText(object, 'specversion', place),
    type: requiredText(object, 'type', place),
    source: requiredText(object, 'source', place),
    subject: optionalText(object, 'subject', place),
    time: timeFrom(object, place),
    dataContentType,
    dataSchema: optionalText(object, 'dataschema', place),
    extensions: extensionsFrom(object, place),
    ...payloadFrom(object, dataContentType, place),
  };
}

function optionalText(object: JsonObject, name: string, place: FaultPlace): string | undefined {
  const node = object.members.get(name);
  if (!isPresent(node)) return undefined;
  return textFrom(node, inside(place, name)) ?? standInFor(name);
}

/** An absent text is empty in the bytes, where the walk reports it; an empty text in the request is reported here. */
function requiredText(object: JsonObject, name: keyof typeof NOT_EMPTY, place: FaultPlace): string {
  const text = optionalText(object, name, place);
  if (text !== '') return text ?? '';
  place.faults.add(inside(place, name).field, NOT_EMPTY[name], text);
  return standInFor(name);
}

function timeFrom(object: JsonObject, place: FaultPlace): EffectiveTime | undefined {
  const node = object.members.get('time');
  if (!isPresent(node)) return undefined;
  const text = textFrom(node, inside(place, 'time'));
  if (text === undefined) return undefined;
  const instant = parseInstant(text);
  return instant === undefined
    ? place.faults.add(inside(place, 'time').field, timeRule(text), text)
    : { instant, text };
}

type Payload = Pick<Event, 'data' | 'dataKind'>;

const NO_PAYLOAD: Payload = { data: NO_BYTES, dataKind: DATA_KIND.UNSPECIFIED };

function payloadFrom(object: JsonObject, contentType: string | undefined, place: FaultPlace): Payload {
  const data = object.members.get('data');
  const base64 = object.members.get(BASE64_NAME);
  if (!isPresent(base64)) return data === undefined ? NO_PAYLOAD : payloadOfData(data, contentType, place);
  if (data !== undefined) {
    place.faults.add(inside(place, BASE64_NAME).field, 'must be absent when data is given');
    return NO_PAYLOAD;
  }
  const text = textFrom(base64, inside(place, BASE64_NAME));
  if (text === undefined) return NO_PAYLOAD;
  const bytes = fromBase64(text);
  if (bytes === undefined) place.faults.add(inside(place, BASE64_NAME).field, 'must be base64 with padding', text);
  return { data: bytes ?? NO_BYTES, dataKind: DATA_KIND.BINARY };
}

function payloadOfData(data: JsonNode, contentType: string | undefined, place: FaultPlace): Payload {
  assert(data.kind === 'raw', 'Bodies with events are parsed with raw data', data.kind);
  const isText = contentType !== undefined && !isJsonType(contentType);
  const text = isText ? textOfRaw(data) : undefined;
  if (text === undefined) return { data: data.bytes, dataKind: DATA_KIND.JSON };
  if (!text.isWellFormed()) {
    place.faults.add(inside(place, 'data').field, 'must not contain an unpaired surrogate: it is text');
  }
  return { data: encodeUtf8(text), dataKind: DATA_KIND.TEXT };
}

function extensionsFrom(object: JsonObject, place: FaultPlace): Event['extensions'] {
  const extensions = new Map<string, ExtensionValue>();
  for (const [name, node] of object.members) {
    if (CORE_NAMES.has(name) || name === BASE64_NAME || !isPresent(node)) continue;
    extensions.set(name, extensionFrom(node, inside(place, name)));
  }
  return extensions;
}

/** Reports an invalid extension and replaces it by `false`. */
function extensionFrom(node: JsonNode, place: FaultPlace): ExtensionValue {
  if (node.kind === 'boolean') return { kind: 'boolean', value: node.value };
  if (node.kind === 'string') return { kind: 'string', value: textFrom(node, place) ?? '' };
  if (node.kind === 'number' && /^-?\d+$/.test(node.text)) {
    const value = Number(node.text);
    // Adding 0 turns minus zero, which an integer does not have, into zero.
    if (value >= INT32_MIN && value <= INT32_MAX) return { kind: 'integer', value: value + 0 };
  }
  place.faults.add(place.field, 'must be a string, true, false, or an integer of 32 bits', describe(node));
  return { kind: 'boolean', value: false };
}
