// The leader, a follower and a node without a replica give the same answers to reads (R1 to R3). A missing row fails
// only the read that needs it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toGroupId } from '#base';
import { RowKeys } from '#database';
import { openLevelStore } from '#storage';
import { Direction, EventQuery } from '../../proto/gen/cairn/v1/event.ts';
import { eventually } from '../support/eventually.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { HttpClient, jsonOf, q } from '../support/http-client.ts';
import { startNodes } from '../support/server-cluster.ts';

const nodes = await startNodes(['--copies=2']);

it('a missing row is an internal error of the read that needs it at every node, and is not recorded as damage', async () => {
  const [{ client: first }] = nodes;
  await first.send('createDatabase', { databaseName: 'holed' });
  await first.send('transact', transaction('holed', [event({ id: '1' })]));
  for (const { http } of nodes) expect(await new HttpClient(http).get('/db/holed/1')).toMatchObject({ status: 200 });
  for (const { dataDir } of nodes) await removePositions(dataDir);
  for (const { client, http, dataDir, metrics } of nodes) {
    const api = new HttpClient(http);
    const failure = await failureOf(
      client.collect('queryEvents', { databaseName: 'holed', query: EventQuery.fromPartial({}) }),
    );
    expect(failure).toMatchObject({ code: 'INTERNAL' });
    expect(jsonOf(await api.get('/db/holed/1/events'))).toMatchObject({ error: { code: 'INTERNAL' } });
    expect((await api.get('/db/holed/1')).status).toBe(200);
    expect(existsSync(join(dataDir, 'damage'))).toBe(false);
    // The page of metrics is cached for a second.
    await eventually(async () => expect(await (await fetch(metrics)).text()).toMatch(/INTERNAL.* [1-9]/));
  }
});

async function removePositions(dataDir: string): Promise<void> {
  const store = await openLevelStore(join(dataDir, 'store'));
  for (const group of [1, 2, 3]) {
    const { gte, lt } = new RowKeys(toGroupId(group)).positions(1, 100);
    await store.clear(gte, lt);
  }
  await store.close();
}

// These tests run after the test above, which removes the positions of the first groups.
it.each([
  ['from revision 0, after it', { at: 2, range: { start: 0 }, after: { revision: 0, index: 0 } }, ['1.0', '2.0']],
  ['down from beyond the last', { at: 2, range: { end: 3 }, after: { revision: 3, index: 0 } }, ['2.0', '1.0']],
  ['down from beyond the revision read', { at: 1, range: { end: 2 }, after: { revision: 2, index: 0 } }, ['1.0']],
] as const)('every node reads %s', async (name, { at, range, after }, wanted) => {
  const databaseName = uniqueName();
  const isReverse = name.startsWith('down');
  const [{ client: first }] = nodes;
  await first.send('createDatabase', { databaseName });
  for (const id of ['1', '2']) await first.send('transact', transaction(databaseName, [event({ id })]));
  const query = EventQuery.fromPartial({
    revisionRange: range,
    direction: isReverse ? Direction.DIRECTION_REVERSE : Direction.DIRECTION_FORWARD,
    after,
  });
  const direction = isReverse ? 'reverse' : 'forward';
  const path = `/db/${databaseName}/${at}/events?q=${q({ range: { revision: range }, direction, after })}`;
  for (const { client, http } of nodes) {
    const { messages } = await client.collect('queryEvents', { databaseName, query, atRevision: at });
    expect(placesOf(messages)).toEqual(wanted);
    const answer = jsonOf(await new HttpClient(http).get(path));
    expect(placesOf((answer as { readonly events: readonly Placed[] }).events)).toEqual(wanted);
  }
});

interface Placed {
  readonly revision: number;
  readonly index?: number;
}

function placesOf(events: readonly Placed[]): readonly string[] {
  return events.map(({ revision, index = 0 }) => `${revision}.${index}`);
}
