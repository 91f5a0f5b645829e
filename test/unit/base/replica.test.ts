// Goal: a replica id contains its node, and no two replicas share an id (B5). Method: random nodes and copy numbers,
// and the limits.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyOf, hasNode, isCopy, nodeOf, replicaOf, toNodeId, toReplicaId } from '#base';

const NODE_MAX = 2 ** 32 - 1;
const COPY_MAX = 2 ** 20 - 1;

describe('a replica id (B5)', () => {
  const node = fc.integer({ min: 1, max: NODE_MAX }).map(toNodeId);
  const copy = fc.nat(COPY_MAX);

  it('contains its node', () => {
    fc.assert(fc.property(node, copy, (on, of) => nodeOf(replicaOf(on, of)) === on));
    expect(nodeOf(replicaOf(toNodeId(NODE_MAX), COPY_MAX))).toBe(NODE_MAX);
    expect(replicaOf(toNodeId(1))).toBe(2 ** 20);
  });

  it('contains its copy number, and shows whether it has a node', () => {
    fc.assert(fc.property(node, copy, (on, of) => copyOf(replicaOf(on, of)) === of && hasNode(replicaOf(on, of))));
    const nowhere = [1, COPY_MAX, (NODE_MAX + 1) * 2 ** 20, Number.MAX_SAFE_INTEGER].map(toReplicaId);
    expect(nowhere.some(hasNode)).toBe(false);
    expect([-1, 0.5, COPY_MAX + 1].some(isCopy)).toBe(false);
  });

  it('differs for each node and each copy number', () => {
    fc.assert(
      fc.property(fc.tuple(node, copy), fc.tuple(node, copy), ([on, of], [other, its]) => {
        const same = on === other && of === its;
        expect(replicaOf(on, of) === replicaOf(other, its)).toBe(same);
      }),
    );
  });

  it('is rejected outside its limits', () => {
    for (const none of [0, -1, 1.5, NODE_MAX + 1]) expect(() => toNodeId(none)).toThrow('A node id is an integer');
    for (const none of [-1, 0.5, COPY_MAX + 1]) expect(() => replicaOf(toNodeId(1), none)).toThrow('2^20 copies');
  });
});
