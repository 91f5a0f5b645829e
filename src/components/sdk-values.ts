/**
 * Values for components of the EvidentSource SDK's shape: the host's side of `evidentsource:decider` (ADR 0102).
 * Lowering omits what the types of a guest do not have.
 *
 * Revisions of this shape count events, not transactions: the numbers here are ordinals (`EventOrdinals`).
 *
 *   F50 What a fold is given besides its state and its events is the same in each call of each read of the view.
 */
import { decodeUtf8, formatInstant, type Instant, instantFromMs } from '#base';
import { type CloudEventParts, eventParts, type ServerFields, type StateViewDefinition } from '#model';
import { tagged, type Value } from '#wasm';

type Attribute = CloudEventParts['attributes'] extends ReadonlyMap<string, infer Held> ? Held : never;

/** What a component of the SDK's shape is told of its State View. */
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

/** Of the event that was folded last. */
export interface LastModified {
  readonly ordinal: number;
  readonly recordedTimeMs: number;
}

const NEVER: LastModified = { ordinal: 0, recordedTimeMs: 0 };

/**
 * The record `rendered-state-view`. A fold is told 0 as its revisions: where it stands depends on who reads and on how
 * events are cut into calls, and no state may follow from that.
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

/** A time before 1970 is a text: seconds of the shape have no sign. */
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
 * A number as text whose order is that of the numbers: the digits behind their count, and that behind its own, each
 * with a mark in front (`;9`, `;;210`, `;;512345`).
 */
function sequenceOf(digits: string): string {
  return digits.length === 1 ? `;${digits}` : `;${sequenceOf(String(digits.length))}${digits}`;
}
