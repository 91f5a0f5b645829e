/**
 * Converts requests to messages of `proto/cairn/v1`, and messages of events back. 64-bit numbers are text, which is
 * exact.
 */
import { instantOf, timeOf } from '../model/rules.ts';
import type {
  Constraint,
  Data,
  Position,
  Query,
  ReadEvent,
  Request,
  RequestOf,
  Selector,
  WrittenEvent,
} from '../model/vocabulary.ts';

/** Field names are those of the proto files; undefined fields are not sent. */
export type Message = Readonly<Record<string, unknown>>;

/** A field that is 0 is absent in replies. */
export type Timestamp = Readonly<{ seconds?: string; nanos?: number }>;

type AttributeValue = Readonly<{ ce_boolean?: boolean; ce_integer?: number; ce_string?: string }>;

export interface EventMessage extends Pick<WrittenEvent, 'subject' | 'datacontenttype' | 'dataschema'> {
  readonly id: string;
  readonly spec_version: string;
  readonly ty: string;
  readonly source: string;
  readonly time?: Timestamp;
  readonly time_text?: string;
  readonly data?: Buffer;
  readonly data_kind?: string;
  readonly extensions?: Readonly<Record<string, AttributeValue>>;
  readonly revision: string;
  readonly index?: number;
  readonly recorded_time?: Timestamp;
}

const FLAT = { stream: 'stream', type: 'event_type', subject: 'subject', source: 'source' };

function selectorMessage(selector: Selector): Message {
  if (selector.kind === 'all') return {};
  if (selector.kind === 'no-subject') return { no_subject: {} };
  if ('value' in selector) return { [`by_${selector.kind.replace('-', '_')}`]: selector.value };
  return flatSelector(selector, FLAT) ?? { [selector.kind]: { selectors: selector.parts.map(selectorMessage) } };
}

/** An And of equalities of different attributes as one flat object; undefined for any other selector. */
export function flatSelector(selector: Selector, names: Readonly<Record<string, string>>): Message | undefined {
  if (selector.kind !== 'and' || selector.parts.length < 2) return undefined;
  const flat: Message = Object.fromEntries(
    selector.parts.map((part) => [names[part.kind], 'value' in part ? part.value : undefined]),
  );
  const isFlat = !('undefined' in flat) && Object.keys(flat).length === selector.parts.length;
  return isFlat ? flat : undefined;
}

function queryMessage({ selectors, start, end, effective, isReverse, limit, after }: Query): Message {
  return {
    event_selection: selectors.length === 0 ? undefined : { selectors: selectors.map(selectorMessage) },
    revision_range:
      start === undefined && end === undefined ? undefined : { start: start?.toString(), end: end?.toString() },
    effective_time_range: effective && { start: time(effective.start), end: time(effective.end) },
    direction: direction(isReverse),
    limit,
    after: position(after),
  };
}

function direction(isReverse: boolean): string {
  return isReverse ? 'DIRECTION_REVERSE' : 'DIRECTION_FORWARD';
}

function position(at: Position | undefined): Message | undefined {
  return at && { revision: String(at.revision), index: at.index };
}

function time(text: string | undefined): Timestamp | undefined {
  const instant = text === undefined ? undefined : instantOf(text);
  return instant === undefined ? undefined : timestamp(instant);
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
  const selector = constraint.selector && selectorMessage(constraint.selector);
  if (constraint.kind !== 'range')
    return { [`${constraint.kind}_revision`]: { revision: String(constraint.revision), selector } };
  return { revision_range: { start: String(constraint.start), end: String(constraint.end), selector } };
}

const KINDS = { json: 'DATA_KIND_JSON', text: 'DATA_KIND_TEXT', binary: 'DATA_KIND_BINARY' } as const;

function bytesOf({ kind, value }: Data): Buffer {
  return Buffer.from(value, kind === 'binary' ? 'base64' : 'utf8');
}

/** The time as a timestamp, and as text where the text has more information. */
function timeParts({ time: text }: WrittenEvent): { at?: Timestamp | undefined; text?: string | undefined } {
  const at = time(text);
  return at !== undefined && timeOf(BigInt(nanosOf(at))) === text ? { at } : { at, text };
}

