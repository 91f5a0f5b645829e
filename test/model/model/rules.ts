/** The rules of the specification for texts, times, sources, selectors and constraints. */
import type { Constraint, Data, Selector, WrittenEvent } from './vocabulary.ts';

const NANOS = 1_000_000_000n;
const TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Nanoseconds since 1970 of an RFC 3339 time; undefined for other text. */
export function instantOf(text: string): bigint | undefined {
  const [, year, month, day, hour, minute, second, fraction = '', sign, hours = '0', minutes = '0'] =
    TIME.exec(text) ?? [];
  if (year === undefined) return undefined;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // A day that the month does not have would become another one.
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day) || Number(hour) > 23) return undefined;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const offset = BigInt(Number(hours) * 60 + Number(minutes)) * 60n * (sign === '-' ? -1n : 1n);
  const seconds = BigInt(date.getTime()) / 1000n - offset;
  const isInYears = seconds >= -62_135_596_800n && seconds <= 253_402_300_799n;
  return isInYears && year !== '0000' ? seconds * NANOS + BigInt(fraction.padEnd(9, '0')) : undefined;
}

/** The canonical spelling: UTC, without trailing zeros. */
export function timeOf(nanos: bigint): string {
  const fraction = ((nanos % NANOS) + NANOS) % NANOS;
  const text = new Date(Number((nanos - fraction) / 1_000_000n)).toISOString().slice(0, 19);
  const digits = String(fraction).padStart(9, '0').replace(/0+$/, '');
  return `${text}${digits === '' ? '' : `.${digits}`}Z`;
}

/** The last non-empty segment of the path; else the host; else the whole source. */
export function streamOf(source: string): string {
  const [, scheme, authority, path = ''] = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)/.exec(source) ?? [];
  const isOpaque = scheme !== undefined && authority === undefined && !path.includes('/');
  const segment = isOpaque ? undefined : path.split('/').findLast((each) => each !== '');
  return segment ?? (authority || source);
}

/** Ids, types and subjects: 1 to 255 bytes of UTF-8, not blank, without control characters. */
export function isName(text: string | undefined): boolean {
  return text !== undefined && /\S/.test(text) && isText(text, 255);
}

/** Valid prefix of a name. */
export function isPrefix(text: string): boolean {
  return isText(text, 255);
}

function isText(text: string, bytesMax: number): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text) && Buffer.byteLength(text) <= bytesMax;
}

export function isDatabaseName(text: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}

export function isUuid(text: string): boolean {
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) && !/^[0-]+$/.test(text);
}

/** UUIDv7. */
export function isDatabaseId(text: string): boolean {
  return isUuid(text) && /^.{14}7.{4}[89ab]/i.test(text);
}

/** Names of core attributes, and of attributes that the server adds. */
const RESERVED =
  /^(?:id|source|specversion|type|subject|time|data|datacontenttype|dataschema|revision|index|recordedtime)$/;

export function isWellFormedEvent(event: WrittenEvent): boolean {
  const { id, type, subject, source, specversion, time, extensions = {} } = event;
  if (!isName(id) || !isName(type) || (subject !== undefined && !isName(subject))) return false;
  if (specversion !== '1.0' || (time !== undefined && instantOf(time) === undefined)) return false;
  if (source === undefined || !/^(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[\da-f]{2})+$/i.test(source)) return false;
  if (!isName(streamOf(source)) || source.length > 2048) return false;
  return Object.entries(extensions).every(
    ([name, value]) => /^[a-z0-9]{1,64}$/.test(name) && !RESERVED.test(name) && !/\p{Cc}/u.test(String(value)),
  );
}

export interface Selectable {
  readonly source: string;
  readonly type: string;
  readonly subject?: string | undefined;
}

export function matches(selector: Selector, event: Selectable): boolean {
  switch (selector.kind) {
    case 'all':
      return true;
    case 'no-subject':
      return event.subject === undefined;
    case 'and':
      return selector.parts.every((part) => matches(part, event));
    case 'or':
      return selector.parts.some((part) => matches(part, event));
    case 'type':
      return event.type === selector.value;
    case 'type-prefix':
      return event.type.startsWith(selector.value);
    case 'stream':
      return streamOf(event.source) === selector.value;
    case 'stream-prefix':
      return streamOf(event.source).startsWith(selector.value);
    case 'subject':
      return event.subject === selector.value;
    case 'subject-prefix':
      return event.subject?.startsWith(selector.value) ?? false;
    case 'source':
      return event.source === selector.value;
  }
}

export function isWellFormedSelector(selector: Selector): boolean {
  if (selector.kind === 'all' || selector.kind === 'no-subject') return true;
  if ('parts' in selector) return selector.parts.length > 0 && selector.parts.every(isWellFormedSelector);
  if (selector.kind === 'source') return selector.value !== '' && isText(selector.value, 2048);
  return selector.kind.endsWith('-prefix') ? isPrefix(selector.value) : isName(selector.value);
}

export function isWellFormedConstraint(constraint: Constraint): boolean {
  if (constraint.kind === 'empty') return false;
  if (constraint.selector !== undefined && !isWellFormedSelector(constraint.selector)) return false;
  return constraint.kind !== 'range' || constraint.start <= constraint.end;
}

/** `latest` is L: the revision of the latest matching event, or that of the database without a selector. */
export function holds(constraint: Constraint, latest: bigint): boolean {
  if (constraint.kind === 'empty') return false;
  const hasSelector = constraint.selector !== undefined;
  if (constraint.kind === 'range') {
    return hasSelector ? constraint.start <= latest && latest <= constraint.end : constraint.end <= latest;
  }
  if (constraint.kind === 'max') return latest <= constraint.revision;
  return hasSelector ? latest >= constraint.revision : latest === constraint.revision;
}

/** Every interface shows text as a JSON string, so the written form is not compared. */
export function shownData(data: Data | undefined): Data | undefined {
  return data?.kind === 'text' ? { kind: 'json', value: JSON.stringify(data.value) } : data;
}
