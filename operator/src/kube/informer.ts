/**
 * An informer is a copy of a collection by key, with indexes, which tells handlers what changes in it.
 *
 * Objects are shared by all who read them: nobody may change them.
 *
 * Invariants:
 *   KM6  Handlers see every difference between two states of the copy once, and the copy before they do. An object whose
 *        version they have seen is not told again, whether it comes by a message or by a list.
 *   KM7  A handler that throws stops neither the other handlers nor the reflector.
 *   KM8  An index has exactly the objects of the copy.
 */
import type { Api } from './api.ts';
import { type KubeObject, keyOf } from './objects.ts';
import { Reflector, type Sink } from './reflector.ts';

export interface Handlers<Item> {
  /** The object is new, then `before` is absent, or has changed. */
  readonly onSet?: (object: Item, before?: Item) => void;
  readonly onDelete?: (object: Item) => void;
}

export interface InformerOptions<Item> extends Handlers<Item> {
  /** Errors of the server and of handlers; the informer continues. */
  readonly onError: (error: unknown) => void;
  /** Values under which `by` finds an object, by the name of the index. */
  readonly indexes?: Readonly<Record<string, (object: Item) => readonly string[]>>;
  readonly relistMs?: number;
}

export class Informer<Item extends KubeObject> {
  readonly #items = new Map<string, Item>();
  /** Keys of objects, by index and value. */
  readonly #indexes = new Map<string, Map<string, Set<string>>>();
  readonly #options: InformerOptions<Item>;
  readonly #handlers: Set<Handlers<Item>>;
  readonly #reflector: Reflector<Item>;
  readonly #synced = Promise.withResolvers<void>();

  constructor(api: Api, path: string, options: InformerOptions<Item>) {
    this.#options = options;
    this.#handlers = new Set([options]);
    for (const index of Object.keys(options.indexes ?? {})) this.#indexes.set(index, new Map());
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

  /** Resolves when the first list is there. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Milliseconds since the server was last heard of. */
  get staleMs(): number {
    return this.#reflector.staleMs;
  }

  /** The objects that an index has under a value. */
  by(index: string, value: string): readonly Item[] {
    const keys = this.#indexes.get(index)?.get(value) ?? [];
    return [...keys].flatMap((key) => this.#items.get(key) ?? []);
  }

  /** Tells further handlers, at first of every object that is there. The result ends that. */
  subscribe(handlers: Handlers<Item>): () => void {
    this.#handlers.add(handlers);
    for (const item of this.#items.values()) this.#guard(() => handlers.onSet?.(item));
    return () => this.#handlers.delete(handlers);
  }

  /** Follows the server until `signal` is aborted. */
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
    for (const [values, value] of this.#entriesOf(item)) values.set(value, (values.get(value) ?? new Set()).add(key));
    for (const { onSet } of this.#handlers) this.#guard(() => onSet?.(item, before));
  }

  /** `last` is the object as the server had it last, as far as it is known. */
  #remove(key: string, last: Item | undefined): void {
    const before = this.#items.get(key);
    if (before === undefined || last === undefined) return;
    this.#unindex(key, before);
    this.#items.delete(key);
    for (const { onDelete } of this.#handlers) this.#guard(() => onDelete?.(last));
  }

  #unindex(key: string, item: Item | undefined): void {
    if (item === undefined) return;
    for (const [values, value] of this.#entriesOf(item)) {
      const keys = values.get(value);
      keys?.delete(key);
      if (keys?.size === 0) values.delete(value);
    }
  }

  *#entriesOf(item: Item): Generator<[values: Map<string, Set<string>>, value: string]> {
    for (const [index, valuesOf] of Object.entries(this.#options.indexes ?? {})) {
      const values = this.#indexes.get(index);
      if (values === undefined) continue;
      for (const value of valuesOf(item)) yield [values, value];
    }
  }

  #guard(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      this.#options.onError(error);
    }
  }
}
