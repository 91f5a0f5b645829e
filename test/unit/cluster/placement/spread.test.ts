// Goal: replicas are placed evenly on nodes that answer, in different zones; every node has the catalog, and an odd
// number of them are voters. Method: tables and a property.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { nodeOf, replicaOf, toNodeId } from '#base';
import { catalogTarget, spreadOver } from '#cluster';
import { membershipOf } from '#raft';
import { loadsOf } from '../../../../src/cluster/placement/spread.ts';
import { type Layout, nodesOf, viewOf } from '../../../support/cluster/layouts.ts';

function placed(copies: number, layout: Layout, asked = 0): readonly number[] {
  const { nodes, bindings } = viewOf(layout);
  return spreadOver(copies, toNodeId(1))
    .replicas({ nodes, loads: loadsOf(bindings) }, asked)
    .map(nodeOf);
}

it.each<[string, number, Layout, readonly number[]]>([
  ['on this node before any node is registered', 3, { zones: '' }, [1]],
  ['on one node rather than on two of three', 3, { zones: 'aa' }, [1]],
  ['on three nodes rather than on four of five', 5, { zones: 'aaaa' }, [1, 2, 3]],
  ['on two nodes, if so wanted', 2, { zones: 'aaa' }, [1, 2]],
  ['in zones of their own', 3, { zones: 'aaabc' }, [1, 4, 5]],
  ['in as many zones as there are', 3, { zones: 'aaab' }, [1, 4, 2]],
  ['where there is least', 2, { zones: 'aaaa', held: '12 1 3' }, [4, 2]],
  ['in another zone rather than where there is least', 2, { zones: 'aab', held: '3 3' }, [1, 3]],
  ['on nodes that answer rather than in zones of their own', 2, { zones: 'aab', silent: [3] }, [1, 2]],
  ['on all voters, though two of three are silent (C22)', 3, { zones: 'abc', silent: [2, 3] }, [1, 2, 3]],
  ['on all voters, though two of three are lagging (C22)', 3, { zones: 'abc', behind: [2, 3] }, [1, 2, 3]],
  ['on one node rather than on three of four (C22)', 3, { zones: 'abcd', silent: [2, 3, 4] }, [1]],
  ['on one node when the others do not all vote (C22)', 3, { zones: 'abc', silent: [2, 3], learners: [3] }, [1]],
  ['on a silent node beside two that answer (C22)', 3, { zones: 'abc', silent: [2] }, [1, 3, 2]],
  ['on two silent nodes beside three that answer (C22)', 5, { zones: 'aaaaa', silent: [1, 4] }, [2, 3, 5, 1, 4]],
  ['on all five though two of them answer (C22)', 5, { zones: 'aaaaa', silent: [1, 4, 5] }, [1, 2, 3, 4, 5]],
  [
    'on all voters, though one leaves and one is silent (C22)',
    3,
    { zones: 'aaaa', silent: [3, 4], leaving: [2], learners: [4] },
    [1, 2, 3],
  ],
  ['on nodes that stay if they are enough', 3, { zones: 'aaaa', leaving: [2], learners: [4] }, [1, 3, 4]],
  ['on one node when a voter is lost (C22)', 3, { zones: 'abc', silent: [2], lost: [3] }, [1]],
  ['on three of six when two of them answer (C22)', 5, { zones: 'aaaaaa', silent: [1, 4, 5, 6] }, [2, 3, 1]],
  ['on a node that is behind, not on a silent one (C22)', 3, { zones: 'aaaa', silent: [1], behind: [4] }, [2, 3, 4]],
  ['on no node that is lost (C22)', 3, { zones: 'aaa', lost: [3] }, [1]],
  ['on no silent node that leaves (C22)', 3, { zones: 'aaab', silent: [3, 4], leaving: [3] }, [1, 2, 4]],
  ['on no silent node that has never had the catalog (C22)', 3, { zones: 'aaa', silent: [3], learners: [3] }, [1]],
  ['on a silent node in a zone of its own, of two (C22)', 3, { zones: 'aaab', silent: [3, 4] }, [1, 2, 4]],
  ['on nodes that have the catalog', 2, { zones: 'abcd', behind: [2] }, [1, 3]],
  ['on nodes that stay', 2, { zones: 'abcd', leaving: [1], removed: [3] }, [2, 4]],
  ['on this node when no other may have it', 3, { zones: 'ab', leaving: [1], silent: [2] }, [1]],
  ['on no learner', 3, { zones: 'abc', pool: [2] }, [1]],
  ['on no learner beside three others', 5, { zones: 'abcd', pool: [2] }, [1, 3, 4]],
  ['once, if so wanted', 1, { zones: 'ab', held: '1' }, [2]],
])('a new database is placed %s', (_name, copies, layout, nodes) => {
  expect(placed(copies, layout)).toEqual(nodes);
});

