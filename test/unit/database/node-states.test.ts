// Goal: a node leaves step by step, has no replicas when it is removed, and is never a node again (D17). Method: the
// table of the states, entries that arrive too late, and a restart after each.
import { beforeEach, describe, expect, it } from 'vitest';
import { nodeOf, toGroupId, toNodeId } from '#base';
import type { NodeState } from '#database';
import { CatalogHost } from '../../support/catalog-host.ts';

const GROUP = toGroupId(1);
let host: CatalogHost;

const mark = (node: number, state: NodeState): string => host.apply({ kind: 'mark', node: toNodeId(node), state }).kind;
const place = (placement: number, nodes: readonly number[]): string =>
  host.apply({ kind: 'place', group: GROUP, placement, nodes: nodes.map(toNodeId) }).kind;
const placed = (placement: number): string => host.apply({ kind: 'placed', group: GROUP, placement }).kind;

async function states(): Promise<string> {
  await host.reopen();
  const nodes = host.machine.nodes();
  return nodes.map(({ state }) => state).join(' ');
}

beforeEach(() => {
  host = new CatalogHost();
  for (const node of [1, 2, 3]) host.register(node);
  host.create('shop', 1, [1, 2]);
});

describe('the state of a node (D17)', () => {
  it.each<[NodeState, readonly NodeState[], NodeState | undefined]>([
    ['active', [], undefined],
    ['leaving', [], 'leaving'],
    ['removed', [], undefined],
    ['active', ['leaving'], 'active'],
    ['leaving', ['leaving'], undefined],
    ['removed', ['leaving'], 'removed'],
    ['active', ['leaving', 'removed'], undefined],
    ['leaving', ['leaving', 'removed'], undefined],
    ['removed', ['leaving', 'removed'], undefined],
  ])('becomes %s after %j: %s', async (next, before, after) => {
    for (const state of before) expect(mark(3, state)).toBe('registered');
    const { revision } = host.machine.applied;
    expect(mark(3, next)).toBe(after === undefined ? 'unmoved' : 'registered');
    expect(host.machine.applied.revision).toBe(revision + (after === undefined ? 0 : 1));
    expect(await states()).toBe(`active active ${after ?? before.at(-1) ?? 'active'}`);
  });

  it('stays active for at least one node, and cannot be set for an unknown node', async () => {
    const outcomes = [1, 2, 3, 4].map((node) => mark(node, 'leaving'));
    expect(outcomes).toEqual(['registered', 'registered', 'unmoved', 'unmoved']);
    expect(await states()).toBe('leaving leaving active');
  });

  it('is removed only when no database names it, leaving or not', async () => {
    mark(1, 'leaving');
    expect(mark(1, 'removed')).toBe('unmoved');
    expect(place(0, [2, 3])).toBe('moved');
    expect(mark(1, 'removed')).toBe('unmoved');
    expect(placed(1)).toBe('moved');
    expect(mark(1, 'removed')).toBe('registered');
    expect(await states()).toBe('removed active active');
    expect(host.machine.list()[0]?.replicas.map(nodeOf)).toEqual([2, 3]);
  });

  it('prevents new replicas on a node that is not active, except those that it had', () => {
    mark(3, 'leaving');
    expect(place(0, [1, 3])).toBe('unmoved');
    mark(2, 'leaving');
    // Its replica is leaving the node, and the new placement keeps it there.
    expect(place(0, [2])).toBe('moved');
    expect(place(1, [1, 2])).toBe('moved');
  });

  it('is unchanged when the node registers a new address, and a removed node cannot register', async () => {
    const at = (port: number) => ({ peer: { host: 'a', port } });
    mark(3, 'leaving');
    expect(host.register(3, at(7))).toMatchObject({ kind: 'registered', node: { state: 'leaving', ...at(7) } });
    mark(3, 'removed');
    expect(host.register(3, at(8))).toMatchObject({ kind: 'known', node: { node: 3, state: 'removed', ...at(7) } });
    expect(host.register(4)).toMatchObject({ node: { node: 4 } });
    expect(await states()).toBe('active active removed active');
  });
});

it('a placement is settled once, by the entry for it, also when no replica leaves', async () => {
  expect(host.machine.list()[0]?.isSettled).toBe(true);
  expect(place(0, [1, 2, 3])).toBe('moved');
  await host.reopen();
  expect(host.machine.list()[0]).toMatchObject({ isSettled: false, leaving: [] });
  expect([placed(0), placed(1), placed(1)]).toEqual(['unmoved', 'moved', 'unmoved']);
  await host.reopen();
  expect(host.machine.list()[0]?.isSettled).toBe(true);
});

describe('a learner (D17)', () => {
  beforeEach(() => {
    host.register(4, { isLearner: true });
  });

  it('stays one: a registration that says otherwise changes nothing', async () => {
    expect(host.register(4, { isLearner: false, zone: 'b' })).toMatchObject({
      kind: 'known',
      node: { isLearner: true },
    });
    expect(host.register(3, { isLearner: true })).toMatchObject({ kind: 'known', node: { isLearner: false } });
    expect(host.register(4, { isLearner: true, zone: 'b' })).toMatchObject({ kind: 'registered', isNew: false });
    await host.reopen();
    const learners = host.machine.nodes().filter(({ isLearner }) => isLearner);
    expect(learners).toMatchObject([{ node: 4, zone: 'b' }]);
  });

  it('gets no replica with a vote', () => {
    expect(place(0, [1, 2, 4])).toBe('unmoved');
    expect(host.machine.lookup('shop')?.replicas.map(nodeOf)).toEqual([1, 2]);
  });

  it('is removed although every database has a replica on it, and does not count as a node that stays', () => {
    for (const node of [1, 2]) expect(mark(node, 'leaving')).toBe('registered');
    expect(mark(3, 'leaving')).toBe('unmoved');
    expect(mark(4, 'leaving')).toBe('registered');
    expect(mark(4, 'removed')).toBe('registered');
  });
});
