/** Cairn over gRPC; events travel in the CloudEvents shape of Transact. */

import type {
  CloudEvent_CloudEventAttributeValue as Attribute,
  CloudEvent,
} from '../../../proto/gen/cairn/cloudevents/v1/cloudevents.ts';
import { Direction, type EventSelector, type Event as WireEvent } from '../../../proto/gen/cairn/v1/event.ts';
import type { Constraint } from '../../../proto/gen/cairn/v1/transaction.ts';
import { GrpcFailure, TestClient } from '../grpc-client.ts';
import type {
  Api,
  Committed,
  JsonEvent,
  ReadEvent,
  Refused,
  TestConstraint,
  TestQuery,
  TestSelector,
  TestTransaction,
  TextType,
} from './api.ts';

const ENVELOPE = new Set(['id', 'source', 'type', 'specversion', 'data', 'data_base64']);

export class GrpcApi implements Api {
  readonly name = 'grpc';
  readonly #client: TestClient;

  /** `address` is host:port. */
  constructor(address: string) {
    this.#client = new TestClient(address);
  }

  createDatabase(name: string): Promise<{ readonly kind: 'created' } | Refused> {
    return orRefused(async () => {
      await this.#client.send('createDatabase', { databaseName: name });
      return { kind: 'created' };
    });
  }

  deleteDatabase(name: string): Promise<{ readonly kind: 'deleted' } | Refused> {
    return orRefused(async () => {
      await this.#client.send('deleteDatabase', { databaseName: name });
      return { kind: 'deleted' };
    });
  }

  async listDatabases(): Promise<readonly string[]> {
    const { databases } = await this.#client.send('fetchCatalog', {});
    return databases.map((database) => database.name);
  }

  revision(database: string): Promise<{ readonly kind: 'at'; readonly revision: number } | Refused> {
    return orRefused(async () => {
      const reply = await this.#client.send('fetchLatestDatabase', { databaseName: database });
      return { kind: 'at', revision: reply.database?.revision ?? Number.NaN };
    });
  }

  transact(database: string, transaction: TestTransaction): Promise<Committed | Refused> {
    return orRefused(async () => {
      const reply = await this.#client.send('transact', {
        databaseName: database,
        transaction: undefined,
        events: transaction.events.map((event) => cloudEventOf(event, { ...CORE_TYPES, ...transaction.types })),
        constraints: (transaction.constraints ?? []).map(constraintOf),
        transactionId: transaction.transactionId,
        options: undefined,
      });
      return {
        kind: 'committed',
        revision: reply.revision,
        ids: reply.eventIdMappings.map(({ clientEventId, storedEventId }) => [clientEventId, storedEventId] as const),
      };
    });
  }

  async query(database: string, query: TestQuery): Promise<readonly ReadEvent[]> {
    const { messages } = await this.#client.collect('queryEvents', {
      databaseName: database,
      query: {
        eventSelection: { selectors: query.selectors.map(selectorOf) },
        revisionRange: undefined,
        effectiveTimeRange: undefined,
        direction: query.reverse === true ? Direction.DIRECTION_REVERSE : Direction.DIRECTION_FORWARD,
        limit: query.limit ?? 0,
        after: undefined,
      },
    });
    return messages.map(readEvent);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#client[Symbol.asyncDispose]();
  }
}

async function orRefused<T>(work: () => Promise<T>): Promise<T | Refused> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof GrpcFailure)) throw error;
    return {
      kind: 'refused',
      code: error.code,
      message: error.message,
      violated: error.violations.map(({ subject }) => Number(/\d+/.exec(subject)?.[0])),
      fields: error.fields,
    };
  }
}

function selectorOf(selector: TestSelector): EventSelector {
  if ('and' in selector) return { kind: { $case: 'and', value: { selectors: selector.and.map(selectorOf) } } };
  if ('or' in selector) return { kind: { $case: 'or', value: { selectors: selector.or.map(selectorOf) } } };
  if ('noSubject' in selector) return { kind: { $case: 'noSubject', value: {} } };
  if ('typePrefix' in selector) return { kind: { $case: 'byTypePrefix', value: selector.typePrefix } };
  if ('streamPrefix' in selector) return { kind: { $case: 'byStreamPrefix', value: selector.streamPrefix } };
  if ('subjectPrefix' in selector) return { kind: { $case: 'bySubjectPrefix', value: selector.subjectPrefix } };
  const { stream, type, subject, source } = selector;
  return { stream, eventType: type, subject, source, kind: undefined };
}

