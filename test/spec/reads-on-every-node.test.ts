// Goal: a read that finds a row missing fails alone, and with the same error, whichever node of the cluster is asked:
// one that leads the database, one that follows, or one without a replica. What reads give is compared at each of these
// by the reference model. Method: three nodes, two replicas; rows are removed from the stores of the running nodes.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toGroupId } from '#base';
import { RowKeys } from '#database';
import { openLevelStore } from '#storage';
import { EventQuery } from '../../proto/gen/cairn/v1/event.ts';
import { eventually } from '../support/eventually.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { HttpClient, jsonOf } from '../support/http-client.ts';
import { startNodes } from '../support/server-cluster.ts';

const nodes = await startNodes(['--copies=2']);

it('a read that finds a row missing is an internal error of that request at every node, and no damage', async () => {
  const [{ client: first }] = nodes;
  await first.send('createDatabase', { databaseName: 'holed' });
  await first.send('transact', transaction('holed', [event({ id: '1' })]));
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

async function removePages(dataDir: string): Promise<void> {
  const store = await openLevelStore(join(dataDir, 'store'));
  for (const group of [1, 2, 3]) {
    const { gte, lt } = new RowKeys(toGroupId(group)).pages(1, 100);
    await store.clear(gte, lt);
  }
  await store.close();
}
