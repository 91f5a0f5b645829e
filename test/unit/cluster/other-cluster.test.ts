// Goal: only a node that is alone in its cluster is cut off by another cluster (K1). Method: what the catalog knows is
// counted by the test.
import { expect, it } from 'vitest';
import { toNodeId } from '#base';
import { type OtherCluster, OtherClusterWatch } from '../../../src/cluster/peer/other-cluster.ts';

it.each<[string, number, readonly boolean[]]>([
  ['knows nobody yet', 0, []],
  ['is alone in its cluster', 1, [true]],
  ['has had other nodes', 2, [false]],
])('a node that %s is dialled by a node of another cluster', (_name, nodeCount, cutOff) => {
  const seen: OtherCluster[] = [];
  const watch = new OtherClusterWatch({
    clusterId: 'mine',
    seeds: [],
    nodeCount: () => nodeCount,
    ask: () => Promise.reject(new Error('There are no seeds')),
    sleep: () => Promise.resolve(),
    onSeen: (other) => seen.push(other),
  });
  watch.dialledBy(toNodeId(3));
  watch.dialledBy(toNodeId(3));
  const why: unknown = expect.stringContaining('node 3 of another cluster dials');
  expect(seen).toEqual(cutOff.map((isCutOff) => ({ why, isCutOff })));
});
