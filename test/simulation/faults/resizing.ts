// Only with `--resized`: an operator changes the number of copies that a database asks for, and a scrub finds damage in
// a replica that is not damaged, so that other replicas replace it (C46).
import { COPIES_MAX } from '#base';
import type { Rng } from '../engine/random.ts';
import type { SimNode } from '../node/sim-node.ts';

export interface Resizing {
  readonly kind: 'resize';
  readonly database: number;
  /** Numbers that are asked for at the same time, 0 for the setting of the cluster; or damage is found. */
  readonly change: readonly number[] | 'damage';
}

export function drawResizing(random: Rng): Resizing {
  const database = random.between(0, 9);
  if (random.chance(0.4)) return { kind: 'resize', database, change: 'damage' };
  const draw = (): number => random.pick([0, 1, 1, 2, 3, 3, 4, 5, COPIES_MAX]);
  return { kind: 'resize', database, change: random.chance(0.2) ? [draw(), draw()] : [draw()] };
}

/** Every running node receives the requests, also the leader of the catalog. The damage is at the given node. */
export function resize({ database, change }: Resizing, node: SimNode, nodes: readonly SimNode[]): void {
  for (const each of change === 'damage' ? [node] : nodes) {
    const bindings = each.running?.node?.catalog.list() ?? [];
    const binding = bindings[database % Math.max(1, bindings.length)];
    if (binding === undefined) continue;
    const { name, group } = binding;
    if (change === 'damage') each.running?.damaged(group);
    for (const copies of change === 'damage' ? [] : change) {
      each.running?.order({ kind: 'set-copies', name, databaseId: undefined, copies }, () => undefined);
    }
  }
}
