/**
 * The front's copy of the catalog: kept up to date by reports, read without asking anyone.
 */
import { CATALOG_GROUP, type GroupId } from '#base';
import type { CatalogChange, CatalogMirror } from './node.ts';
import type { Binding } from './outcome.ts';

export class LiveCatalog implements CatalogMirror {
  readonly #byName = new Map<string, Binding>();
  readonly #groups = new Set<GroupId>([CATALOG_GROUP]);
  readonly #listeners = new Set<(change: CatalogChange) => void>();
  #sorted: readonly Binding[] | undefined;

  constructor(bindings: readonly Binding[]) {
    for (const binding of bindings) this.#bind(binding);
  }

  lookup(name: string): Binding | undefined {
    return this.#byName.get(name);
  }

  list(): readonly Binding[] {
    this.#sorted ??= [...this.#byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return this.#sorted;
  }

  onChange(listener: (change: CatalogChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether a database of the catalog lives in this group. */
  has(group: GroupId): boolean {
    return this.#groups.has(group);
  }

  apply(change: CatalogChange): void {
    const { binding } = change;
    if (change.kind === 'created') {
      this.#bind(binding);
    } else {
      this.#byName.delete(binding.name);
      this.#groups.delete(binding.group);
    }
    this.#sorted = undefined;
    for (const listener of this.#listeners) listener(change);
  }

  #bind(binding: Binding): void {
    this.#byName.set(binding.name, binding);
    this.#groups.add(binding.group);
  }
}
