// Goal: another cluster is noticed by who dials and by the seeds; only a node without data stops serving for it (K1).
// Method: the watch and the decision, with answers and a clock of the test.
import { describe, expect, it } from 'vitest';
import { toNodeId } from '#base';
import { silentLogger } from '#observability';
import { OtherClusters } from '../../../src/cluster/front/other-clusters.ts';
import type { Belonging } from '../../../src/cluster/peer/belonging.ts';
import { OtherClusterWatch } from '../../../src/cluster/peer/other-cluster.ts';

const SEEDS = ['n2', 'n3'].map((host) => ({ host, port: 50_052 }));

function watchOf(answers: readonly Belonging[] = []) {
  const left = [...answers];
  const time = { nowMs: 0, asked: 0 };
  const watch = new OtherClusterWatch({
    clusterId: 'mine',
    seeds: answers.length === 0 ? [] : SEEDS,
    ask: async () => {
      time.asked += 1;
      return left.shift() ?? { kind: 'no-answer', reason: 'it is down' };
    },
    sleep: () => Promise.resolve(),
    monotonicMs: () => time.nowMs,
  });
  return { watch, time };
}

describe('a watch for other clusters', () => {
  it('names the node that dials, with both clusters, for 30 s after it dialled last', () => {
    const { watch, time } = watchOf();
    expect(watch.sign).toBeUndefined();
    watch.dialledBy(toNodeId(3), 'the sender belongs to the cluster theirs');
    const sign = 'Node 3 of another cluster dials the address of this node: the sender belongs to the cluster theirs';
    expect(watch.sign).toBe(sign);
    time.nowMs = 29_999;
    expect(watch.sign).toBe(sign);
    time.nowMs = 30_000;
    expect(watch.sign).toBeUndefined();
  });

  it('asks each seed until it belongs to a cluster, and names the one of another cluster', async () => {
    const { watch, time } = watchOf([
      { kind: 'starting' },
      { kind: 'member', clusterId: 'mine' },
      { kind: 'member', clusterId: 'theirs' },
    ]);
    await watch.watchSeeds();
    expect(time.asked).toBe(3);
    expect(watch.sign).toBe(
      'n2:50052, which --join names, belongs to the cluster theirs; this node belongs to the cluster mine',
    );
  });
});

it.each([
  ['is alone and holds no database answers nothing', [1], 0, 'OtherCluster'],
  ['is alone and holds a database answers', [1], 1, undefined],
  ['has had other nodes answers', [1, 2], 0, undefined],
  ['knows no node yet answers', [], 0, undefined],
  ['knows only another node yet answers', [2], 0, undefined],
])('a node that %s while another cluster dials it', (_what, nodes, databases, reason) => {
  const logged: string[] = [];
  const others = new OtherClusters({ ...silentLogger, warn: (event: string) => void logged.push(event) });
  const catalog = {
    nodes: () => nodes.map((node) => ({ node: toNodeId(node) })),
    list: () => Array.from({ length: databases }),
  };
  const refusal = () => others.refusal(toNodeId(1), catalog)?.details['reason'];
  others.look({ otherCluster: 'Node 3 dials' });
  others.look({ otherCluster: 'Node 3 dials' });
  expect([refusal(), logged]).toEqual([reason, ['other-cluster']]);
  others.look({ otherCluster: undefined });
  expect(refusal()).toBeUndefined();
});
