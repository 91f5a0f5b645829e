// Only with `--resized`: an operator changes the number of copies that a database asks for, and scrubs find damage in
// replicas that are not damaged, so that other replicas replace them (C46).
import { COPIES_MAX } from '#base';
import type { Binding } from '#cluster';
import type { Rng } from '../engine/random.ts';
import type { SimNode } from '../node/sim-node.ts';

export type Resizing =
  /** 0: the setting of the cluster. `isTwice`: another node receives another number at the same time. */
  | { readonly kind: 'copies'; readonly database: number; readonly copies: number; readonly isTwice: boolean }
  | { readonly kind: 'found-damage'; readonly database: number };

export function drawResizing(random: Rng): Resizing {
  const database = random.between(0, 9);
  if (random.chance(0.4)) return { kind: 'found-damage', database };
  const copies = random.pick([0, 1, 1, 2, 3, 3, 4, 5, COPIES_MAX]);
  return { kind: 'copies', database, copies, isTwice: random.chance(0.2) };
}

/** Every node that is up receives the request, so the leader of the catalog does, too. */
export function resize(action: Resizing, node: SimNode, nodes: readonly SimNode[]): void {
  if (action.kind === 'found-damage') {
    const group = bindingOf(node, action.database)?.group;
    if (group !== undefined) node.running?.damaged(group);
    return;
  }
  for (const each of nodes) {
    const name = bindingOf(each, action.database)?.name;
    if (name === undefined) continue;
    for (const copies of action.isTwice ? [action.copies, (action.copies + 2) % COPIES_MAX] : [action.copies]) {
      each.running?.order({ kind: 'set-copies', name, databaseId: undefined, copies }, () => undefined);
    }
  }
}

function bindingOf({ running }: SimNode, database: number): Binding | undefined {
  const bindings = running?.node?.catalog.list() ?? [];
  return bindings[database % Math.max(1, bindings.length)];
}
