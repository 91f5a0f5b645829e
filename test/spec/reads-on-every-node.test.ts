// Goal: a read gives the same, whichever node of the cluster is asked: one that leads the database, one that follows,
// or one without a replica; and a read that finds a row missing fails alone. Method: three nodes, two
// replicas; a table of bounds over gRPC and HTTP; then rows are removed from the stores of the running nodes.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { toGroupId } from '#base';
import { RowKeys } from '#database';
import { openLevelStore } from '#storage';
import { Direction, EventQuery } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
import { eventually } from '../support/eventually.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { HttpClient, jsonOf, q } from '../support/http-client.ts';
import { startServerFor, type TestServer } from '../support/server.ts';
import { untilAllAreVoters } from '../support/server-cluster.ts';
import { tempDir } from '../support/temp-dir.ts';
import { endWithFile } from '../support/test-scope.ts';
import { holds } from '../support/two-nodes.ts';

const NODES = ['leader or follower', 'follower or leader', 'without a replica'] as const;
/** The last is the one without a replica. */
let nodes: readonly TestServer[] = [];

beforeAll(async () => {
  const one = await started('--node-name=one');
  const others = await Promise.all(
    ['two', 'three'].map((name) => started(`--node-name=${name}`, `--join=${one.peer}`)),
  );
  await untilAllAreVoters(one, 3);
  const all = [one, ...others];
  await one.client.send('createDatabase', { databaseName: 'shop' });
  await one.client.send('transact', transaction('shop', [event({ id: '1' })]));
  await one.client.send('transact', transaction('shop', [event({ id: '2' })]));
  nodes = await eventually(async () => {
    const held = await Promise.all(all.map((node) => holds(node, 'shop', {})));
    if (held.filter(Boolean).length !== 2) throw new Error('It is not known yet which two nodes have a replica');
    return all.toSorted((a, b) => Number(held[all.indexOf(b)]) - Number(held[all.indexOf(a)]));
  });
}, 60_000);

async function started(...settings: readonly string[]): Promise<TestServer> {
  const dir = tempDir();
  const server = await startServerFor(undefined, dir.path, '--peer-port=0', '--copies=2', ...settings);
  endWithFile(async () => {
    await server[Symbol.asyncDispose]();
    dir[Symbol.dispose]();
  });
  return server;
}

const LAST = 2;

interface Asked {
  readonly start?: number;
  readonly end?: number;
  readonly isReverse?: boolean;
  readonly after?: { readonly revision: number; readonly index?: number };
  readonly at?: number;
}

/** Bounds beyond the database, and a position beyond them; the model draws others. */
const CASES: readonly (readonly [string, Asked, readonly string[]])[] = [
  ['from revision 0, after position 0', { start: 0, after: { revision: 0, index: 0 } }, ['1.0', '2.0']],
  ['down from beyond the last', { isReverse: true, end: 3, after: { revision: 3 } }, ['2.0', '1.0']],
  ['down from beyond the revision that is read', { isReverse: true, end: 2, after: { revision: 2 }, at: 1 }, ['1.0']],
  ['after a position beyond the last', { after: { revision: 2 ** 53 - 1 } }, []],
];

type Placed = { readonly revision: number; readonly index?: number };

function places(events: readonly Placed[]): readonly string[] {
  return events.map(({ revision, index = 0 }) => `${revision}.${index}`);
}

async function overGrpc(
  { client }: TestServer,
  { start, end, isReverse, after, at }: Asked,
): Promise<readonly string[]> {
  const query = EventQuery.fromPartial({
    revisionRange: { start, end },
    direction: isReverse === true ? Direction.DIRECTION_REVERSE : Direction.DIRECTION_FORWARD,
    ...(after === undefined ? {} : { after }),
  });
  const { messages } = await client.collect('queryEvents', { databaseName: 'shop', query, atRevision: at });
  return places(messages);
}

/** By the route whose query is in its path, which can name a revision to read at. */
async function overHttp({ http }: TestServer, asked: Asked): Promise<readonly string[]> {
  const { start, end, isReverse, after, at = LAST } = asked;
  const revision = { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) };
  const direction = isReverse === true ? 'reverse' : 'forward';
  const query = { range: { revision }, direction, ...(after === undefined ? {} : { after }) };
  const answer = await new HttpClient(http).get(`/db/shop/${at}/events?q=${q(query)}`);
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return places((jsonOf(answer) as { readonly events: readonly Placed[] }).events);
}

it.each(NODES)('a read gives what its bounds leave at the node %s', async (name) => {
  const node = nodes[NODES.indexOf(name)];
  if (node === undefined) throw new Error(`there is no node ${name}`);
  for (const [what, asked, wanted] of CASES) {
    expect([what, await overGrpc(node, asked), await overHttp(node, asked)]).toEqual([what, wanted, wanted]);
  }
});

describe('a read that finds a row missing', () => {
  it('is an internal error of that request at every node, and no damage', async () => {
    const [first] = nodes;
    await first?.client.send('createDatabase', { databaseName: 'holed' });
    await first?.client.send('transact', transaction('holed', [event({ id: '1' })]));
    for (const { http } of nodes) expect((await new HttpClient(http).get('/db/holed/1')).status).toBe(200);
    for (const { dataDir } of nodes) await removePages(dataDir);
    for (const { client, http, dataDir, metrics } of nodes) {
      const api = new HttpClient(http);
      const failure = await failureOf(
        client.collect('queryEvents', { databaseName: 'holed', query: EventQuery.fromPartial({}) }),
      );
      expect(failure).toMatchObject({ code: 'INTERNAL' });
      expect(jsonOf(await api.get('/db/holed/1/events'))).toMatchObject({ error: { code: 'INTERNAL' } });
      expect((await api.get('/db/holed/1')).status).toBe(200);
      expect(existsSync(join(dataDir, 'damage'))).toBe(false);
      // The page is kept for a second.
      await eventually(async () => expect(await (await fetch(metrics)).text()).toMatch(/INTERNAL.* [1-9]/));
    }
  });
});

async function removePages(dataDir: string): Promise<void> {
  const store = await openLevelStore(join(dataDir, 'store'));
  for (const group of [1, 2, 3]) {
    const { gte, lt } = new RowKeys(toGroupId(group)).pages(1, 100);
    await store.clear(gte, lt);
  }
  await store.close();
}
