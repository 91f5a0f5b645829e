// Goal: the bindings of a catalog are found by name, group and row, and the copies of each node are counted, whatever
// came and went. Method: random histories against a plain list.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodeOf, toGroupId, toNodeId } from '#base';
import { CatalogBindings } from '../../../src/database/catalog-bindings.ts';
import { type Binding, blockOfGroup } from '../../../src/database/catalog-rows.ts';
import { bindingOn } from '../../support/cluster/layouts.ts';

const NAMES = 8;
const change = fc.record({
  name: fc.nat(NAMES - 1),
  kind: fc.constantFrom('create' as const, 'move' as const, 'recover' as const, 'delete' as const),
  nodes: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
});

describe('the bindings of a catalog', () => {
  it('are what a list of them would say', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const bindings = new CatalogBindings();
        let model: readonly Binding[] = [];
        let nextGroup = 1;
        for (const { name: at, kind, nodes } of changes) {
          const name = `db-${at}`;
          const before = model.find((each) => each.name === name);
          model = model.filter((each) => each !== before);
          if (kind === 'delete') {
            bindings.delete(name);
            continue;
          }
          // Groups of several rows; one that moves keeps its own.
          const isKept = kind === 'move' && before !== undefined;
          if (!isKept) nextGroup += 25;
          const binding = { ...bindingOn(isKept ? before.group : nextGroup, nodes), name };
          bindings.set(binding);
          model = [...model, binding];
        }
        model = model.toSorted((one, other) => one.group - other.group);
        expect(bindings.list()).toEqual(model);
        for (let at = 0; at < NAMES; at += 1) {
          expect(bindings.lookup(`db-${at}`)).toBe(model.find(({ name }) => name === `db-${at}`));
        }
        for (let group = 0; group <= nextGroup; group += 1) {
          expect(bindings.ofGroup(toGroupId(group))).toBe(model.find((each) => each.group === group));
        }
        for (let block = 0; block <= blockOfGroup(nextGroup); block += 1) {
          expect(bindings.inBlock(block)).toEqual(model.filter(({ group }) => blockOfGroup(group) === block));
        }
        const replicas = model.flatMap((each) => each.replicas);
        for (let node = 1; node <= 5; node += 1) {
          const own = replicas.filter((replica) => nodeOf(replica) === node);
          expect(bindings.copies.get(toNodeId(node)) ?? 0).toBe(own.length);
        }
      }),
    );
  });
});
