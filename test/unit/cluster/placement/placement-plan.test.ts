// Goal: databases get the wanted number of replicas, evenly on nodes that stay and answer, in different zones, and no
// plan can lose a quorum. Method: a table of clusters with their plans.
import { describe, expect, it } from 'vitest';
import { replicaOf, toNodeId } from '#base';
import { type PlacementView, planPlacements } from '#cluster';
import { place } from '../../../../src/database/catalog-placements.ts';
import { type Layout, viewOf } from '../../../support/cluster/layouts.ts';

type Planned = Readonly<Record<number, readonly number[]>>;

function plan(view: PlacementView, { copies = 3, movesMax = 9 } = {}): Planned {
  return Object.fromEntries(
    planPlacements(view, { copies, movesMax }).map(({ group, nodes }) => [group, nodes.toSorted((a, b) => a - b)]),
  );
}

describe('databases are placed again (C19)', () => {
  it.each<[string, Layout, Planned]>([
    ['not on a second node', { zones: 'aa', held: '1' }, {}],
    ['on three nodes as soon as there are three', { zones: 'aaa', held: '1' }, { 1: [1, 2, 3] }],
    ['on a third node when there were two', { zones: 'aaa', held: '12' }, { 1: [1, 2, 3] }],
    ['not on one that is only registered', { zones: 'aaa', held: '1', silent: [3] }, {}],
    ['not on one that has not caught up', { zones: 'aaa', held: '1', behind: [3] }, {}],
    ['not as long as a node is only silent', { zones: 'aaaa', held: '123', silent: [3] }, {}],
    ['elsewhere when a node is lost', { zones: 'aaaa', held: '123', lost: [3] }, { 1: [1, 2, 4] }],
    ['not when a node is lost and none is free', { zones: 'aaa', held: '123', lost: [3] }, {}],
    ['elsewhere when a node leaves', { zones: 'aaaa', held: '123', leaving: [1] }, { 1: [2, 3, 4] }],
    ['on fewer nodes when one leaves and none is free', { zones: 'aaa', held: '123', leaving: [1] }, { 1: [2, 3] }],
    [
      'not on fewer nodes when one leaves and another will soon be ready',
      { zones: 'aaaa', held: '123', leaving: [1], silent: [4], expected: [4] },
      {},
    ],
    [
      'on fewer nodes when one leaves and the other has been silent for long',
      { zones: 'aaaa', held: '123', leaving: [1], silent: [4] },
      { 1: [2, 3] },
    ],
    [
      'without a wait for more replicas than wanted',
      { zones: 'aaaaaa', held: '1234', leaving: [1], silent: [5], expected: [5] },
      { 1: [2, 3, 4] },
    ],
    ['away from the only node that has it', { zones: 'ab', held: '1', leaving: [1] }, { 1: [2] }],
    ['not from a node that leaves to nowhere', { zones: 'ab', held: '1', leaving: [1], silent: [2] }, {}],
    ['not when one leaves and the rest have no quorum', { zones: 'aaa', held: '123', leaving: [1], silent: [2] }, {}],
    ['not when most of its nodes are gone', { zones: 'aaaa', held: '123', lost: [2, 3] }, {}],
    ['for all that are lost or leave', { zones: 'aaaaaaa', held: '12345', lost: [1], leaving: [2] }, { 1: [3, 4, 5] }],
    ['in a zone of its own', { zones: 'aabc', held: '123' }, { 1: [1, 3, 4] }],
    ['not in another zone when that has a copy', { zones: 'aaab', held: '124' }, {}],
    ['in the zone of the node that leaves', { zones: 'abcac', held: '123', leaving: [3] }, { 1: [1, 2, 5] }],
    ['away from a node that holds two more', { zones: 'aaaa', held: '123 123' }, { 1: [1, 2, 4] }],
    ['not for the load when there are too few nodes for all copies', { zones: 'aa', held: '1 1 1' }, {}],
    ['not for a load that differs by one', { zones: 'aaaa', held: '123' }, {}],
    ['not on a learner', { zones: 'aaaa', held: '12', pool: [3, 4] }, {}],
    ['not on a learner when a node leaves', { zones: 'aaaa', held: '123', leaving: [1], pool: [4] }, { 1: [2, 3] }],
    [
      'on fewer nodes when one leaves and only a learner will soon be ready',
      { zones: 'aaaa', held: '123', leaving: [1], silent: [4], expected: [4], pool: [4] },
      { 1: [2, 3] },
    ],
    ['not on a learner for its zone or the load', { zones: 'aaab', held: '123 123 123', pool: [4] }, {}],
    ['on more nodes than usual, if it asks for more', { zones: 'aaaaa', held: '123:5 124' }, { 1: [1, 2, 3, 4, 5] }],
    [
      'on an odd number of nodes, if it asks for more than there are',
      { zones: 'aaaa', held: '12:5' },
      { 1: [1, 2, 3] },
    ],
    ['not on more nodes, if it asks for as many as it has', { zones: 'aaa', held: '1:1' }, {}],
    ['on fewer nodes, if it asks for fewer by itself', { zones: 'aaa', held: '123:1 23' }, { 1: [1], 2: [1, 2, 3] }],
    ['on fewer nodes, in zones of their own', { zones: 'aab', held: '123:2' }, { 1: [1, 3] }],
    ['on fewer nodes, without one that does not answer', { zones: 'aaa', held: '123:2', silent: [1] }, { 1: [2, 3] }],
    ['on fewer nodes, none of which leaves', { zones: 'aaa', held: '123:2', leaving: [1] }, { 1: [2, 3] }],
    ['not on fewer nodes than answer for a quorum', { zones: 'aaa', held: '123:1', silent: [1, 2] }, {}],
    ['not for the load, into a zone that has a copy', { zones: 'abcb', held: '123 132' }, { 1: [1, 3, 4] }],
  ])('%s', (_name, layout, planned) => {
    expect(plan(viewOf(layout))).toEqual(planned);
  });

  it('keeps more replicas than wanted', () => {
    expect(plan(viewOf({ zones: 'aaa', held: '123' }), { copies: 1 })).toEqual({});
  });

  it('moves a limited number at a time, the urgent ones first', () => {
    const view = viewOf({ zones: 'aaaa', held: '123 123 234 134', leaving: [4] });
    expect(Object.keys(plan(view, { movesMax: 1 }))).toEqual(['3']);
    expect(Object.keys(plan(view))).toEqual(['3', '4']);
    // A leaving node still has its replica, but a database with one replica has no other.
    const alone = viewOf({ zones: 'aaaaa', held: '124 234 1 523', leaving: [4] });
    expect(Object.keys(plan(alone, { movesMax: 1 }))).toEqual(['3']);
  });

  it('waits for moves in progress, but not for a node that will not return', () => {
    const layout = { zones: 'aaaaa', held: '123 123' };
    const view = viewOf({ ...layout, lost: [3] });
    const [first, second] = view.bindings;
    const moving = first && place(first, 0, [1, 2, 4].map(toNodeId));
    if (moving === undefined || second === undefined) throw new Error('It is placed elsewhere');
    const bindings = [moving, second];
    expect(plan({ ...view, bindings }, { movesMax: 1 })).toEqual({});
    expect(plan({ ...view, bindings })).toEqual({ 2: [1, 2, 5] });
    const hopeless = viewOf({ ...layout, lost: [3, 4] });
    expect(plan({ ...hopeless, bindings }, { movesMax: 1 })).toEqual({ 1: [1, 2, 5] });
  });

  it('does not move a database with a replica on a node that is not registered', () => {
    const view = viewOf({ zones: 'aaa', held: '1' });
    const bindings = view.bindings.map((each) => ({ ...each, replicas: [replicaOf(toNodeId(9))] }));
    expect(plan({ ...view, bindings })).toEqual({});
  });
});
