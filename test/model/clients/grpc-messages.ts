/** Requests as messages of `proto/cairn/v1`, and events as they come back. 64-bit numbers are text, which is exact. */
import { instantOf, timeOf } from '../model/rules.ts';
import type { Constraint, Data, Query, ReadEvent, Request, Selector, WrittenEvent } from '../model/vocabulary.ts';

/** By the names of the proto files. */
export type Message = Readonly<Record<string, unknown>>;

/** A number that is 0 is absent from what comes back. */
export interface Timestamp {
  readonly seconds?: string;
  readonly nanos?: number;
}

interface AttributeValue {
  readonly ce_boolean?: boolean;
  readonly ce_integer?: number;
  readonly ce_string?: string;
}

export interface EventMessage {
  readonly id: string;
  readonly spec_version: string;
  readonly ty: string;
  readonly source: string;
  readonly subject?: string;
  readonly time?: Timestamp;
  readonly time_text?: string;
  readonly data?: Buffer;
  readonly data_kind?: string;
  readonly datacontenttype?: string;
  readonly dataschema?: string;
  readonly extensions?: Readonly<Record<string, AttributeValue>>;
  readonly revision: string;
  readonly index?: number;
  readonly recorded_time?: Timestamp;
}

const FLAT: Readonly<Record<string, string>> = {
  stream: 'stream',
  type: 'event_type',
  subject: 'subject',
  source: 'source',
};

function selectorMessage(selector: Selector): Message {
  if (selector.kind === 'all') return {};
  if (selector.kind === 'no-subject') return { no_subject: {} };
  if ('parts' in selector)
    return flatSelector(selector, FLAT) ?? { [selector.kind]: { selectors: selector.parts.map(selectorMessage) } };
  return { [`by_${selector.kind.replace('-', '_')}`]: selector.value };
}

/** An And of equalities, each of another attribute, in one flat object; undefined for any other selector. */
export function flatSelector(selector: Selector, names: Readonly<Record<string, string>>): Message | undefined {
  if (selector.kind !== 'and' || selector.parts.length < 2) return undefined;
  const flat: Record<string, string> = {};
  for (const part of selector.parts) {
    const name = names[part.kind];
    if (name === undefined || !('value' in part) || name in flat) return undefined;
    flat[name] = part.value;
  }
  return flat;
}

function queryMessage({ selectors, start, end, effective, isReverse, limit, after }: Query): Message {
  return {
    ...(selectors.length === 0 ? {} : { event_selection: { selectors: selectors.map(selectorMessage) } }),
    ...(start === undefined && end === undefined
      ? {}
      : { revision_range: { ...number('start', start), ...number('end', end) } }),
    ...(effective === undefined
      ? {}
      : { effective_time_range: { ...time('start', effective.start), ...time('end', effective.end) } }),
    direction: isReverse ? 'DIRECTION_REVERSE' : 'DIRECTION_FORWARD',
    ...(limit === undefined ? {} : { limit }),
    ...(after === undefined ? {} : { after: { revision: String(after.revision), index: after.index } }),
  };
}

function number(name: string, value: bigint | undefined): Message {
  return value === undefined ? {} : { [name]: String(value) };
}

function time(name: string, text: string | undefined): Message {
  return text === undefined ? {} : { [name]: timestamp(instantOf(text) ?? 0n) };
}