it.each([
  [5, [1, 2, 3, 4, 5]],
  [1, [1]],
  [7, [1, 2, 3, 4, 5]],
])('a new database that asks for %i replicas is placed on nodes %j', (asked, nodes) => {
  expect(placed(3, { zones: 'aaaaaa' }, asked)).toEqual(nodes);
});

it('a new database is placed evenly: nodes of one zone differ by at most one database', () => {
  const property = fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 5 }), (count, copies) => {
    const held: (readonly number[])[] = [];
    const layout = (): Layout => ({ zones: 'a'.repeat(count), held: held.map((nodes) => nodes.join('')).join(' ') });
    for (let database = 0; database < 20; database++) held.push(placed(copies, layout()));
    const loads = Array.from({ length: count }, (_, at) => held.flat().filter((node) => node === at + 1).length);
    expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
    const expected = count >= copies ? copies : count - ((count + 1) % 2);
    for (const nodes of held) expect(new Set(nodes).size).toBe(expected);
  });
  expect(() => fc.assert(property, { numRuns: 50 })).not.toThrow();
});

/** Voters and learners by their nodes, one digit each. */
function voting(layout: Layout, before: string): string | undefined {
  const replicas = Array.from(before, (node) => replicaOf(toNodeId(Number(node))));
  const target = catalogTarget(nodesOf(layout), membershipOf(replicas));
  return (
    target &&
    [target.voters, target.learners]
      .map((each) => each.map(nodeOf).join(''))
      .join(' ')
      .trim()
  );
}

it.each<[string, Layout, string, string | undefined]>([
  ['one node', { zones: 'a' }, '1', '1'],
  ['two nodes: one vote as before', { zones: 'aa' }, '1', '1 2'],
  ['three nodes', { zones: 'aaa' }, '1', '123'],
  ['four nodes', { zones: 'aaaa' }, '123', '123 4'],
  ['five nodes', { zones: 'aaaaa' }, '123', '12345'],
  ['eight nodes: five votes at most', { zones: 'aaaaaaaa' }, '1', '12345 678'],
  ['zones of their own', { zones: 'aabac' }, '124', '12345'],
  ['a zone of its own for a new voter', { zones: 'aaaabb', silent: [6] }, '1', '12345 6'],
  ['zones first when there are more nodes than votes', { zones: 'aaac', silent: [3] }, '1', '124 3'],
  ['no vote for a silent node', { zones: 'aaaa', silent: [2, 3] }, '1', '1 234'],
  ['no vote for a node that lacks the catalog', { zones: 'aaa', behind: [3] }, '1', '1 23'],
  ['a voter that is silent keeps its vote', { zones: 'aaaa', silent: [2] }, '123', '123 4'],
  ['a voter that is lost gives it to another', { zones: 'aaaa', lost: [2] }, '123', '134 2'],
  ['a voter that is lost keeps it if no other node is free', { zones: 'aaa', lost: [2] }, '123', '123'],
  ['a node that leaves gives it to another', { zones: 'aaaa', leaving: [1] }, '123', '234 1'],
  ['a node that leaves gives it up', { zones: 'aaa', leaving: [1] }, '123', '23 1'],
  [
    'a leaving node keeps it for a moment if another will soon be ready',
    { zones: 'aaaa', leaving: [1], silent: [4], expected: [4] },
    '123',
    '123 4',
  ],
  [
    'a leaving node gives it to one that is ready, even if another will soon be',
    { zones: 'aaaaa', leaving: [1], silent: [5], expected: [5] },
    '123',
    '234 15',
  ],
  ['a node that is removed stays until it ends', { zones: 'aab', removed: [2] }, '1', '1 23'],
  ['a node that is removed and has ended is forgotten', { zones: 'aab', removed: [2], silent: [2] }, '1', '1 3'],
  ['nothing changes when too few of them would answer', { zones: 'aaa', leaving: [3], silent: [2] }, '123', undefined],
  ['no vote for a learner', { zones: 'aaa', pool: [2] }, '1', '1 23'],
  ['no vote for a learner in place of a lost voter', { zones: 'aaaa', lost: [2], pool: [4] }, '123', '123 4'],
  [
    'a learner that is removed and has ended is forgotten',
    { zones: 'aa', pool: [2], removed: [2], silent: [2] },
    '1',
    '1',
  ],
  ['no node is registered', { zones: '' }, '1', undefined],
])('the catalog has an odd number of answering voters, if possible (C18): %s', (_name, layout, before, expected) => {
  expect(voting(layout, before)).toEqual(expected);
});
