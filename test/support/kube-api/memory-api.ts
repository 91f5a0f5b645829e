// An API server in memory, as a transport: lists in pages and at versions, watches with bookmarks, the status
// subresource, server-side apply, preconditions, finalizers, garbage collection by owners, and seeded faults. It waits
// only on the manual clock.
//
// It has no schemas or admission, and deletes in the background only.
import type { Transport, TransportRequest, TransportResponse } from '../../../operator/src/kube/index.ts';
import type { ManualRuntime } from '../manual-runtime.ts';
import { type FaultRates, Faults } from './faults.ts';
import { recordRequest } from './requests.ts';
import { type Change, type Json, Refusal, Store, type Stored, type Target } from './store.ts';
import { WatchStream } from './watch-stream.ts';

interface Received extends Target {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly body: Json;
  /** Content type. */
  readonly type: string;
}

const PATH = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(\/status)?$/;
const BOOKMARK_MS = 60_000;
const RETRY_AFTER = '3';
/** The garbage collector deletes objects some time after their last owner. */
const COLLECT_MS = 2_000;

export class MemoryApi implements Transport {
  readonly store: Store = new Store();
  readonly faults: Faults;
  /** Methods and paths, without queries, of all received requests. */
  readonly requests: string[] = [];
  readonly #runtime: ManualRuntime;
  readonly #watches = new Set<WatchStream>();
  #downUntilMs = 0;

  constructor(runtime: ManualRuntime, rates?: FaultRates) {
    this.#runtime = runtime;
    this.faults = new Faults(runtime.chance, rates);
    this.store.wallMs = () => runtime.wallMs();
    this.store.onChange = (change) => {
      this.#watches.forEach((watch) => tell(watch, change));
      const { ownerReferences: owners = [] } = change.object.metadata;
      if (change.type === 'DELETED' || owners.length > 0) runtime.after(COLLECT_MS, () => this.store.collect());
    };
  }

