/**
 * The difference between two states of the catalog, as the changes that lead from one to the other.
 */

import type { ApiKey } from '#model';
import { isSame, type RegisteredNode } from './catalog-nodes.ts';
import type { Binding } from './catalog-rows.ts';

/** A state of the catalog, as far as it matters to others. */
export interface CatalogLists {
  list(): readonly Binding[];
  nodes(): readonly RegisteredNode[];
  apiKeys(): readonly ApiKey[];
  readonly level: number;
}

export type CatalogDifference =
  | { readonly kind: 'created' | 'deleted' | 'moved'; readonly binding: Binding }
  | { readonly kind: 'registered'; readonly node: RegisteredNode; readonly isNew: boolean }
  | { readonly kind: 'raised'; readonly level: number }
  | { readonly kind: 'key-kept'; readonly key: ApiKey }
  | { readonly kind: 'key-removed'; readonly id: string };

/**
 * The level, nodes (before the databases on them) and keys; then deletions, because the name may belong to another
 * database by now.
 */
export function diffCatalogs(before: CatalogLists, after: CatalogLists): readonly CatalogDifference[] {
  const changes: CatalogDifference[] = [];
  if (after.level > before.level) changes.push({ kind: 'raised', level: after.level });
  const knownNodes = new Map(before.nodes().map((node) => [node.node, node]));
  for (const node of after.nodes()) {
    const known = knownNodes.get(node.node);
    const isNew = known === undefined;
    if (isNew || known.state !== node.state || !isSame(known, node)) changes.push({ kind: 'registered', node, isNew });
  }
  changes.push(...diffKeys(before.apiKeys(), after.apiKeys()));
  const kept = new Set(after.list().map(({ group }) => group));
  const known = new Map(before.list().map((binding) => [binding.group, binding]));
  for (const binding of before.list()) if (!kept.has(binding.group)) changes.push({ kind: 'deleted', binding });
  for (const binding of after.list()) {
    const held = known.get(binding.group);
    if (held === undefined) changes.push({ kind: 'created', binding });
    else if (isElsewhere(held, binding)) changes.push({ kind: 'moved', binding });
  }
  return changes;
}

function diffKeys(before: readonly ApiKey[], after: readonly ApiKey[]): readonly CatalogDifference[] {
  const known = new Map(before.map(({ id, version }) => [id, version]));
  const kept = new Set(after.map(({ id }) => id));
  const removed = before.filter(({ id }) => !kept.has(id)).map(({ id }) => ({ kind: 'key-removed', id }) as const);
  const changed = after.filter(({ id, version }) => known.get(id) !== version);
  return [...removed, ...changed.map((key) => ({ kind: 'key-kept', key }) as const)];
}

/** True when the replicas, or their number, differ or will differ. */
function isElsewhere(before: Binding, after: Binding): boolean {
  const isPlacedAlike = before.placement === after.placement && before.isSettled === after.isSettled;
  return !isPlacedAlike || before.copies !== after.copies;
}
