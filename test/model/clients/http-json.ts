/** Converts requests to JSON and JSON back to answers. Numbers keep their spelling, in requests and in payloads. */
import { instantOf, timeOf } from '../model/rules.ts';
import type { Constraint, Data, Query, ReadEvent, Selector, WrittenEvent } from '../model/vocabulary.ts';
import { flatSelector } from './grpc-messages.ts';

/** Node.js has both functions, but this release of TypeScript does not declare them. */
interface RawJson {
  rawJSON(text: string): unknown;
  parse(text: string, reviver: (key: string, value: unknown, context: { readonly source: string }) => unknown): unknown;
}
const RAW = JSON as unknown as RawJson;

/** JSON text that is inserted into a body unchanged. */
class ExactText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A bigint becomes a number with all its digits. */
export function writeJson(value: unknown): string {
  const exact: string[] = [];
  const marked = JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === 'bigint') return RAW.rawJSON(String(each));
    return each instanceof ExactText ? `@exact ${exact.push(each.text) - 1}@` : each;
  });
  return marked.replaceAll(/"@exact (\d+)@"/g, (_, place) => exact[Number(place)] ?? '');
}

/** Numbers keep their spelling, for `exactText`. */
export function readJson(text: string): unknown {
  return RAW.parse(text, (_, value, { source }) => (typeof value === 'number' ? RAW.rawJSON(source) : value));
}

const exactText = (value: unknown): string => JSON.stringify(value);

/** A number as kept by `readJson`. */
export function count(value: unknown): number {
  return Number(exactText(value));
}

const ATTRIBUTES: Readonly<Record<string, string>> = {
  stream: 'stream',
  type: 'eventType',
  subject: 'subject',
  source: 'source',
};

function selectorJson(selector: Selector): object {
  if (selector.kind === 'all') return {};
  if (selector.kind === 'no-subject') return { equals: { subject: { hasValue: false } } };
  if ('parts' in selector)
    return (
      flatSelector(selector, { ...ATTRIBUTES, type: 'event_type' }) ?? {
        [selector.kind]: selector.parts.map(selectorJson),
      }
    );
  const [attribute = ''] = selector.kind.split('-');
  const operator = selector.kind.endsWith('-prefix') ? 'startsWith' : 'equals';
  const value = attribute === 'subject' ? { hasValue: true, value: selector.value } : selector.value;
  return { [operator]: { [ATTRIBUTES[attribute] ?? '']: value } };
}

/** The query in the parameter `q`. */
export function scopedQuery({ selectors, start, end, effective, isReverse, limit, after }: Query): object {
  const [only, ...others] = selectors;
  const selector =
    only === undefined ? undefined : others.length === 0 ? selectorJson(only) : { or: selectors.map(selectorJson) };
  const revision =
    start === undefined && end === undefined ? undefined : end === undefined ? start : { startAt: start, endAt: end };
  const effectiveTime = effective && { startAt: effective.start, endAt: effective.end };
  const range = revision === undefined && effectiveTime === undefined ? undefined : { revision, effectiveTime };
  return { selector, range, direction: isReverse ? 'REVERSE' : undefined, limit, after };
}

/** The query in a request body, without a cursor. */
export function collectionQuery({
  selectors,
  start,
  end,
  effective,
  isReverse,
  limit,
  after,
}: Query): Record<string, unknown> {
  return {
    selectors: selectors.length === 0 ? undefined : selectors.map(selectorJson),
    revision_range: start === undefined && end === undefined ? undefined : { start, end },
    effective_time_range: effective,
    direction: isReverse ? 'reverse' : 'forward',
    limit,
    after,
  };
}

export function constraintJson(constraint: Constraint): object {
  if (constraint.kind === 'empty') return {};
  const { kind, selector, ...numbers } = constraint;
  const body = { ...numbers, selector: selector && selectorJson(selector) };
  // The form with `type` has the same meaning.
  return kind === 'max'
    ? { type: 'max_revision', ...body }
    : { [kind === 'min' ? 'min_revision' : 'revision_range']: body };
}

export function eventJson({ data, extensions = {}, ...event }: WrittenEvent): object {
  const payload =
    data?.kind === 'binary'
      ? { data_base64: data.value }
      : data && { data: data.kind === 'json' ? new ExactText(data.value) : data.value };
  return { ...event, ...payload, ...extensions };
}

const CORE = ['id', 'source', 'type', 'subject', 'time', 'datacontenttype', 'dataschema'] as const;
const OTHERS = new Set<string>([...CORE, 'specversion', 'data', 'data_base64', 'revision', 'index', 'recordedtime']);

export function readEvent(value: unknown): ReadEvent {
  const event = value as Readonly<Record<string, unknown>>;
  const [id = '', source = '', type = '', subject, time, datacontenttype, dataschema] = CORE.map(
    (name) => event[name] as string | undefined,
  );
  const extensions = Object.entries(event).flatMap(([name, each]) =>
    OTHERS.has(name) ? [] : [[name, typeof each === 'object' ? count(each) : (each as string | boolean)] as const],
  );
  return {
    id,
    specversion: event['specversion'] as string | undefined,
    source,
    type,
    subject,
    time,
    datacontenttype,
    dataschema,
    data: dataOf(event),
    extensions: Object.fromEntries(extensions),
    revision: count(event['revision']),
    index: count(event['index']),
    recorded: nanosOf(event['recordedtime']),
  };
}

function dataOf({ data, data_base64: base64 }: Readonly<Record<string, unknown>>): Data | undefined {
  if (base64 !== undefined) return { kind: 'binary', value: base64 as string };
  return data === undefined ? undefined : { kind: 'json', value: exactText(data) };
}

/** Nanoseconds since 1970 of a time in the server's canonical spelling. */
export function nanosOf(text: unknown): string {
  const nanos = instantOf(String(text));
  if (nanos === undefined || timeOf(nanos) !== text)
    throw new Error(`${String(text)} is no time in canonical spelling`);
  return String(nanos);
}