  /** Closes every connection, and refuses new ones for `downMs`. Keeps all objects and versions. */
  restart(downMs: number): void {
    this.#downUntilMs = this.#runtime.nowMs() + downMs;
    for (const watch of this.#watches) watch.fail(new Error('socket hang up'));
  }

  /** Drops older versions: watches and pages at them fail with 410. */
  compact(): void {
    this.store.compacted = this.store.version;
  }

  async send({ method, path, headers, body, signal }: TransportRequest): Promise<TransportResponse> {
    signal.throwIfAborted();
    const fault = this.faults.request();
    if (fault === 'refused' || this.#runtime.nowMs() < this.#downUntilMs) throw new Error('connection refused');
    if (fault === 'hangs') await this.#never(signal);
    if (fault === 'slow') await this.#wait(this.faults.slowMs(), signal);
    const url = new URL(path, 'https://kubernetes');
    this.requests.push(`${method} ${url.pathname}`);
    if (fault === 'throttles') return { ...answerOf(429, { reason: 'TooManyRequests' }), retryAfter: RETRY_AFTER };
    if (fault === 'fails') return answerOf(500, { reason: 'InternalError', message: 'etcdserver: leader changed' });
    const received = {
      method,
      query: url.searchParams,
      type: headers['content-type'] ?? '',
      ...targetOf(url.pathname),
    };
    recordRequest(method, path, this.#exists(received));
    try {
      const response = this.#answer({ ...received, body: JSON.parse(body ?? '{}') }, signal);
      if (fault === 'late') await this.#wait(this.faults.slowMs(), signal);
      if (fault === 'lost' && !received.query.has('watch')) throw new Error('socket hang up');
      return response;
    } catch (error) {
      if (error instanceof Refusal) return answerOf(error.code, error.status);
      throw error;
    }
  }

  #exists({ collection, namespace, name }: Target): boolean {
    return this.store.list(collection, namespace).some(({ metadata }) => metadata.name === name);
  }

  #answer(received: Received, signal: AbortSignal): TransportResponse {
    const { method, query, body, type, name } = received;
    const manager = query.get('fieldManager') ?? 'unknown';
    if (method === 'GET' && query.has('watch')) return this.#watch(received, signal);
    if (method === 'GET') return answerOf(200, name === '' ? this.#list(received) : this.store.get(received));
    if (method === 'POST') return answerOf(201, this.store.create(named(received), body, manager));
    if (method === 'PUT') return answerOf(200, this.store.replace(received, body, manager));
    if (method === 'DELETE')
      return answerOf(200, this.store.delete(received, body['preconditions'] as Json | undefined));
    if (!type.startsWith('application/apply-patch')) return answerOf(200, this.store.merge(received, body, manager));
    return answerOf(200, this.store.apply(received, body, manager));
  }

  #list({ collection, namespace, query }: Received): Json {
    const { version, compacted } = this.store;
    const token = query.get('continue')?.split(' ', 2).map(Number);
    const asked = Number(query.get('resourceVersion') ?? version);
    if (asked > version) throw tooLarge(asked);
    const [at = this.faults.listed(asked, version), start = 0] = token ?? [];
    if (token !== undefined && at < compacted) throw expired(at);
    const all = this.store.list(collection, namespace, at);
    const end = start + Number(query.get('limit') ?? all.length);
    const next = end < all.length ? { continue: `${at} ${end}` } : {};
    return { items: all.slice(start, end), metadata: { resourceVersion: String(at), ...next } };
  }

  #watch({ collection, namespace, query }: Received, signal: AbortSignal): TransportResponse {
    const from = Number(query.get('resourceVersion'));
    if (from < this.store.compacted) throw expired(from);
    if (from > this.store.version) throw tooLarge(from);
    const watch = new WatchStream({ collection, namespace }, () => this.faults.message());
    this.#watches.add(watch);
    for (const change of this.store.log) if (change.version > from) tell(watch, change);
    const bookmark = (): void => {
      const metadata = { resourceVersion: String(this.store.version) };
      watch.push({ type: 'BOOKMARK', object: { metadata } });
      cancelBookmark = this.#runtime.after(BOOKMARK_MS, bookmark);
    };
    let cancelBookmark = this.#runtime.after(BOOKMARK_MS, bookmark);
    const cancelEnd = this.#runtime.after(Number(query.get('timeoutSeconds')) * 1000, () => watch.end());
    const close = (): void => {
      this.#watches.delete(watch);
      cancelBookmark();
      cancelEnd();
    };
    return { status: 200, body: watch.read(signal, close) };
  }

  #never(signal: AbortSignal): Promise<never> {
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(reasonOf(signal)));
    });
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    const waited = new Promise<void>((resolve) => void this.#runtime.after(ms, resolve));
    await Promise.race([waited, this.#never(signal)]);
  }
}

function tell(watch: WatchStream, { collection, type, object }: Change): void {
  const { namespace = object.metadata.namespace } = watch.scope;
  if (collection === watch.scope.collection && namespace === object.metadata.namespace) watch.push({ type, object });
}

function targetOf(path: string): Target {
  const [, root = '', namespace, plural = '', name = '', status] = PATH.exec(path) ?? [];
  if (root === '') throw new Error(`no path of the API: ${path}`);
  return { collection: `${root}/${plural}`, namespace, name, isStatus: status !== undefined };
}

/** The target of a POST. */
function named({ body, ...target }: Received): Target {
  return { ...target, name: (body as Stored).metadata.name };
}

function expired(version: number): Refusal {
  return new Refusal(410, 'Expired', `too old resource version: ${version}`);
}

function tooLarge(version: number): Refusal {
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  return new Refusal(504, 'Timeout', `Too large resource version: ${version}`, causes);
}

function answerOf(status: number, body: Json): TransportResponse {
  return { status, body: textOf(JSON.stringify(body)) };
}

async function* textOf(text: string): AsyncGenerator<string> {
  yield text;
}

function reasonOf({ reason }: AbortSignal): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
