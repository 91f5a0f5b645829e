/** Cairn over HTTP. */
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
} from './api.ts';

const PAGE = 1000;
const CORE = new Set([
  'id',
  'source',
  'type',
  'specversion',
  'subject',
  'time',
  'datacontenttype',
  'dataschema',
  'data',
  'data_base64',
]);
const ADDED = new Set(['revision', 'index', 'recordedtime']);

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export class HttpApi implements Api {
  readonly name = 'http';
  readonly #base: string;

  /** `base` is http://host:port. */
  constructor(base: string) {
    this.#base = base;
  }

  async createDatabase(name: string): Promise<{ readonly kind: 'created' } | Refused> {
    const answer = await this.#send('POST', '/api/v1/db', { database_name: name });
    return answer.status === 201 ? { kind: 'created' } : refused(answer);
  }

  async deleteDatabase(name: string): Promise<{ readonly kind: 'deleted' } | Refused> {
    const answer = await this.#send('DELETE', `/api/v1/db/${encodeURIComponent(name)}`);
    return answer.status === 204 ? { kind: 'deleted' } : refused(answer);
  }

  async listDatabases(): Promise<readonly string[]> {
    const { body } = await this.#send('GET', '/');
    return listOf(body['databases']).map(String);
  }

  async revision(database: string): Promise<{ readonly kind: 'at'; readonly revision: number } | Refused> {
    const answer = await this.#send('GET', `/db/${encodeURIComponent(database)}/latest`);
    return answer.status === 200 ? { kind: 'at', revision: Number(answer.body['revision']) } : refused(answer);
  }

  async transact(database: string, transaction: TestTransaction): Promise<Committed | Refused> {
    const answer = await this.#send('POST', `/api/v1/db/${encodeURIComponent(database)}`, {
      events: transaction.events,
      ...(transaction.constraints === undefined ? {} : { conditions: transaction.constraints.map(conditionOf) }),
      ...(transaction.transactionId === undefined ? {} : { transaction_id: transaction.transactionId }),
    });
    if (answer.status !== 200) return refused(answer);
    const recorded = objectOf(answer.body['transaction']);
    const mappings = listOf(answer.body['event_id_mappings']).map(objectOf);
    return {
      kind: 'committed',
      revision: Number(recorded['revision']),
      ids: mappings.map((mapping) => [String(mapping['client_event_id']), String(mapping['stored_event_id'])]),
    };
  }

  async query(database: string, query: TestQuery): Promise<readonly ReadEvent[]> {
    const events: ReadEvent[] = [];
    let after: unknown;
    for (;;) {
      const answer = await this.#send('POST', `/databases/${encodeURIComponent(database)}/query`, {
        selectors: query.selectors.map(selectorOf),
        direction: query.reverse === true ? 'reverse' : 'forward',
        limit: query.limit ?? PAGE,
        ...(after === undefined ? {} : { after }),
      });
      if (answer.status !== 200) throw new Error(`the query was refused: ${JSON.stringify(answer.body)}`);
      events.push(...listOf(answer.body['events']).map((event) => readEvent(objectOf(event))));
      if (query.limit !== undefined || answer.body['has_more'] !== true) return events;
      after = answer.body['next_cursor'];
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // fetch keeps its connections by itself.
  }

  async #send(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${this.#base}${path}`, {
      method,
      headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : objectOf(JSON.parse(text)) };
  }
}

function selectorOf(selector: TestSelector): unknown {
  if ('and' in selector) return { and: selector.and.map(selectorOf) };
  if ('or' in selector) return { or: selector.or.map(selectorOf) };
  if ('noSubject' in selector) return { noSubject: {} };
  if ('typePrefix' in selector) return { startsWith: { eventType: selector.typePrefix } };
  if ('streamPrefix' in selector) return { startsWith: { stream: selector.streamPrefix } };
  if ('subjectPrefix' in selector) return { startsWith: { subject: selector.subjectPrefix } };
  const { stream, type, subject, source } = selector;
  return { stream, event_type: type, subject, source };
}

function conditionOf(constraint: TestConstraint): unknown {
  const selector = constraint.selector === undefined ? {} : { selector: selectorOf(constraint.selector) };
  switch (constraint.kind) {
    case 'min':
      return { min_revision: { revision: constraint.revision, ...selector } };
    case 'max':
      return { max_revision: { revision: constraint.revision, ...selector } };
    case 'range':
      return { revision_range: { start: constraint.start, end: constraint.end, ...selector } };
  }
}

function refused({ body }: Answer): Refused {
  const error = objectOf(body['error']);
  const details = objectOf(error['details'] ?? {});
  return {
    kind: 'refused',
    code: String(error['code']),
    message: String(error['message']),
    violated: listOf(details['constraints'] ?? []).map((violation) => Number(objectOf(violation)['index'])),
    fields: listOf(details['violations'] ?? []).map((violation) => String(objectOf(violation)['field'])),
  };
}

function readEvent(event: JsonEvent): ReadEvent {
  const extensions = Object.entries(event).filter(([name]) => !CORE.has(name) && !ADDED.has(name));
  const { data, data_base64: base64 } = event;
  return {
    revision: Number(event['revision']),
    index: Number(event['index']),
    id: String(event['id']),
    type: String(event['type']),
    source: String(event['source']),
    subject: typeof event['subject'] === 'string' ? event['subject'] : undefined,
    time: typeof event['time'] === 'string' ? event['time'] : undefined,
    data: textOf(data, base64),
    extensions: Object.fromEntries(extensions),
  };
}

function textOf(data: unknown, base64: unknown): string {
  if (typeof base64 === 'string') return Buffer.from(base64, 'base64').toString('utf8');
  if (data === undefined) return '';
  return typeof data === 'string' ? data : JSON.stringify(data);
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null)
    throw new TypeError(`an object was expected, not ${JSON.stringify(value)}`);
  return Object.fromEntries(Object.entries(value));
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError(`a list was expected, not ${JSON.stringify(value)}`);
  return Array.from<unknown>(value);
}
