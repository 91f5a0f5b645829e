/** Events as a component reads them, and as it emits them. */
import { type Json, jsonText } from './json.ts';

/** The CloudEvents JSON of a stored event, with what the database adds; as every read over HTTP gives it. */
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
  /** Of the transaction. */
  readonly revision: number;
  /** Of the event in its transaction, from 0. */
  readonly index: number;
  readonly recordedtime: string;
  /** What was written as JSON or as text. */
  readonly data: Data;
  /** What was written as bytes, instead of `data`. */
  readonly data_base64?: string;
}

/** An event that a decision emits. Without an id, whoever commits it gives it one. */
export interface NewEvent<Type extends string = string, Data = Json> {
  readonly id?: string;
  /** The last segment of its path is the stream. */
  readonly source: string;
  readonly type: Type;
  readonly subject?: string;
  readonly time?: string;
  readonly dataschema?: string;
  /** JSON; bytes are emitted as they are, and have their content type in `datacontenttype`. */
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

const INTEGER_MAX = 2 ** 31;

/** @throws TypeError for an extension that an event cannot have. */
export function toRecord(event: NewEvent): CloudEventRecord {
  const { data } = event;
  const isJson = data !== undefined && !(data instanceof Uint8Array);
  const contentType = event.datacontenttype ?? (isJson ? 'application/json' : undefined);
  const attributes = [
    ...text('subject', event.subject),
    ...text('time', event.time, 'timestamp'),
    ...text('datacontenttype', contentType),
    ...text('dataschema', event.dataschema, 'uri'),
    ...Object.entries(event.extensions ?? {}).map(([name, value]) => [name, extension(name, value)] as const),
  ];
  return {
    id: event.id ?? '',
    source: event.source,
    specversion: '1.0',
    type: event.type,
    data:
      data === undefined
        ? undefined
        : data instanceof Uint8Array
          ? { tag: 'binary', val: data }
          : { tag: 'string', val: jsonText(data) },
    attributes,
  };
}

function text(
  name: string,
  value: string | undefined,
  tag: 'string' | 'uri' | 'timestamp' = 'string',
): readonly (readonly [string, Tagged])[] {
  if (value === undefined) return [];
  return [[name, { tag, val: tag === 'timestamp' ? datetime(value) : value }]];
}

function extension(name: string, value: string | number | boolean): Tagged {
  if (typeof value === 'string') return { tag: 'string', val: value };
  if (typeof value === 'boolean') return { tag: 'boolean', val: value };
  if (Number.isInteger(value) && value >= -INTEGER_MAX && value < INTEGER_MAX) return { tag: 'integer', val: value };
  throw new TypeError(`The extension ${name} is ${value}; a number is an integer of 32 bits, anything else is a text`);
}

/** RFC 3339 with up to nine digits behind the second. */
const TIME = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/;

/** The record `datetime` of cairn.wit. */
export interface Instant {
  readonly seconds: bigint;
  readonly nanoseconds: number;
}

/** The instant of a time as events have it, also before 1970; undefined for what is none. */
export function instantOf(time: string): Instant | undefined {
  const [, day = '', clock = '', fraction = '', zone = ''] = TIME.exec(time) ?? [];
  const ms = Date.parse(`${day}T${clock}${zone.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : { seconds: BigInt(ms / 1000), nanoseconds: Number(fraction.padEnd(9, '0')) };
}

function datetime(value: string): Instant {
  const instant = instantOf(value);
  if (instant !== undefined && instant.seconds >= 0n) return instant;
  throw new TypeError(`The time ${value} is none; write it like 2026-01-31T09:30:00.123Z, not before 1970`);
}
