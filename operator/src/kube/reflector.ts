/**
 * A reflector follows a collection of the API server: it lists, then watches, and tells a sink what it sees.
 *
 * ```
 *         ┌────────── version lost (410), refused (4xx), or relistMs since the last list ──────────┐
 *         v                                                                                       │
 *   list, not older than what was seen ──> watch after that version ──> ended, cut, dead, 429, 5xx ┤
 *                                             ^                                                   │
 *                                             └──────── the same version, after a backoff ────────┘
 * ```
 *
 * Invariants:
 *   KM3  A reflector ends with its signal and not before, whatever the server or a sink does.
 *   KM4  What the sink sees never goes back: a list is not older than what was seen before, and a message of a watch
 *        that is not newer is dropped. Only a server that has lost versions, as after a restore, begins anew.
 *   KM5  A lost message of a watch is made up for by the next list, which comes after every expiry and every relistMs.
 */
import type { Api } from './api.ts';
import { ApiError, retryAfterMs } from './api-error.ts';
import type { KubeObject } from './objects.ts';
import { Backoff, delay } from './runtime.ts';

/** What becomes of the objects. */
export interface Sink<Item> {
  /** These are all there are. */
  replace(items: readonly Item[]): void;
  set(item: Item): void;
  remove(item: Item): void;
  /** The reflector continues. */
  fail(error: unknown): void;
}

const BACKOFF = { firstMs: 200, maxMs: 10_000 };
/** A watch that was open for so long was in order, also when nothing happened. */
const SETTLED_MS = 30_000;
const RELIST_MS = 600_000;
const FAULT = 500;

export class Reflector<Item extends KubeObject> {
  readonly #api: Api;
  readonly #path: string;
  readonly #sink: Sink<Item>;
  readonly #relistMs: number;
  readonly #backoff: Backoff;
  /** The newest version that was seen; undefined: whatever the server has. */
  #version: string | undefined;
  #contactMs: number;

  constructor(api: Api, path: string, sink: Sink<Item>, { relistMs = RELIST_MS }: { relistMs?: number } = {}) {
    this.#api = api;
    this.#path = path;
    this.#sink = sink;
    this.#relistMs = relistMs;
    this.#backoff = new Backoff(api.runtime, BACKOFF);
    this.#contactMs = api.runtime.nowMs();
  }

  /** Milliseconds since the server was last heard of. In a quiet collection a bookmark comes about once a minute. */
  get staleMs(): number {
    return this.#api.runtime.nowMs() - this.#contactMs;
  }

  /** Lists and watches until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#list(signal);
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiError && error.isVersionLost) this.#version = undefined;
        await this.#pause(error, signal);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { items, version } = await this.#api.list<Item>(this.#path, { version: this.#version, signal });
    this.#contact(version);
    this.#sink.replace(items);
  }

  /** Watches, one connection after the other, until it is time for a list. Throws when only a list helps. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { runtime } = this.#api;
    const relistAtMs = runtime.nowMs() + this.#relistMs;
    while (!signal.aborted && runtime.nowMs() < relistAtMs) {
      const openedMs = runtime.nowMs();
      let failure: unknown;
      try {
        await this.#watch(signal);
      } catch (error) {
        if (error instanceof ApiError && needsList(error)) throw error;
        failure = error;
      }
      if (runtime.nowMs() - openedMs >= SETTLED_MS) this.#backoff.reset();
      await this.#pause(failure, signal);
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    for await (const message of this.#api.watch<Item>(this.#path, this.#version ?? '', signal)) {
      if (message.type === 'ERROR') {
        throw new ApiError(`watch ${this.#path}`, message.object.code ?? FAULT, JSON.stringify(message.object));
      }
      if (message.type === 'OPEN') this.#contact(this.#version);
      else this.#take(message.type, message.object);
    }
  }

  #take(type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK', object: Item): void {
    const { resourceVersion } = object.metadata;
    const isNews = this.#version === undefined || isNewer(resourceVersion, this.#version);
    this.#backoff.reset();
    this.#contact(isNews ? resourceVersion : this.#version);
    if (!isNews || type === 'BOOKMARK') return;
    if (type === 'DELETED') this.#sink.remove(object);
    else this.#sink.set(object);
  }

  #contact(version: string | undefined): void {
    this.#version = version;
    this.#contactMs = this.#api.runtime.nowMs();
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    if (error !== undefined && !signal.aborted) this.#sink.fail(error);
    await delay(this.#api.runtime, Math.max(this.#backoff.nextMs(), retryAfterMs(error)), signal);
  }
}

/** Whether a watch at the same version would fail again. */
function needsList({ code, isThrottled, isVersionLost }: ApiError): boolean {
  return isVersionLost || (code < FAULT && !isThrottled);
}

/** Versions are decimal numbers of any length, which Kubernetes promises since 1.35. */
function isNewer(version: string, than: string): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}
