/**
 * Requests to the Kubernetes API in raw JSON, so that fields which our types do not name survive a read and a write.
 *
 * Invariants:
 *   KM1  A request with an unknown outcome is retried only if it reads. A request that the server rejected with 429 was
 *        not executed; it is retried after the time that the server names.
 *   KM2  Every request ends: with a response, with its signal, or after REQUEST_MS. A watch ends after INACTIVE_MS
 *        without a message, because a dead connection gives no other sign.
 */
import { ApiError, hasCode, parseJson, retryAfterMs, type Status, unless } from './api-error.ts';
import { type Kind, type Place, pathOf } from './objects.ts';
import { Backoff, deadline, delay, type Runtime, systemRuntime } from './runtime.ts';
import { HttpsTransport, type Transport, type TransportRequest } from './transport.ts';

export type PatchKind = 'merge' | 'strategic' | 'apply';

const PATCHES: Readonly<Record<PatchKind, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

const ATTEMPTS_MAX = 5;
const RETRY = { firstMs: 200, maxMs: 5_000 };
const REQUEST_MS = 30_000;
const PAGE = 500;
const WATCH_SECONDS = 240;
const WATCH_JITTER_SECONDS = 60;
/** The server sends a bookmark about once a minute. */
const INACTIVE_MS = 90_000;
/** etcd limits objects to 1.5 MB; their JSON may be longer. */
const MESSAGE_LENGTH_MAX = 16 * 2 ** 20;
const GONE = 410;

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions extends RequestOptions {
  /** Lower bound for the version of the list. Absent: the list is read from a quorum of etcd. */
  readonly version?: string | undefined;
}

export interface Listed<Item> {
  readonly items: readonly Item[];
  readonly version: string;
}

/** `OPEN` does not come from the server: it says that the server accepted the watch. */
export type WatchMessage<Item> =
  | { readonly type: 'OPEN' }
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: Item }
  | { readonly type: 'ERROR'; readonly object: Status };

interface Page<Item> {
  /** Null in empty lists of some kinds. */
  readonly items: readonly Item[] | null;
  readonly metadata: { readonly continue?: string; readonly resourceVersion: string };
}

interface Sent extends RequestOptions {
  readonly body?: object;
  readonly type?: string;
}

export class Api {
  readonly runtime: Runtime;
  readonly #transport: Transport;

  constructor(transport: Transport, runtime: Runtime = systemRuntime) {
    this.#transport = transport;
    this.runtime = runtime;
  }

  static fromFile(path: string): Api {
    return new Api(HttpsTransport.fromFile(path));
  }

  get<Found>(path: string, options: RequestOptions = {}): Promise<Found> {
    return this.#send('GET', path, options);
  }

  /** Returns undefined when there is no such object. */
  find<Found>(kind: Kind, place: Place, options?: RequestOptions): Promise<Found | undefined> {
    return this.get<Found>(pathOf(kind, place), options).catch(unless(404));
  }

  create<Made>(path: string, body: object, options: RequestOptions = {}): Promise<Made> {
    return this.#send('POST', path, { ...options, body });
  }

  /** Fails with 409 when the version of the object is not that of `body`. */
  replace<Replaced>(path: string, body: object, options: RequestOptions = {}): Promise<Replaced> {
    return this.#send('PUT', path, { ...options, body });
  }

  patch<Patched>(path: string, body: object, kind: PatchKind = 'strategic'): Promise<Patched> {
    return this.#send('PATCH', path, { body, type: PATCHES[kind] });
  }

  /** `body` holds DeleteOptions: preconditions, grace period, propagation. */
  delete(path: string, body: object = {}): Promise<unknown> {
    return this.#send('DELETE', path, { body });
  }

  /** Reads a list in pages. When the token of the next page has expired, reads the whole list in one response. */
  async list<Item>(path: string, { version, signal }: ListOptions = {}): Promise<Listed<Item>> {
    const first = version === undefined ? {} : { resourceVersion: version, resourceVersionMatch: 'NotOlderThan' };
    const items: Item[] = [];
    for (let at: Record<string, string> = { limit: String(PAGE), ...first }; ; ) {
      const page = await this.get<Page<Item>>(withQuery(path, at), { signal }).catch((error: unknown) => {
        if (at['continue'] !== undefined && hasCode(error, GONE)) return undefined;
        throw error;
      });
      if (page === undefined) {
        items.length = 0;
        at = first;
        continue;
      }
      items.push(...(page.items ?? []));
      const { continue: token = '', resourceVersion } = page.metadata;
      if (token === '') return { items, version: resourceVersion };
      at = { limit: String(PAGE), continue: token };
    }
  }

  /** Messages after a version, until the server ends the watch. Throws when `signal` aborts or the watch is dead. */
  async *watch<Item>(path: string, version: string, signal: AbortSignal): AsyncGenerator<WatchMessage<Item>> {
    const timeoutSeconds = String(WATCH_SECONDS + Math.floor(this.runtime.random() * WATCH_JITTER_SECONDS));
    const query = { watch: '1', allowWatchBookmarks: 'true', timeoutSeconds, resourceVersion: version };
    using inactive = deadline(this.runtime, INACTIVE_MS, { what: `no message of the watch of ${path}`, signal });
    const sent = request('GET', withQuery(path, query), {}, inactive.signal);
    const { status, retryAfter, body } = await this.#transport.send(sent);
    if (status !== 200) throw new ApiError(`watch ${path}`, status, await textOf(body), retryAfter);
    yield { type: 'OPEN' };
    let rest = '';
    for await (const chunk of body) {
      inactive.refresh();
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MESSAGE_LENGTH_MAX) throw new Error(`watch ${path}: a message is longer than 16 MiB`);
      for (const line of lines) yield parseJson<WatchMessage<Item>>(line);
    }
  }

  async #send<Answer>(method: string, path: string, { signal, ...sent }: Sent): Promise<Answer> {
    const backoff = new Backoff(this.runtime, RETRY);
    for (let attempt = 1; ; attempt += 1) {
      try {
        using within = deadline(this.runtime, REQUEST_MS, { what: `${method} ${path}: no response`, signal });
        const response = await this.#transport.send(request(method, path, sent, within.signal));
        const text = await textOf(response.body);
        if (response.status < 400) return parseJson<Answer>(text);
        throw new ApiError(`${method} ${path}`, response.status, text, response.retryAfter);
      } catch (error) {
        const isOver = signal?.aborted === true || attempt === ATTEMPTS_MAX;
        if (isOver || !mayRepeat(method, error)) throw error;
        await delay(this.runtime, Math.max(backoff.nextMs(), retryAfterMs(error)), signal);
      }
    }
  }
}

function mayRepeat(method: string, error: unknown): boolean {
  if (!(error instanceof ApiError)) return method === 'GET';
  const isFault = error.code >= 500 && !error.isTerminal && !error.isVersionLost;
  return error.isThrottled || (method === 'GET' && isFault);
}

function request(method: string, path: string, { body, type }: Sent, signal: AbortSignal): TransportRequest {
  const accept = 'application/json';
  if (body === undefined) return { method, path, headers: { accept }, signal };
  const headers = { accept, 'content-type': type ?? accept };
  return { method, path, headers, body: JSON.stringify(body), signal };
}

function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const text = String(new URLSearchParams(query));
  return text === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${text}`;
}

async function textOf(body: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const chunk of body) text += chunk;
  return text;
}
