// Goal: databases on other nodes are listed with requests to the fewest nodes, also when some do not answer (V9, V10).
// Method: a catalog with five nodes and scripted answers.
import { expect, it } from 'vitest';
import { replicaOf, toDatabaseId, toGroupId, toNodeId } from '#base';
import type { Binding } from '#cluster';
import type { DatabaseDescription, ListAt } from '#service';
import type { ServiceContext } from '../../../src/service/context.ts';
import { describedElsewhere } from '../../../src/service/elsewhere.ts';

const { signal } = new AbortController();
const HELD: Readonly<Record<string, readonly number[]>> = { a: [2, 3], b: [3, 4], c: [4, 2], d: [3, 5] };

const idOf = (name: string) => toDatabaseId(`0193a1b2-c3d4-7e5f-8a9b-10000000000${name}`);
const BINDINGS = Object.entries(HELD).map(([name, nodes], place): Binding => {
  const replicas = nodes.map((node) => replicaOf(toNodeId(node)));
  const others = { createdAtMs: 0, leaving: [], founders: [], placement: 0, isSettled: true, copies: 0 };
  return { name, databaseId: idOf(name), group: toGroupId(place + 1), replicas, ...others };
});

interface Listed {
  readonly asked: readonly number[];
  readonly described: readonly string[];
}

async function listed(isSilent: (node: number) => boolean, others: readonly string[] = []): Promise<Listed> {
  const asked: number[] = [];
  const listAt: ListAt = ({ node }) => {
    asked.push(node);
    const names = isSilent(node) ? [] : Object.keys(HELD).filter((name) => HELD[name]?.includes(node));
    return Promise.resolve([...others, ...names].map((name) => description(name, 7)));
  };
  const nameless = { name: '', grpc: '', http: '', zone: '', state: 'active' };
  const nodes = [1, 2, 3, 4, 5].map((node) => ({ node: toNodeId(node), ...nameless }));
  const node = { identity: { node: toNodeId(1) }, catalog: { nodes: () => nodes } };
  const context = { node, listAt } as unknown as ServiceContext;
  const described = await describedElsewhere(context, BINDINGS, { signal });
  return { asked, described: described.map(({ databaseName, revision }) => `${databaseName}${revision}`).toSorted() };
}

function description(databaseName: string, revision: number): DatabaseDescription {
  return { databaseName, databaseId: idOf(databaseName), revision } as DatabaseDescription;
}

it('databases on other nodes are listed by the fewest nodes that have them all', async () => {
  expect(await listed(() => false)).toEqual({ asked: [3, 4], described: ['a7', 'b7', 'c7', 'd7'] });
});

it('databases on other nodes are listed by further nodes when a node does not answer', async () => {
  expect(await listed((node) => node === 3)).toEqual({ asked: [3, 4, 2, 5], described: ['a7', 'b7', 'c7', 'd7'] });
});

it('databases on other nodes are listed without a revision when none of their nodes answers', async () => {
  const { described } = await listed((node) => node === 3 || node === 5);
  expect(described).toEqual(['a7', 'b7', 'c7', 'dundefined']);
});