function eventMessage({ specversion, type, data, extensions = {}, ...event }: WrittenEvent): Message {
  const { at, text } = timeParts(event);
  const payload = data && { data: bytesOf(data), data_kind: KINDS[data.kind] };
  const named = { spec_version: specversion, ty: type, time: at, time_text: text, extensions: attributes(extensions) };
  return { ...event, ...named, ...payload };
}

function cloudEvent({ specversion, id, source, type, time: at, data, extensions, ...event }: WrittenEvent): Message {
  const { at: timeAt, text } = timeParts({ time: at });
  const shown = text === undefined ? { ce_timestamp: timeAt } : { ce_string: text };
  const payload = data?.kind === 'text' ? { text_data: data.value } : data && { binary_data: bytesOf(data) };
  const named = { ...attributes({ ...event, ...extensions }), ...(at !== undefined && { time: shown }) };
  return { id, source, type, spec_version: specversion, attributes: named, ...payload };
}

function attributes(values: Readonly<Record<string, string | number | boolean | undefined>>): Message {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const kinds: Readonly<Record<string, string>> = { boolean: 'ce_boolean', number: 'ce_integer', string: 'ce_string' };
  return Object.fromEntries(given.map(([name, value]) => [name, { [kinds[typeof value] ?? '']: value }]));
}

export function readEvent({ ty, spec_version, time: at, time_text: text, ...message }: EventMessage): ReadEvent {
  const { data: _, data_kind: _kind, extensions = {}, revision, index = 0, recorded_time, ...event } = message;
  return {
    ...event,
    specversion: spec_version,
    type: ty,
    time: text ?? (at === undefined ? undefined : timeOf(BigInt(nanosOf(at)))),
    data: dataOf(message),
    extensions: Object.fromEntries(Object.entries(extensions).map(([name, value]) => [name, valueOf(value)])),
    revision: Number(revision),
    index,
    recorded: nanosOf(recorded_time),
  };
}

function valueOf({
  ce_boolean: flag,
  ce_integer: integer,
  ce_string: text,
}: AttributeValue): string | number | boolean {
  return flag ?? integer ?? text ?? '';
}

/** The payload as JSON shows it: by its kind, or else by its content type. */
function dataOf({ data, data_kind: kind, datacontenttype }: Partial<EventMessage>): Data | undefined {
  if (data === undefined || data.length === 0) return undefined;
  if (kind === 'DATA_KIND_JSON' || (kind === undefined && /^(?:.*[/+]json|)$/.test(datacontenttype ?? ''))) {
    return { kind: 'json', value: data.toString('utf8') };
  }
  if (kind === 'DATA_KIND_TEXT') return { kind: 'json', value: JSON.stringify(data.toString('utf8')) };
  return { kind: 'binary', value: data.toString('base64') };
}

export function callOf(request: Request): { readonly rpc: string; readonly message: Message } {
  const rpc = request.kind === 'transact' ? 'Transact' : request.via;
  return { rpc, message: { database_name: request.database || undefined, ...partsOf(request) } };
}

function partsOf(request: Request): Message {
  switch (request.kind) {
    case 'transact':
      return transactParts(request);
    case 'delete':
      return { database_id: request.id };
    case 'query':
      return { query: queryMessage(request.query), at_revision: request.query.at?.toString() };
    case 'scan':
      return {
        start_revision: request.start?.toString(),
        direction: direction(request.isReverse),
        limit: request.limit,
      };
    case 'subscribe': {
      const { selectors, after } = request.query;
      const selection = { selectors: selectors.map(selectorMessage) };
      return { event_selection: selection, after: position(after), heartbeat_ms: 100 };
    }
    case 'database': {
      const name = request.via === 'AwaitDatabase' ? 'at_revision' : 'revision';
      const at = request.time === undefined ? undefined : timestamp(request.time);
      return { [name]: request.at?.toString(), at_timestamp: at };
    }
    case 'lookup':
      return { transaction_id: request.id };
    case 'create':
    case 'catalog':
    case 'event':
    case 'malformed':
    case 'names':
    case 'next':
    case 'publish':
      return {};
  }
}

function transactParts({ via, id, events, constraints }: RequestOf<'transact'>): Message {
  const parts = { constraints: constraints.map(constraintMessage), transaction_id: id };
  if (via === 'Transact CloudEvents') return { events: events.map(cloudEvent), ...parts };
  return { transaction: { events: events.map(eventMessage), ...parts } };
}
