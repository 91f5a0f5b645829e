/** Events as a component reads them, and as it emits them. */
import { type Json, jsonText } from './json.ts';

/** The CloudEvents JSON of a stored event, with the server fields, as in every read over HTTP. */
export interface StoredEvent<Type extends string = string, Data = Json> {
  readonly id: string;
  /** The last segment of its path is the stream. */
  readonly source: string;
  readonly specversion: string;
  readonly type: Type;
  readonly subject?: string;
  /** The effective time, RFC 3339. */
  readonly time?: string;
  readonly datacontenttype?: string;
  readonly dataschema?: string;
  /** Revision of the transaction. */
  readonly revision: number;
  /** Index of the event in its transaction, from 0. */
  readonly index: number;
  readonly recordedtime: string;
  /** Payload that was written as JSON or as text. */
  readonly data: Data;
  /** Payload that was written as bytes, instead of `data`. */
  readonly data_base64?: string;
}

/** An event that a decision emits. Without an id, the database assigns one. */
export interface NewEvent<Type extends string = string, Data = Json> {
  readonly id?: string;
  /** The last segment of its path is the stream. */
  readonly source: string;
  readonly type: Type;
  readonly subject?: string;
  readonly time?: string;
  readonly dataschema?: string;
  /** JSON, or bytes, which are emitted unchanged with their content type in `datacontenttype`. */
  readonly data?: Data | Uint8Array;
  readonly datacontenttype?: string;
  readonly extensions?: Readonly<Record<string, string | number | boolean>>;
}

/** A case of a variant of WIT. */
export interface Tagged<Tag extends string = string, Val = unknown> {
  readonly tag: Tag;
  readonly val: Val;
}

/** The record `cloudevent` of cairn.wit. */
export interface CloudEventRecord {
  readonly id: string;
  readonly source: string;
  readonly specversion: string;
  readonly type: string;
  readonly data: Tagged<'binary', Uint8Array> | Tagged<'string', string> | undefined;
  readonly attributes: readonly (readonly [name: string, value: Tagged])[];
}

/** A decision emitted a value that is not an event. The message begins with the field. */
export class InvalidEvent extends Error {
  override readonly name = 'InvalidEvent';
}

/** A text with an unpaired surrogate, which UTF-8 cannot represent: it would become U+FFFD. */
export const UNPAIRED: RegExp = /[\ud800-\udfff]/u;

const INTEGER_MAX = 2 ** 31;

const MEMBERS: readonly string[] = [
  'id',
  'source',
  'type',
  'subject',
  'time',
  'dataschema',
  'data',
  'datacontenttype',
  'extensions',
];

/**
 * Converts an event to the record. The database checks the record by the rules of every event. This checks properties
 * that the record loses: JavaScript types, unpaired surrogates, and unknown members. A time is passed as text, so that
 * the database keeps its spelling.
 *
 * @throws InvalidEvent
 */
export function toRecord(event: NewEvent, index = 0): CloudEventRecord {
  const place = `events[${index}]`;
  if (typeof event !== 'object' || event === null) throw new InvalidEvent(`${place} must be an object`);
  for (const [name, value] of Object.entries(event)) {
    if (value === undefined || MEMBERS.includes(name)) continue;
    throw new InvalidEvent(`${place}.${name} is unknown; an attribute of your own is a member of extensions`);
  }
  const { data } = event;
  const isJson = data !== undefined && !(data instanceof Uint8Array);
  const contentType = event.datacontenttype ?? (isJson ? 'application/json' : undefined);
  const attributes = [
    ...optional('subject', event.subject),
    ...optional('time', event.time),
    ...optional('datacontenttype', contentType),
    ...optional('dataschema', event.dataschema, 'uri'),
    ...Object.entries(event.extensions ?? {}).map(([name, value]) => [name, extension(name, value)] as const),
  ];
  return {
    id: event.id === undefined ? '' : text('id', event.id),
    source: text('source', event.source),
    specversion: '1.0',
    type: text('type', event.type),
    data:
      data === undefined
        ? undefined
        : data instanceof Uint8Array
          ? { tag: 'binary', val: data }
          : { tag: 'string', val: json(data) },
    attributes,
  };

  function optional(name: string, value: unknown, tag: 'string' | 'uri' = 'string'): readonly [string, Tagged][] {
    return value === undefined ? [] : [[name, { tag, val: text(name, value) }]];
  }

  function json(value: unknown): string {
    try {
      return jsonText(value);
    } catch (error) {
      throw new InvalidEvent(`${place}.data must have JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  // Authors may write JavaScript: a value may be of any type.
  function text(name: string, value: unknown): string {
    if (value === undefined) throw new InvalidEvent(`${place}.${name} is required`);
    if (typeof value !== 'string') {
      throw new InvalidEvent(`${place}.${name} must be a string, not ${value === null ? 'null' : typeof value}`);
    }
    if (UNPAIRED.test(value)) throw new InvalidEvent(`${place}.${name} must not contain an unpaired surrogate`);
    return value;
  }

  function extension(name: string, value: unknown): Tagged {
    if (typeof value === 'string') return { tag: 'string', val: text(name, value) };
    if (typeof value === 'boolean') return { tag: 'boolean', val: value };
    if (Number.isInteger(value) && Number(value) >= -INTEGER_MAX && Number(value) < INTEGER_MAX) {
      return { tag: 'integer', val: value };
    }
    const found = typeof value === 'number' ? value : value === null ? 'null' : typeof value;
    throw new InvalidEvent(`${place}.${name} must be a string, true, false, or an integer of 32 bits, not ${found}`);
  }
}
