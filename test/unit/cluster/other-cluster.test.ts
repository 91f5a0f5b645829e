// Goal: a node of another cluster that dials is detected, and only a node without data stops serving because of it
// (K1); a node that all others refuse is detected. Method: reports of the links with a fake clock, and the decision
// from them.
import { afterEach, expect, it, vi } from 'vitest';
import { toNodeId } from '#base';
import { silentLogger } from '#observability';
import { OtherClusters } from '../../../src/cluster/front/other-clusters.ts';
import { PeerMeasureGatherer } from '../../../src/cluster/peer/peer-measures.ts';

afterEach(() => void vi.useRealTimers());

it('names the node of another cluster that dials, with both clusters, for 30 s after its last attempt', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const gatherer = new PeerMeasureGatherer();
  gatherer.receiveFailed(toNodeId(2), { kind: 'sender', words: 'node 2 has another store' });
  expect(gatherer.otherCluster).toBeUndefined();
  gatherer.receiveFailed(toNodeId(3), { kind: 'cluster', words: 'the sender belongs to the cluster theirs' });
  const sign = 'Node 3 of another cluster dials the address of this node: the sender belongs to the cluster theirs';
  vi.advanceTimersByTime(29_999);
  expect(gatherer.otherCluster).toBe(sign);
  vi.advanceTimersByTime(1);
  expect(gatherer.otherCluster).toBeUndefined();
});

it('names the reason of a node that refuses this one for 30 s, unless another node accepts it', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const [gatherer, two, three] = [new PeerMeasureGatherer(), toNodeId(2), toNodeId(3)];
  gatherer.active(two, false);
  gatherer.active(three, false);
  expect(gatherer.refusedBy).toBeUndefined();
  gatherer.refuses(two, 'host:1: it has another secret');
  const sign = 'Every node that this one reaches refuses it; node 2: host:1: it has another secret';
  expect(gatherer.refusedBy).toBe(sign);
  gatherer.active(three, true);
  expect(gatherer.refusedBy).toBeUndefined();
  gatherer.active(three, false);
  vi.advanceTimersByTime(29_999);
  expect(gatherer.refusedBy).toBe(sign);
  vi.advanceTimersByTime(1);
  expect(gatherer.refusedBy).toBeUndefined();
});

it('names a node that refuses this process because of another process of this node, also when others accept it, until it does not', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const gatherer = new PeerMeasureGatherer();
  gatherer.active(toNodeId(2), true);
  gatherer.duplicate('host:1: another process of node 3');
  expect(gatherer.refusedBy).toBe('Another process of this node runs; host:1: another process of node 3');
  gatherer.duplicate(undefined);
  expect(gatherer.refusedBy).toBeUndefined();
  gatherer.duplicate('again');
  vi.advanceTimersByTime(30_000);
  expect(gatherer.refusedBy).toBeUndefined();
});

it.each([
  ['is alone and holds no database answers nothing', [1], 0, 'OtherCluster'],
  ['is alone and holds a database answers', [1], 1, undefined],
  ['has had other nodes answers', [1, 2], 0, undefined],
  ['knows no node yet answers', [], 0, undefined],
  ['knows only another node yet answers', [2], 0, undefined],
])('a node that %s requests while another cluster dials it', (_what, nodes, databases, reason) => {
  const logged: string[] = [];
  const others = new OtherClusters({ ...silentLogger, warn: (event: string) => void logged.push(event) });
  const catalog = {
    nodes: () => nodes.map((node) => ({ node: toNodeId(node) })),
    list: () => Array.from({ length: databases }),
  };
  const refusal = () => others.refusal(toNodeId(1), catalog)?.details['reason'];
  others.look({ signs: { otherCluster: 'Node 3 dials' } });
  others.look({ signs: { otherCluster: 'Node 3 dials' } });
  expect([refusal(), logged]).toEqual([reason, ['other-cluster']]);
  others.look({ signs: { otherCluster: undefined } });
  expect(refusal()).toBeUndefined();
});
