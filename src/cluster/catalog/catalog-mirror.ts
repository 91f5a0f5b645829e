/** The front's copy of the catalog, updated by reports of the core and read synchronously. */
import { CATALOG_GROUP, type GroupId, type NodeId } from '#base';
import type { ApiKey } from '#model';
import type { CatalogChange, CatalogMirror } from '../node.ts';
import type { Binding, RegisteredNode } from '../outcome.ts';

/** The catalog as applied by the core. */
export interface CatalogState {
  readonly bindings: readonly Binding[];
  readonly nodes: readonly RegisteredNode[];
  readonly apiKeys: readonly ApiKey[];
  readonly level: number;
}

export class LiveCatalog implements CatalogMirror {
  readonly #byName = new Map<string, Binding>();
  readonly #groups = new Map<GroupId, Binding>();
  readonly #nodes = new Map<NodeId, RegisteredNode>();
  readonly #keys = new Map<string, ApiKey>();
  readonly #listeners = new Set<(change: CatalogChange) => void>();
  #level: number;
  #sorted: readonly Binding[] | undefined;

  constructor({ bindings, nodes, apiKeys, level }: CatalogState) {
    this.#level = level;
    for (const binding of bindings) this.#bind(binding);
    for (const node of nodes) this.#nodes.set(node.node, node);
    for (const key of apiKeys) this.#keys.set(key.id, key);
  }

  get level(): number {
    return this.#level;
  }

  lookup(name: string): Binding | undefined {
    return this.#byName.get(name);
  }

  list(): readonly Binding[] {
    this.#sorted ??= [...this.#byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return this.#sorted;
  }

  nodes(): readonly RegisteredNode[] {
    return [...this.#nodes.values()].toSorted((one, other) => one.node - other.node);
  }

  node(id: NodeId): RegisteredNode | undefined {
    return this.#nodes.get(id);
  }

  apiKeys(): readonly ApiKey[] {
    return [...this.#keys.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1));
  }

  apiKey(id: string): ApiKey | undefined {
    return this.#keys.get(id);
  }

  onChange(listener: (change: CatalogChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  bindingOf(group: GroupId): Binding | undefined {
    return this.#groups.get(group);
  }

  /** Returns whether a database of the catalog is in this group. */
  has(group: GroupId): boolean {
    return group === CATALOG_GROUP || this.#groups.has(group);
  }

  apply(change: CatalogChange): void {
    if (change.kind === 'registered') this.#nodes.set(change.node.node, change.node);
    else if (change.kind === 'raised') this.#level = change.level;
    else if (change.kind === 'key-kept') this.#keys.set(change.key.id, change.key);
    else if (change.kind === 'key-removed') this.#keys.delete(change.id);
    else if (change.kind !== 'deleted') this.#bind(change.binding);
    else {
      this.#byName.delete(change.binding.name);
      this.#groups.delete(change.binding.group);
    }
    this.#sorted = undefined;
    for (const listener of this.#listeners) listener(change);
  }

  #bind(binding: Binding): void {
    this.#byName.set(binding.name, binding);
    this.#groups.set(binding.group, binding);
  }
}

/** Number of leaderships of a node that other nodes could take. */
export function leadsWithOthers(
  node: NodeId,
  catalog: Pick<CatalogMirror, 'nodes' | 'list'>,
  leaders: ReadonlyMap<GroupId, NodeId | undefined>,
): number {
  const nodes = catalog.nodes().filter(({ state }) => state !== 'removed');
  let count = leaders.get(CATALOG_GROUP) === node && nodes.length > 1 ? 1 : 0;
  for (const { group, replicas } of catalog.list()) {
    if (replicas.length > 1 && leaders.get(group) === node) count += 1;
  }
  return count;
}