function constraintOf(constraint: TestConstraint): Constraint {
  const selector = constraint.selector === undefined ? undefined : selectorOf(constraint.selector);
  switch (constraint.kind) {
    case 'min':
      return { kind: { $case: 'minRevision', value: { revision: constraint.revision, selector } } };
    case 'max':
      return { kind: { $case: 'maxRevision', value: { revision: constraint.revision, selector } } };
    case 'range':
      return { kind: { $case: 'revisionRange', value: { start: constraint.start, end: constraint.end, selector } } };
  }
}

const CORE_TYPES: Types = { time: 'timestamp', dataschema: 'uri' };

type Types = Readonly<Record<string, TextType>>;

/** The protobuf form of a JSON event. What protobuf cannot say (an id that is a number) is none of its cases. */
function cloudEventOf(event: JsonEvent, types: Types): CloudEvent {
  const attributes: Record<string, Attribute> = {};
  for (const [name, value] of Object.entries(event)) {
    if (!ENVELOPE.has(name) && value !== null) attributes[name] = attributeOf(value, types[name]);
  }
  return {
    id: textOf(event['id']),
    source: textOf(event['source']),
    specVersion: textOf(event['specversion']),
    type: textOf(event['type']),
    attributes,
    data: dataOf(event),
  };
}

function attributeOf(value: unknown, type: TextType | undefined): Attribute {
  if (typeof value === 'boolean') return { attr: { $case: 'ceBoolean', value } };
  if (typeof value === 'number') return { attr: { $case: 'ceInteger', value } };
  const text = String(value);
  switch (type) {
    case 'uri':
      return { attr: { $case: 'ceUri', value: text } };
    case 'uri-ref':
      return { attr: { $case: 'ceUriRef', value: text } };
    case 'bytes':
      return { attr: { $case: 'ceBytes', value: Buffer.from(text, 'base64') } };
    case 'timestamp':
      return timestampOf(text);
    case undefined:
      return { attr: { $case: 'ceString', value: text } };
  }
}

/** What is no time goes as the text that it is, to be refused. */
function timestampOf(text: string): Attribute {
  const milliseconds = Date.parse(text);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(milliseconds)) {
    return { attr: { $case: 'ceString', value: text } };
  }
  const nanos = Number(/\.(\d{1,9})/.exec(text)?.[1]?.padEnd(9, '0') ?? 0);
  return { attr: { $case: 'ceTimestamp', value: { seconds: Math.floor(milliseconds / 1000), nanos } } };
}

function dataOf(event: JsonEvent): CloudEvent['data'] {
  const { data, data_base64: base64 } = event;
  if (typeof base64 === 'string') return { $case: 'binaryData', value: Buffer.from(base64, 'base64') };
  if (data === undefined) return undefined;
  return { $case: 'textData', value: typeof data === 'string' ? data : JSON.stringify(data) };
}

function readEvent(event: WireEvent): ReadEvent {
  return {
    revision: event.revision,
    index: event.index,
    id: event.id,
    type: event.ty,
    source: event.source,
    subject: event.subject,
    time: event.timeText ?? canonicalTime(event.time),
    data: event.data.toString('utf8'),
    extensions: Object.fromEntries(Object.entries(event.extensions).map(([name, value]) => [name, value.attr?.value])),
  };
}

function canonicalTime(time: { readonly seconds: number; readonly nanos: number } | undefined): string | undefined {
  if (time === undefined) return undefined;
  const fraction = time.nanos === 0 ? '' : `.${String(time.nanos).padStart(9, '0').replace(/0+$/, '')}`;
  return new Date(time.seconds * 1000).toISOString().replace(/\.000Z$/, `${fraction}Z`);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
