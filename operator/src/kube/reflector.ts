/**
 * A reflector keeps a copy of a list up to date. The informer of @kubernetes/client-node stops on errors, and knows
 * neither bookmarks nor pages.
 *
 * Invariants:
 *   KM2  A reflector ends with its signal and not before, whatever the server or a handler does.
 *   KM3  After each list, handlers have seen every object of it as set, and every object that is gone as deleted.
 *   KM4  A watch without any message for INACTIVE_MS is dead: a new one continues at the last version that was seen.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from './api.ts';
import { ApiError } from './api-error.ts';

/** What a reflector reads of every object. */
interface Versioned {
  readonly metadata: { readonly namespace?: string; readonly name: string; readonly resourceVersion: string };
}

export interface Handlers<Item> {
  /** The object is new or has changed; after a new list, each is set again. */
  readonly onSet?: (object: Item) => void;
  readonly onDelete?: (object: Item) => void;
  /** Errors of the server and of handlers; the reflector continues. */
  readonly onError: (error: unknown) => void;
}

const RETRY_MS = 200;
const BACKOFF_MS_MAX = 10_000;
const GONE = 410;

/** A copy of all objects of a path, by namespace/name. */
export class Reflector<Item extends Versioned> {
  readonly items: Map<string, Item> = new Map();
  readonly #api: Api;
  readonly #path: string;
  readonly #handlers: Handlers<Item>;
  readonly #synced = Promise.withResolvers<void>();

  constructor(api: Api, path: string, handlers: Handlers<Item>) {
    this.#api = api;
    this.#path = path;
    this.#handlers = handlers;
  }

  /** Resolves when the first list is there. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Lists and watches until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    for (let backoffMs = RETRY_MS; !signal.aborted; ) {
      try {
        let version: string | undefined = await this.#list();
        this.#synced.resolve();
        backoffMs = RETRY_MS;
        while (version !== undefined && !signal.aborted) version = await this.#watchFrom(version, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#handlers.onError(error);
        await delay(backoffMs * (0.5 + Math.random()));
        backoffMs = Math.min(backoffMs * 2, BACKOFF_MS_MAX);
      }
    }
  }

  async #list(): Promise<string> {
    const { items, version } = await this.#api.list<Item>(this.#path);
    const left = new Set(this.items.keys());
    for (const item of items) {
      left.delete(keyOf(item));
      this.#set(item);
    }
    for (const key of left) this.#remove(key, this.items.get(key));
    return version;
  }

  /** The version where the next watch continues; undefined when the server does not have it any more. */
  async #watchFrom(from: string, signal: AbortSignal): Promise<string | undefined> {
    let version = from;
    try {
      for await (const { type, object } of this.#api.watch<Item>(this.#path, version, signal)) {
        if (type === 'ERROR') throw new ApiError(`watch ${this.#path}`, object.code ?? 0, JSON.stringify(object));
        version = object.metadata.resourceVersion;
        if (type === 'DELETED') this.#remove(keyOf(object), object);
        else if (type !== 'BOOKMARK') this.#set(object);
      }
    } catch (error) {
      if (error instanceof ApiError && error.code === GONE) return undefined;
      if (error instanceof ApiError || signal.aborted) throw error;
      // The connection was lost, or was dead.
      await delay(RETRY_MS);
    }
    return version;
  }

  #set(item: Item): void {
    this.items.set(keyOf(item), item);
    this.#handle(this.#handlers.onSet, item);
  }

  #remove(key: string, item: Item | undefined): void {
    this.items.delete(key);
    if (item !== undefined) this.#handle(this.#handlers.onDelete, item);
  }

  #handle(handler: ((item: Item) => void) | undefined, item: Item): void {
    try {
      handler?.(item);
    } catch (error) {
      this.#handlers.onError(error);
    }
  }
}

function keyOf({ metadata: { namespace = '', name } }: Versioned): string {
  return `${namespace}/${name}`;
}
