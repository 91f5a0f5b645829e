// A simple HTTP client for tests. It follows no redirects, and interprets nothing but JSON.
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent unchanged, as application/json unless the headers say otherwise or it is a form. */
  readonly body?: string | Uint8Array | FormData;
  readonly signal?: AbortSignal;
}

/** A missing reply fails its test, not the whole run. */
const TIMEOUT_MS = 45_000;
/** Publishing takes long, because the component is compiled before the reply. */
const PUBLISHED_MS = 60_000;

export class HttpClient {
  readonly address: string;

  constructor(address: string) {
    this.address = address;
  }

  async send(path: string, { method = 'GET', headers = {}, body, signal }: Sent = {}): Promise<Answer> {
    const isForm = body instanceof FormData;
    const isTyped = body === undefined || isForm || 'content-type' in headers;
    const type = isTyped ? {} : { 'content-type': 'application/json' };
    const deadline = AbortSignal.timeout(isForm ? PUBLISHED_MS : TIMEOUT_MS);
    const reply = await fetch(`${this.address}${path}`, {
      method,
      headers: { ...type, ...headers },
      redirect: 'manual',
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      ...(body === undefined ? {} : { body: body instanceof Uint8Array ? Buffer.from(body) : body }),
    });
    return { status: reply.status, headers: reply.headers, text: await reply.text() };
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(path, { headers });
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers });
  }

  delete(path: string): Promise<Answer> {
    return this.send(path, { method: 'DELETE' });
  }

  /** Creates a database and returns its id. */
  async create(name: string): Promise<string> {
    const answer = await this.post('/api/v1/db', { database_name: name });
    if (answer.status !== 201) throw new Error(`not created: ${answer.text}`);
    return (jsonOf(answer) as { readonly database_id: string }).database_id;
  }

  /** Creates a database with a unique name, and returns the name. */
  async created(): Promise<string> {
    const name = uniqueName();
    await this.create(name);
    return name;
  }

  /** Commits one transaction of these events and returns its revision. */
  async commit(name: string, ...events: readonly object[]): Promise<number> {
    const answer = await this.post(`/databases/${name}/events`, { events });
    if (answer.status !== 200) throw new Error(`not committed: ${answer.text}`);
    return (jsonOf(answer) as { readonly revision: number }).revision;
  }

  /** Publishes a component at `DATABASE/KIND`. */
  publish(
    kind: string,
    metadata: object | string,
    wasm: Uint8Array,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const body = new FormData();
    body.append('metadata', typeof metadata === 'string' ? metadata : JSON.stringify(metadata));
    body.append('wasm', new Blob([new Uint8Array(wasm)]), 'component.wasm');
    return this.send(`/api/v1/db/${kind}`, { method: 'POST', headers, body });
  }

  async latestRevision(name: string): Promise<number> {
    return (jsonOf(await this.get(`/databases/${name}`)) as { readonly latest_revision: number }).latest_revision;
  }
}

/** Reply to a transaction. */
export interface TransactionRecord {
  readonly transaction: {
    readonly database: string;
    readonly transaction_id: string;
    readonly revision: number;
    readonly basis: number;
    readonly transaction_timestamp: string;
    readonly event_count: number;
    readonly replayed: boolean;
  };
  readonly event_id_mappings: readonly { readonly client_event_id: string; readonly stored_event_id: string }[];
}

/** Parses the JSON of a reply. */
export function jsonOf(answer: Answer): unknown {
  const type = answer.headers.get('content-type');
  if (type !== 'application/json; charset=utf-8') throw new Error(`not JSON but ${type}: ${answer.text}`);
  return JSON.parse(answer.text);
}

interface Fault {
  readonly field: string;
  readonly description: string;
  readonly value?: string;
}

/** The specified form of a failed request. */
export interface Failure {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details?: {
    readonly reason?: string;
    readonly field?: string;
    readonly value?: string;
    readonly violations?: readonly Fault[];
    readonly constraints?: readonly { readonly index: number; readonly kind: string; readonly found: number }[];
  };
}

export type Wanted = Pick<Failure, 'status' | 'code'>;

export const INVALID_ARGUMENT: Wanted = { status: 400, code: 'INVALID_ARGUMENT' };
export const NOT_FOUND: Wanted = { status: 404, code: 'NOT_FOUND' };
export const ALREADY_EXISTS: Wanted = { status: 409, code: 'ALREADY_EXISTS' };
export const FAILED_PRECONDITION: Wanted = { status: 409, code: 'FAILED_PRECONDITION' };
export const RESOURCE_EXHAUSTED: Wanted = { status: 413, code: 'RESOURCE_EXHAUSTED' };

/** The failure of a reply. @throws Error unless it has the specified body and no caching headers (TH1, TH3). */
export function errorOf(answer: Answer, wanted?: Wanted): Failure {
  const body = jsonOf(answer) as { readonly error?: Omit<Failure, 'status'> };
  const { error } = body;
  const caching = ['cache-control', 'etag', 'expires', 'last-modified'].filter((name) => answer.headers.has(name));
  if (error === undefined || Object.keys(body).length !== 1 || !/\S/.test(error.message)) throw uncivil(answer, 'body');
  if (caching.length > 0) throw uncivil(answer, `headers: it has ${caching.join()}`);
  if (!answer.headers.has('access-control-allow-origin')) throw uncivil(answer, 'headers: no origin may read it');
  const failure = { status: answer.status, ...error };
  if (wanted === undefined || (wanted.status === failure.status && wanted.code === failure.code)) return failure;
  throw uncivil(answer, `status or code: not ${wanted.status} ${wanted.code}`);
}

function uncivil({ status, text }: Answer, what: string): Error {
  return new Error(`not the specified ${what}; ${status} ${text}`);
}

let databaseCount = 0;

/** A name that is unique within the process. */
export function uniqueName(): string {
  databaseCount++;
  return `http-${process.pid}-${databaseCount}`;
}

/** An event in the form that a client sends. */
export function cloudEvent(id: string, others: Readonly<Record<string, unknown>> = {}): object {
  return { id, source: 'orders', specversion: '1.0', type: 'order.placed', ...others };
}

/** A query in the form of the `q` parameter. */
export function q(query: unknown): string {
  const text = typeof query === 'string' ? query : JSON.stringify(query);
  return Buffer.from(text).toString('base64url');
}
