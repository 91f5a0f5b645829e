// Goal: a database moves once at a time, keeps each replica until its group is without it, and uses no replica id twice
// (D15). Method: steps of a move; random moves compared with a model; broken entries.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DatabaseError, type NodeId, nodeOf, toGroupId, toNodeId } from '#base';
import { type Binding, type CatalogOutcome, encodeCatalogEntry } from '#database';
import { CatalogHost, replicasOn } from '../../support/catalog-host.ts';
import { runs } from '../../support/runs.ts';

const GROUP = toGroupId(1);

class Host extends CatalogHost {
  constructor(nodes: readonly number[]) {
    super();
    this.create('shop', 1, nodes);
  }

  get binding(): Binding {
    const binding = this.machine.lookup('shop');
    if (binding === undefined) throw new Error('It was created');
    return binding;
  }

  place(placement: number, ...nodes: readonly number[]): CatalogOutcome['kind'] {
    return this.apply({ kind: 'place', group: GROUP, placement, nodes: nodes.map(toNodeId) }).kind;
  }

  placed(placement: number): CatalogOutcome['kind'] {
    return this.apply({ kind: 'placed', group: GROUP, placement }).kind;
  }
}

describe('the placement of a database (D15)', () => {
  it('changes in two steps: replicas are added, and others are removed when the group is without them', async () => {
    const host = new Host([1, 2, 3]);
    expect(host.place(0, 1, 4, 2)).toBe('moved');
    const founders = replicasOn([1, 2, 3]);
    const coming = { replicas: [...founders, ...replicasOn([4], 1)], leaving: replicasOn([3]), founders, placement: 1 };
    expect(host.binding).toMatchObject(coming);
    await host.reopen();
    expect(host.binding).toMatchObject(coming);
    expect(host.placed(1)).toBe('moved');
    const placed = { replicas: [...replicasOn([1, 2]), ...replicasOn([4], 1)], leaving: [], founders, placement: 1 };
    expect(host.binding).toMatchObject(placed);
    await host.reopen();
    expect(host.binding).toMatchObject(placed);
    expect(host.placed(1)).toBe('unmoved');
  });

  it('equals the last decision, uses each replica id once, and ignores outdated entries', async () => {
    const node = fc.integer({ min: 1, max: 6 });
    const step = fc.oneof(
      fc.record({ nodes: fc.uniqueArray(node, { minLength: 1, maxLength: 4 }), behind: fc.constantFrom(0, 0, 0, 1) }),
      fc.record({ behind: fc.constantFrom(0, 0, 1) }),
      fc.constant('reopen' as const),
    );
    const property = fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const host = new Host([1, 2, 3]);
      let [wanted, isSettled]: [readonly number[], boolean] = [[1, 2, 3], true];
      const given = new Set(replicasOn([1, 2, 3]));
      const faults: unknown[] = [];
      for (const each of steps) {
        if (each === 'reopen') {
          await host.reopen();
          continue;
        }
        const before = host.binding;
        const at = Math.max(0, before.placement - each.behind);
        const kind = 'nodes' in each ? host.place(at, ...each.nodes) : host.placed(at);
        if (kind === 'moved') [wanted, isSettled] = 'nodes' in each ? [each.nodes, false] : [wanted, true];
        const { replicas, leaving, placement } = host.binding;
        const added = replicas.filter((replica) => !before.replicas.includes(replica));
        if (added.some((replica) => given.has(replica))) faults.push(['given twice', added]);
        for (const replica of added) given.add(replica);
        const staying = replicas.filter((replica) => !leaving.includes(replica)).map(nodeOf);
        if (staying.toSorted(byNumber).join() !== [...wanted].toSorted(byNumber).join())
          faults.push([wanted, replicas]);
        if (new Set(replicas.map(nodeOf)).size < replicas.length) faults.push(['two on one node', replicas]);
        if (isSettled && leaving.length > 0) faults.push(['still leaving', leaving]);
        if (kind === 'moved' && 'nodes' in each && placement !== at + 1) faults.push(['placement', placement]);
        if (at < before.placement && kind !== 'unmoved') faults.push(['overtaken', each]);
      }
      expect(faults).toEqual([]);
    });
    await expect(fc.assert(property, { numRuns: runs(200) })).resolves.toBeUndefined();
  });

  it('is changed only by complete entries (D9)', () => {
    const endOf = (payload: Uint8Array): unknown => {
      try {
        return new Host([1]).applyPayload(payload).kind;
      } catch (failure) {
        return failure instanceof DatabaseError ? failure.details.reason : failure;
      }
    };
    const nodes: readonly NodeId[] = [toNodeId(7), toNodeId(2 ** 32 - 1)];
    const entry = encodeCatalogEntry({ kind: 'place', group: GROUP, placement: 0, nodes });
    expect(endOf(entry)).toBe('moved');
    for (let length = 0; length < entry.length; length += 1)
      expect(endOf(entry.subarray(0, length))).toBe('UnknownEntry');
    const twice = encodeCatalogEntry({ kind: 'place', group: GROUP, placement: 0, nodes: [toNodeId(7), toNodeId(7)] });
    const nowhere = encodeCatalogEntry({ kind: 'place', group: GROUP, placement: 0, nodes: [] });
    expect([endOf(twice), endOf(nowhere)]).toEqual(['UnknownEntry', 'UnknownEntry']);
  });
});

function byNumber(one: number, other: number): number {
  return one - other;
}
