/**
 * An informer follows a collection of the API server, keeps a copy of it by key, and passes changes to handlers.
 * Objects are shared by all readers and must not be modified.
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
 *   KM3  An informer ends only with its signal, whatever the server or a handler does.
 *   KM4  The copy never goes back: a list is at least as new as the last version, and a message that is not newer is
 *        dropped. Only when the server has lost versions, as after a restore, a list may be older.
 *   KM5  A list repairs the loss of a message. Lists follow every lost version, and every relistMs.
 *   KM6  Handlers receive every difference between two states of the copy once, after the copy has changed. An object
 *        whose version they have received is not passed again, whether it arrives by a message or in a list.
 *   KM7  An exception in a handler stops neither other handlers nor the informer.
 */
import type { Api } from './api.ts';
import { ApiError, retryAfterMs } from './api-error.ts';
import { type KubeObject, keyOf } from './objects.ts';
import { Backoff, delay } from './runtime.ts';

export interface Handlers<Item> {
  /** The object has changed, or is new: then `before` is absent. */
  readonly onSet?: (object: Item, before?: Item) => void;
  readonly onDelete?: (object: Item) => void;
}

export interface InformerOptions<Item> extends Handlers<Item> {
  /** Errors of the server and of handlers; the informer continues. */
  readonly onError: (error: unknown) => void;
  readonly relistMs?: number;
}

const BACKOFF = { firstMs: 200, maxMs: 10_000 };
/** A watch that was open for so long counts as success, also without a message. */
const SETTLED_MS = 30_000;
const RELIST_MS = 600_000;
const FAULT = 500;

/** An informer of any kind of object. */
export type Followed = Pick<Informer<KubeObject>, 'items' | 'run' | 'staleMs' | 'synced'>;

export class Informer<Item extends KubeObject> {
  readonly #api: Api;
  readonly #path: string;
  readonly #options: InformerOptions<Item>;
  readonly #items = new Map<string, Item>();
  readonly #handlers: Set<Handlers<Item>>;
  readonly #synced = Promise.withResolvers<void>();
  readonly #backoff: Backoff;
  /** The last version; undefined: the next list is read from a quorum. */
  #version: string | undefined;
  #contactMs: number;

  constructor(api: Api, path: string, options: InformerOptions<Item>) {
    this.#api = api;
    this.#path = path;
    this.#options = options;
    this.#handlers = new Set([options]);
    this.#backoff = new Backoff(api.runtime, BACKOFF);
    this.#contactMs = api.runtime.nowMs();
  }

  /** All objects, by `namespace/name`. */
  get items(): ReadonlyMap<string, Item> {
    return this.#items;
  }

  /** Resolves after the first list. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Milliseconds since the last contact with the server, which sends a bookmark about once a minute. */
  get staleMs(): number {
    return this.#api.runtime.nowMs() - this.#contactMs;
  }

  /** Adds handlers, which first receive all present objects. The returned function removes them. */
  subscribe(handlers: Handlers<Item>): () => void {
    this.#handlers.add(handlers);
    for (const item of this.#items.values()) this.#guard(() => handlers.onSet?.(item));
    return () => this.#handlers.delete(handlers);
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
    const gone = new Map(this.#items);
    for (const item of items) {
      gone.delete(keyOf(item));
      this.#set(item);
    }
    for (const item of gone.values()) this.#remove(item);
    this.#synced.resolve();
  }

  /** Watches until the next list is due, with a new connection after each end. Throws when a list is needed earlier. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { runtime } = this.#api;
    const relistAtMs = runtime.nowMs() + (this.#options.relistMs ?? RELIST_MS);
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
    if (type === 'DELETED') this.#remove(object);
    else this.#set(object);
  }

  #contact(version: string | undefined): void {
    this.#version = version;
    this.#contactMs = this.#api.runtime.nowMs();
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    if (error !== undefined && !signal.aborted) this.#options.onError(error);
    await delay(this.#api.runtime, Math.max(this.#backoff.nextMs(), retryAfterMs(error)), signal);
  }

  #set(item: Item): void {
    const key = keyOf(item);
    const before = this.#items.get(key);
    if (before?.metadata.resourceVersion === item.metadata.resourceVersion) return;
    this.#items.set(key, item);
    for (const { onSet } of this.#handlers) this.#guard(() => onSet?.(item, before));
  }

  /** `last` is the last known state of the object. */
  #remove(last: Item): void {
    if (!this.#items.delete(keyOf(last))) return;
    for (const { onDelete } of this.#handlers) this.#guard(() => onDelete?.(last));
  }

  #guard(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

/** Returns whether a new watch from the same version would fail, too. */
function needsList({ code, isThrottled, isVersionLost }: ApiError): boolean {
  return isVersionLost || (code < FAULT && !isThrottled);
}

/** Versions are decimal numbers of any length (guaranteed since Kubernetes 1.35). */
function isNewer(version: string, than: string): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}
