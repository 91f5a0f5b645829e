/**
 * Requests to the API of Kubernetes, in raw JSON.
 *
 * @kubernetes/client-node finds the server, its certificates and the credentials. Its typed serializers are not used:
 * they silently drop what their models do not know, and so would change what somebody else wrote.
 *
 * Invariant:
 *   KM1  A request whose outcome is unknown is sent again only if it reads. One that the server answered with 429 was
 *       not carried out, and is always sent again, after the time that the server names.
 */
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { ApiError, type Status } from './api-error.ts';
import { parseJson } from './json.ts';

export type PatchKind = 'merge' | 'strategic' | 'apply';

const PATCHES: Readonly<Record<PatchKind, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

const ATTEMPTS_MAX = 5;
const RETRY_MS = 200;
const REQUEST_MS = 30_000;
/** A connection that is idle for longer may be one that the server is about to close. */
const IDLE_MS = 30_000;
const PAGE = 500;
const WATCH_SECONDS = 240;
const WATCH_JITTER_SECONDS = 60;
/** The server sends a bookmark about once a minute. */
const INACTIVE_MS = 130_000;
const TOO_MANY = 429;

export class Api {
  readonly #config: KubeConfig;
  readonly #server: string;
  readonly #inactiveMs: number;
  #agent: Agent | undefined;

  constructor(config: KubeConfig, { inactiveMs = INACTIVE_MS }: { readonly inactiveMs?: number } = {}) {
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new Error('the configuration of Kubernetes names no current cluster');
    this.#config = config;
    this.#server = cluster.server;
    this.#inactiveMs = inactiveMs;
  }

  static fromFile(path: string): Api {
    const config = new KubeConfig();
    config.loadFromFile(path);
    return new Api(config);
  }

  get<Found>(path: string): Promise<Found> {
    return this.#send('GET', path);
  }

  create<Made>(path: string, body: object): Promise<Made> {
    return this.#send('POST', path, body);
  }

  patch<Patched>(path: string, body: object, kind: PatchKind = 'strategic'): Promise<Patched> {
    return this.#send('PATCH', path, body, PATCHES[kind]);
  }

  /** Server-side apply: creates what is missing, and owns the fields of `body` as `manager`. */
  apply<Applied>(path: string, body: object, manager: string): Promise<Applied> {
    return this.patch(`${path}?fieldManager=${manager}&force=true`, body, 'apply');
  }

  delete(path: string, options: object = {}): Promise<unknown> {
    return this.#send('DELETE', path, options);
  }

  /** A list, one page after the other, and the version that it is of. */
  async list<Item>(path: string): Promise<Listed<Item>> {
    const items: Item[] = [];
    for (let token = ''; ; ) {
      const query = `${path.includes('?') ? '&' : '?'}limit=${PAGE}${token}`;
      const page = await this.get<List<Item>>(`${path}${query}`);
      items.push(...page.items);
      const { continue: next = '', resourceVersion: version } = page.metadata;
      if (next === '') return { items, version };
      token = `&continue=${encodeURIComponent(next)}`;
    }
  }

  /** Messages of a watch, until the server ends it or `signal` is aborted. */
  async *watch<Item>(path: string, version: string, signal: AbortSignal): AsyncGenerator<WatchMessage<Item>> {
    const seconds = WATCH_SECONDS + Math.floor(Math.random() * WATCH_JITTER_SECONDS);
    const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${version}`;
    const inactive = new AbortController();
    const timer = setTimeout(() => inactive.abort(new Error('the watch was inactive')), this.#inactiveMs);
    try {
      const either = AbortSignal.any([signal, inactive.signal]);
      const response = await this.#open('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`, { signal: either });
      if (response.statusCode !== 200) await bodyOf(`GET ${path}`, response);
      let rest = '';
      for await (const chunk of response.setEncoding('utf8')) {
        timer.refresh();
        const lines = `${rest}${String(chunk)}`.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) yield parseJson<WatchMessage<Item>>(line);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async #send<Answer>(method: string, path: string, body?: object, type = 'application/json'): Promise<Answer> {
    const what = `${method} ${path}`;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const signal = AbortSignal.timeout(REQUEST_MS);
        const response = await this.#open(method, path, { body, type, signal });
        const retryMs = Number(response.headers['retry-after'] ?? 0) * 1000;
        if (response.statusCode !== TOO_MANY || attempt === ATTEMPTS_MAX) return await bodyOf(what, response);
        response.resume();
        await delay(Math.max(retryMs, RETRY_MS));
      } catch (error) {
        const isFinal = error instanceof ApiError && error.code < 500;
        if (method !== 'GET' || isFinal || attempt === ATTEMPTS_MAX) throw error;
        await delay(RETRY_MS * attempt);
      }
    }
  }

  async #open(method: string, path: string, { body, type, signal }: Sent): Promise<IncomingMessage> {
    const options: RequestOptions = {};
    // Tokens of files are read again when they are old.
    await this.#config.applyToHTTPSOptions(options);
    const { ca, cert, key, rejectUnauthorized, headers } = options;
    this.#agent ??= new Agent({ keepAlive: true, timeout: IDLE_MS, ca, cert, key, rejectUnauthorized });
    const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    // Node sends the body of a DELETE without its length, and the server would take it for the next request.
    const own = text === undefined ? {} : { 'content-type': type, 'content-length': text.length };
    return new Promise((resolve, reject) => {
      const sent = { method, agent: this.#agent, signal, headers: Object.assign({}, headers, own) };
      request(new URL(path, this.#server), sent, resolve).on('error', reject).end(text);
    });
  }
}

interface Listed<Item> {
  readonly items: readonly Item[];
  readonly version: string;
}

interface Sent {
  readonly body?: object | undefined;
  readonly type?: string;
  readonly signal: AbortSignal;
}

interface List<Item> {
  readonly items: readonly Item[];
  readonly metadata: { readonly continue?: string; readonly resourceVersion: string };
}

type WatchMessage<Item> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: Item }
  | { readonly type: 'ERROR'; readonly object: Status };

async function bodyOf<Answer>(what: string, response: IncomingMessage): Promise<Answer> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
  const { statusCode = 0 } = response;
  if (statusCode >= 400) throw new ApiError(what, statusCode, text);
  return parseJson(text);
}
