/**
 * Values for components of the EvidentSource SDK's shape: the host's side of `evidentsource:decider` (ADR 0102). Fields
 * that the types of a guest do not have are omitted.
 *
 * Revisions of this shape count events, not transactions: the numbers here are ordinals (`EventOrdinals`).
 *
 * F50 The input of a fold besides state and events is the same in each call and each read of the view.
 */
import { decodeUtf8, formatInstant, type Instant, instantFromMs } from '#base';
import { type CloudEventParts, eventParts, type ServerFields, type StateViewDefinition } from '#model';
import { tagged, type Value } from '#wasm';

type Attribute = CloudEventParts['attributes'] extends ReadonlyMap<string, infer Held> ? Held : never;

/** Name and version of the State View for the component. */
export interface ViewTitle {
  readonly database: string;
  readonly name: string;
  readonly version: number;
  readonly contentType: string;
  readonly contentSchema: string | undefined;
}

export function viewTitle(
  database: string,
  { name, contentType, schema }: Pick<StateViewDefinition, 'name' | 'contentType' | 'schema'>,
  version: number,
): ViewTitle {
  return { database, name, version, contentType, contentSchema: schema?.kind === 'uri' ? schema.uri : undefined };
}

/** Position and times of the last folded event. */
export interface LastModified {
  readonly ordinal: number;
  readonly recordedTimeMs: number;
}

const NEVER: LastModified = { ordinal: 0, recordedTimeMs: 0 };

/**
 * The record `rendered-state-view`. Its revisions are 0 in a fold: they depend on the reader and on batch sizes, and
 * the state must not depend on those.
 */
export function viewValue(title: ViewTitle | undefined, content?: Uint8Array, last: LastModified = NEVER): Value {
  const modified = datetimeValue(instantFromMs(last.recordedTimeMs));
  return {
    context: {
      database: title?.database,
      name: title?.name,
      version: title?.version,
      'database-revision': last.ordinal,
      'database-revision-timestamp': modified,
      'content-type': title?.contentType,
      'content-schema': title?.contentSchema,
    },
    content: content === undefined || content.length === 0 ? undefined : content,
    'last-modified-revision': last.ordinal,
    'last-modified-timestamp': modified,
  };
}

/** The record `cloudevent` of the stored event `[from, to)`. */
export function eventValue(
  { bytes, from, to }: { readonly bytes: Uint8Array; readonly from: number; readonly to: number },
  { storedId, recordedTimeMs }: Pick<ServerFields, 'storedId' | 'recordedTimeMs'>,
  ordinal: number,
): Value {
  const { id, source, specVersion, type, attributes, payload } = eventParts(bytes, from, to);
  const listed = Array.from(attributes, ([name, value]): Value => [name, attributeValue(value)]);
  const added = new Map([
    ['revision', String(ordinal)],
    ['sequence', sequenceOf(String(ordinal))],
    ['recordedtime', formatInstant(instantFromMs(recordedTimeMs))],
  ]);
  for (const [name, text] of added) if (!attributes.has(name)) listed.push([name, tagged('string', text)]);
  return {
    id: storedId ?? id,
    source,
    specversion: specVersion,
    type,
    data: payload === undefined ? undefined : payloadValue(payload),
    attributes: listed,
  };
}

function payloadValue({ kind, bytes }: NonNullable<CloudEventParts['payload']>): Value {
  const text = kind === 'text' ? decodeUtf8(bytes, 0, bytes.length) : undefined;
  return text === undefined ? tagged('binary', bytes) : tagged('string', text);
}

/** A time before 1970 is passed as text: the shape has unsigned seconds. */
function attributeValue(attribute: Attribute): Value {
  if (attribute.kind === 'bytes') return tagged('binary', attribute.value);
  if (attribute.kind !== 'timestamp') return tagged(attribute.kind, attribute.value);
  const { seconds } = attribute.value;
  return seconds < 0
    ? tagged('string', formatInstant(attribute.value))
    : tagged('timestamp', datetimeValue(attribute.value));
}

export function datetimeValue({ seconds, nanos }: Instant): Value {
  return { seconds, nanoseconds: nanos };
}

/**
 * Encodes a number as text that sorts like the number: the digits are prefixed with their count, and that with its own,
 * each with a mark (`;9`, `;;210`, `;;512345`).
 */
function sequenceOf(digits: string): string {
  return digits.length === 1 ? `;${digits}` : `;${sequenceOf(String(digits.length))}${digits}`;
}
