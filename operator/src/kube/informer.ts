/**
 * An informer keeps a copy of a collection by key, with indexes, and passes changes to handlers.
 *
 * Objects are shared by all readers and must not be modified.
 *
 * Invariants:
 *   KM6  Handlers receive every difference between two states of the copy once, after the copy has changed. An object
 *        whose version they have received is not passed again, whether it arrives by a message or in a list.
 *   KM7  An exception in a handler stops neither other handlers nor the reflector.
 *   KM8  An index contains exactly the objects of the copy.
 */
import type { Api } from './api.ts';
import { type KubeObject, keyOf } from './objects.ts';
import { Reflector, type Sink } from './reflector.ts';

export interface Handlers<Item> {
  /** The object has changed, or is new: then `before` is absent. */
  readonly onSet?: (object: Item, before?: Item) => void;
  readonly onDelete?: (object: Item) => void;
}

export interface InformerOptions<Item> extends Handlers<Item> {
  /** Errors of the server and of handlers; the informer continues. */
  readonly onError: (error: unknown) => void;
  /** Functions that return the values of an object, by name of the index. */
  readonly indexes?: Readonly<Record<string, (object: Item) => readonly string[]>>;
  readonly relistMs?: number;
}

export class Informer<Item extends KubeObject> {
  readonly #items = new Map<string, Item>();
  /** Keys of objects by index and value (`termOf`). */
  readonly #keys = new Map<string, Set<string>>();
  readonly #options: InformerOptions<Item>;
  readonly #handlers: Set<Handlers<Item>>;
  readonly #reflector: Reflector<Item>;
  readonly #synced = Promise.withResolvers<void>();

  constructor(api: Api, path: string, options: InformerOptions<Item>) {
    this.#options = options;
    this.#handlers = new Set([options]);
    const sink: Sink<Item> = {
      replace: (items) => this.#replace(items),
      set: (item) => this.#set(item),
      remove: (item) => this.#remove(keyOf(item), item),
      fail: options.onError,
    };
    this.#reflector = new Reflector(api, path, sink, options);
  }

  /** All objects, by `namespace/name`. */
  get items(): ReadonlyMap<string, Item> {
    return this.#items;
  }

  /** Resolves after the first list. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get staleMs(): number {
    return this.#reflector.staleMs;
  }

  by(index: string, value: string): readonly Item[] {
    const keys = this.#keys.get(termOf(index, value)) ?? [];
    return [...keys].flatMap((key) => this.#items.get(key) ?? []);
  }

  /** Adds handlers, which first receive all present objects. The returned function removes them. */
  subscribe(handlers: Handlers<Item>): () => void {
    this.#handlers.add(handlers);
    for (const item of this.#items.values()) this.#guard(() => handlers.onSet?.(item));
    return () => this.#handlers.delete(handlers);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  #replace(items: readonly Item[]): void {
    const gone = new Set(this.#items.keys());
    for (const item of items) {
      gone.delete(keyOf(item));
      this.#set(item);
    }
    for (const key of gone) this.#remove(key, this.#items.get(key));
    this.#synced.resolve();
  }

  #set(item: Item): void {
    const key = keyOf(item);
    const before = this.#items.get(key);
    if (before?.metadata.resourceVersion === item.metadata.resourceVersion) return;
    this.#unindex(key, before);
    this.#items.set(key, item);
    for (const term of this.#termsOf(item)) this.#keys.set(term, (this.#keys.get(term) ?? new Set()).add(key));
    for (const { onSet } of this.#handlers) this.#guard(() => onSet?.(item, before));
  }

  /** `last` is the last known state of the object. */
  #remove(key: string, last: Item | undefined): void {
    const before = this.#items.get(key);
    if (before === undefined || last === undefined) return;
    this.#unindex(key, before);
    this.#items.delete(key);
    for (const { onDelete } of this.#handlers) this.#guard(() => onDelete?.(last));
  }

  #unindex(key: string, item: Item | undefined): void {
    if (item === undefined) return;
    for (const term of this.#termsOf(item)) {
      const keys = this.#keys.get(term);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(term);
    }
  }

  #termsOf(item: Item): readonly string[] {
    const indexes = Object.entries(this.#options.indexes ?? {});
    return indexes.flatMap(([index, valuesOf]) => valuesOf(item).map((value) => termOf(index, value)));
  }

  #guard(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

function termOf(index: string, value: string): string {
  return `${index}=${value}`;
}
