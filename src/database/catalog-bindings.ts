/**
 * The bindings of a catalog: by name, by group, and the number of replicas on each node. Creating one of thousands of
 * databases reads none of the others: only `list` does.
 */
import { type DatabaseId, type GroupId, type NodeId, nodeOf, toGroupId } from '#base';
import { type Binding, BLOCK_GROUPS } from './catalog-rows.ts';

export class CatalogBindings {
  readonly #byName = new Map<string, Binding>();
  readonly #byGroup = new Map<GroupId, Binding>();
  readonly #copies = new Map<NodeId, number>();
  #listed: readonly Binding[] | undefined;

  /** Copies that each node holds, or is to hold; who holds none may be missing. */
  get copies(): ReadonlyMap<NodeId, number> {
    return this.#copies;
  }

  /** The binding of the name; with an id, only if it is of that instance. */
  lookup(name: string, databaseId?: DatabaseId): Binding | undefined {
    const binding = this.#byName.get(name);
    return databaseId === undefined || databaseId === binding?.databaseId ? binding : undefined;
  }

  ofGroup(group: GroupId): Binding | undefined {
    return this.#byGroup.get(group);
  }

  /** Every binding, by group. */
  list(): readonly Binding[] {
    this.#listed ??= [...this.#byName.values()].toSorted((left, right) => left.group - right.group);
    return this.#listed;
  }

  /** The bindings of one row, by group. */
  inBlock(block: number): readonly Binding[] {
    const bindings: Binding[] = [];
    for (let group = block * BLOCK_GROUPS; group < (block + 1) * BLOCK_GROUPS; group += 1) {
      const binding = this.#byGroup.get(toGroupId(group));
      if (binding !== undefined) bindings.push(binding);
    }
    return bindings;
  }

  /** Takes the place of the binding of its name, if there is one. */
  set(binding: Binding): void {
    this.delete(binding.name);
    this.#byName.set(binding.name, binding);
    this.#byGroup.set(binding.group, binding);
    this.#count(binding, 1);
  }

  delete(name: string): void {
    const binding = this.#byName.get(name);
    if (binding === undefined) return;
    this.#byName.delete(name);
    this.#byGroup.delete(binding.group);
    this.#count(binding, -1);
  }

  clear(): void {
    this.#byName.clear();
    this.#byGroup.clear();
    this.#copies.clear();
    this.#listed = undefined;
  }

  #count({ replicas }: Binding, by: number): void {
    this.#listed = undefined;
    for (const replica of replicas) this.#copies.set(nodeOf(replica), (this.#copies.get(nodeOf(replica)) ?? 0) + by);
  }
}