function timestamp(nanos: bigint): Timestamp {
  const fraction = ((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  return { seconds: String((nanos - fraction) / 1_000_000_000n), nanos: Number(fraction) };
}

export function nanosOf(at: Timestamp | undefined): string {
  return at === undefined ? '' : String(BigInt(at.seconds ?? 0) * 1_000_000_000n + BigInt(at.nanos ?? 0));
}

function constraintMessage(constraint: Constraint): Message {
  if (constraint.kind === 'empty') return {};
  const selector = constraint.selector === undefined ? {} : { selector: selectorMessage(constraint.selector) };
  if (constraint.kind === 'range') {
    return { revision_range: { start: String(constraint.start), end: String(constraint.end), ...selector } };
  }
  return { [`${constraint.kind}_revision`]: { revision: String(constraint.revision), ...selector } };
}

function transactMessage({ via, database, id, events, constraints }: Extract<Request, { kind: 'transact' }>): Message {
  const parts = {
    constraints: constraints.map(constraintMessage),
    ...(id === undefined ? {} : { transaction_id: id }),
  };
  if (via === 'Transact CloudEvents') return { database_name: database, events: events.map(cloudEvent), ...parts };
  return { database_name: database, transaction: { events: events.map(eventMessage), ...parts } };
}

const KINDS = { json: 'DATA_KIND_JSON', text: 'DATA_KIND_TEXT', binary: 'DATA_KIND_BINARY' } as const;

function bytesOf({ kind, value }: Data): Buffer {
  return Buffer.from(value, kind === 'binary' ? 'base64' : 'utf8');
}

function eventMessage({ specversion, type, time: text, data, extensions = {}, ...event }: WrittenEvent): Message {
  const instant = text === undefined ? undefined : instantOf(text);
  const isCanonical = instant !== undefined && timeOf(instant) === text;
  return {
    ...event,
    ...(specversion === undefined ? {} : { spec_version: specversion }),
    ...(type === undefined ? {} : { ty: type }),
    ...(instant === undefined ? {} : { time: timestamp(instant) }),
    ...(text === undefined || isCanonical ? {} : { time_text: text }),
    ...(data === undefined ? {} : { data: bytesOf(data), data_kind: KINDS[data.kind] }),
    extensions: Object.fromEntries(Object.entries(extensions).map(([name, value]) => [name, attribute(value)])),
  };
}

function cloudEvent({
  specversion,
  id,
  source,
  type,
  time: text,
  data,
  extensions = {},
  ...event
}: WrittenEvent): Message {
  const instant = text === undefined ? undefined : instantOf(text);
  const attributes = Object.entries({ ...event, ...extensions }).filter(([, value]) => value !== undefined);
  const timeValue =
    instant !== undefined && timeOf(instant) === text ? { ce_timestamp: timestamp(instant) } : { ce_string: text };
  return {
    id,
    source,
    type,
    spec_version: specversion,
    attributes: {
      ...Object.fromEntries(attributes.map(([name, value]) => [name, attribute(value)])),
      ...(text === undefined ? {} : { time: timeValue }),
    },
    ...(data?.kind === 'text' ? { text_data: data.value } : data === undefined ? {} : { binary_data: bytesOf(data) }),
  };
}

function attribute(value: string | number | boolean | undefined): AttributeValue {
  if (typeof value === 'boolean') return { ce_boolean: value };
  return typeof value === 'number' ? { ce_integer: value } : { ce_string: value ?? '' };
}

export function readEvent(event: EventMessage): ReadEvent {
  const {
    id,
    source,
    ty: type,
    subject,
    time: at,
    time_text: text,
    datacontenttype,
    dataschema,
    extensions = {},
  } = event;
  return {
    id,
    specversion: event.spec_version,
    source,
    type,
    subject,
    time: text ?? (at === undefined ? undefined : timeOf(BigInt(nanosOf(at)))),
    datacontenttype,
    dataschema,
    data: dataOf(event),
    extensions: Object.fromEntries(Object.entries(extensions).map(([name, value]) => [name, valueOf(value)])),
    revision: Number(event.revision),
    index: event.index ?? 0,
    recorded: nanosOf(event.recorded_time),
  };
}

function valueOf({
  ce_boolean: boolean,
  ce_integer: integer,
  ce_string: text,
}: AttributeValue): string | number | boolean {
  return boolean ?? integer ?? text ?? '';
}

/** As JSON shows it (docs: payloads by their kind, else by their content type). */
function dataOf({ data, data_kind: kind, datacontenttype }: EventMessage): Data | undefined {
  if (data === undefined || data.length === 0) return undefined;
  if (kind === 'DATA_KIND_JSON' || (kind === undefined && /^(?:.*[/+]json|)$/.test(datacontenttype ?? ''))) {
    return { kind: 'json', value: data.toString('utf8') };
  }
  if (kind === 'DATA_KIND_TEXT') return { kind: 'json', value: JSON.stringify(data.toString('utf8')) };
  return { kind: 'binary', value: data.toString('base64') };
}

interface Call {
  readonly rpc: string;
  readonly message: Message;
}

export function callOf(request: Request): Call {
  const { via: rpc, database } = request;
  const named = { database_name: database };
  switch (request.kind) {
    case 'transact':
      return { rpc: 'Transact', message: transactMessage(request) };
    case 'delete':
      return { rpc, message: { ...named, ...(request.id === undefined ? {} : { database_id: request.id }) } };
    case 'query':
      return {
        rpc,
        message: { ...named, query: queryMessage(request.query), ...number('at_revision', request.query.at) },
      };
    case 'scan': {
      const direction = request.isReverse ? 'DIRECTION_REVERSE' : 'DIRECTION_FORWARD';
      return {
        rpc,
        message: { ...named, ...number('start_revision', request.start), direction, limit: request.limit ?? 0 },
      };
    }
    case 'subscribe': {
      const { selectors, after } = request.query;
      const position = after === undefined ? {} : { after: { revision: String(after.revision), index: after.index } };
      return {
        rpc,
        message: {
          ...named,
          ...position,
          event_selection: { selectors: selectors.map(selectorMessage) },
          heartbeat_ms: 100,
        },
      };
    }
    case 'database': {
      const at = number(rpc === 'AwaitDatabase' ? 'at_revision' : 'revision', request.at);
      return {
        rpc,
        message: { ...named, ...at, ...(request.time === undefined ? {} : { at_timestamp: timestamp(request.time) }) },
      };
    }
    case 'lookup':
      return { rpc, message: { ...named, transaction_id: request.id } };
    case 'catalog':
      return { rpc, message: {} };
    case 'create':
    case 'event':
    case 'malformed':
    case 'names':
    case 'next':
      return { rpc, message: named };
  }
}
