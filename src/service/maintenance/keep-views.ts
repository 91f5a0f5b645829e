/**
 * Polls the databases of this node for State Views to maintain, and passes them to the maintenance.
 *
 * A definition does not change the revision, and whether this node may answer for a database changes with the cluster.
 * So every database is polled, a bounded number at a time, those with such views first. The next poll finds any change
 * (view, database or local replica), so no notifications are needed. A poll costs one read for a database without
 * definitions, and opens no component.
 */
import type { Binding } from '#cluster';
import { openComponents, type ServiceContext } from '../context.ts';
import { isFatal } from '../fatal.ts';
import { isGone, MaintainedViews } from './maintained-views.ts';

export interface KeepViewsListeners {
  /** Called when the node must stop. */
  readonly onFatal: (failure: unknown) => void;
  /** Called for the first failure to poll a database since the last success; it is retried. */
  readonly onFailure: (binding: Binding, failure: unknown) => void;
}

/** Runs until it is disposed. */
export function keepViews(context: ServiceContext, listeners: KeepViewsListeners): Disposable {
  const looks = new Looks(context, listeners);
  looks.begin();
  return looks;
}

class Looks implements Disposable {
  readonly #context: ServiceContext;
  readonly #listeners: KeepViewsListeners;
  readonly #views: MaintainedViews;
  /** Names of the databases with maintained views, by id. */
  readonly #kept = new Map<string, string>();
  readonly #failing = new Set<string>();
  #next = 0;
  #nextKept = 0;
  #stopTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(context: ServiceContext, listeners: KeepViewsListeners) {
    this.#context = context;
    this.#listeners = listeners;
    this.#views = new MaintainedViews(context, listeners.onFatal);
  }

  begin(): void {
    this.#stopTimer = this.#context.timers.after(this.#context.limits.viewLookMs, () => void this.#round());
  }

  [Symbol.dispose](): void {
    this.#isStopped = true;
    this.#stopTimer?.();
  }

  async #round(): Promise<void> {
    const { catalog } = this.#context.node;
    for (const [databaseId, name] of this.#turnOfKept()) {
      const binding = catalog.lookup(name);
      if (binding?.databaseId === databaseId) await this.#look(binding);
      else await this.#keepNone(databaseId);
    }
    for (const binding of this.#turnOfAll()) if (!this.#kept.has(binding.databaseId)) await this.#look(binding);
    if (!this.#isStopped) this.begin();
  }

  #turnOfKept(): readonly (readonly [string, string])[] {
    const { items, next } = turn([...this.#kept], this.#nextKept, this.#context.limits.viewLooksMax);
    this.#nextKept = next;
    return items;
  }

  #turnOfAll(): readonly Binding[] {
    const { node, limits } = this.#context;
    const { items, next } = turn(node.catalog.list(), this.#next, limits.viewLooksMax);
    this.#next = next;
    return items;
  }

  async #look(binding: Binding): Promise<void> {
    const { databaseId } = binding;
    try {
      const views = await this.#views.of(binding);
      if (views.length === 0) return await this.#keepNone(databaseId);
      const { maintenance } = await openComponents(this.#context);
      if (this.#isStopped) return;
      maintenance.keep(databaseId, views);
      this.#kept.set(databaseId, binding.name);
      this.#failing.delete(databaseId);
    } catch (failure) {
      if (isFatal(failure)) this.#listeners.onFatal(failure);
      else if (!isGone(failure)) this.#failed(binding, failure);
    }
  }

  #failed(binding: Binding, failure: unknown): void {
    if (!this.#failing.has(binding.databaseId)) this.#listeners.onFailure(binding, failure);
    this.#failing.add(binding.databaseId);
  }

  async #keepNone(databaseId: string): Promise<void> {
    this.#failing.delete(databaseId);
    if (!this.#kept.delete(databaseId)) return;
    const { maintenance } = await openComponents(this.#context);
    maintenance.keep(databaseId, []);
  }
}

/** Returns the next items in round-robin order. */
export function turn<Item>(
  all: readonly Item[],
  from: number,
  count: number,
): { readonly items: readonly Item[]; readonly next: number } {
  const begin = from < all.length ? from : 0;
  const items = all.slice(begin, begin + count);
  return { items, next: begin + items.length };
}
