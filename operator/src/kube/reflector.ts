/**
 * A reflector follows a collection of the API server: it lists, then watches, and passes objects to a sink.
 *
 * ```
 *         ┌────────── version lost (410), refused (4xx), or relistMs since the last list ──────────┐
 *         v                                                                                       │
 *   list, not older than the last version ──> watch from there ──> ended, cut, dead, 429, 5xx ─────┤
 *                                             ^                                                   │
 *                                             └──────── the same version, after a backoff ────────┘
 * ```
 *
 * Invariants:
 *   KM3  A reflector ends only with its signal, whatever the server or the sink does.
 *   KM4  The sink never receives an older state: a list is at least as new as the last version, and a message that is
 *        not newer is dropped. Only when the server has lost versions, as after a restore, a list may be older.
 *   KM5  A list repairs the loss of a message. Lists follow every lost version, and every relistMs.
 */
import type { Api } from './api.ts';
import { ApiError, retryAfterMs } from './api-error.ts';
import type { KubeObject } from './objects.ts';
import { Backoff, delay } from './runtime.ts';

export interface Sink<Item> {
  /** `items` is the whole collection. */
  replace(items: readonly Item[]): void;
  set(item: Item): void;
  remove(item: Item): void;
  /** Receives errors, after which the reflector continues. */
  fail(error: unknown): void;
}

const BACKOFF = { firstMs: 200, maxMs: 10_000 };
/** A watch that was open for so long counts as success, also without a message. */
const SETTLED_MS = 30_000;
const RELIST_MS = 600_000;
const FAULT = 500;

export class Reflector<Item extends KubeObject> {
  readonly #api: Api;
  readonly #path: string;
  readonly #sink: Sink<Item>;
  readonly #relistMs: number;
  readonly #backoff: Backoff;
  /** The last version; undefined: the next list is read from a quorum. */
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

  /** Milliseconds since the last contact with the server, which sends a bookmark about once a minute. */
  get staleMs(): number {
    return this.#api.runtime.nowMs() - this.#contactMs;
  }

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

  /** Watches until the next list is due, with a new connection after each end. Throws when a list is needed earlier. */
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

/** Whether a new watch from the same version would fail, too. */
function needsList({ code, isThrottled, isVersionLost }: ApiError): boolean {
  return isVersionLost || (code < FAULT && !isThrottled);
}

/** Versions are decimal numbers of any length (guaranteed since Kubernetes 1.35). */
function isNewer(version: string, than: string): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}
