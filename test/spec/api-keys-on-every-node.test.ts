// Goal: an API key counts on every node as soon as it is issued, and on none when it is revoked; requests that a node
// passes on, and lists that it asks others for, are made on behalf of who asks; keys outlive a restart.
// Method: two real nodes with authentication, of which one holds no copy of the database; one node started twice.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { AS_FIRST, FIRST_KEY } from '../support/guarded-node.ts';
import { HttpClient, jsonOf } from '../support/http-client.ts';
import { startServerIn } from '../support/server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { startGuardedTwoNodes } from '../support/two-nodes.ts';

const KEYS = '/api/v1/auth/keys';
const dir = tempDir();
afterAll(() => dir[Symbol.dispose]());
const file = join(dir.path, 'first-key');
writeFileSync(file, FIRST_KEY);
const SETTINGS = ['--auth=on', `--auth-bootstrap-key-file=${file}`];

interface Issued {
  readonly key: string;
  readonly id: string;
}

async function issue(api: HttpClient, roles: readonly string[]): Promise<Issued & { headers: Record<string, string> }> {
  const issued = jsonOf(await api.post(KEYS, { name: 'x', roles }, AS_FIRST)) as Issued;
  return { ...issued, headers: { 'x-api-key': issued.key } };
}

describe('SPEC-AUTH-KEYS on two nodes', async () => {
  const { holder, other } = await startGuardedTwoNodes('shop', AS_FIRST, ...SETTINGS);
  const [there, here] = [new HttpClient(holder.http), new HttpClient(other.http)];

  it('a key that one node has issued counts at once on the other, over HTTP and gRPC', async () => {
    for (const [by, at] of [
      [there, other],
      [here, holder],
    ] as const) {
      const { headers } = await issue(by, ['reader:shop']);
      expect((await new HttpClient(at.http).get('/databases/shop', headers)).status).toBe(200);
      const { databases } = await at.client.send('fetchCatalog', {}, { metadata: headers });
      expect(databases.map(({ name }) => name)).toEqual(['shop']);
    }
  });

  it('a node without a copy passes on who asks, and refuses by itself what he may not', async () => {
    const { headers } = await issue(there, ['reader:shop']);
    const event = { id: 'a', source: '/s/orders', specversion: '1.0', type: 'placed' };
    expect((await here.post('/databases/shop/events', { events: [event] }, headers)).status).toBe(403);
    const writer = await issue(here, ['writer:shop']);
    expect((await here.post('/databases/shop/events', { events: [event] }, writer.headers)).status).toBe(200);
    const list = await here.get('/databases', headers);
    expect(jsonOf(list)).toMatchObject({ databases: [{ name: 'shop', latest_revision: 1 }] });
    const stranger = await issue(here, ['reader:bank']);
    expect(jsonOf(await here.get('/databases', stranger.headers))).toEqual({ databases: [] });
  });

  it('a key that is revoked on one node is refused on the other', async () => {
    const { id, headers } = await issue(there, ['reader']);
    expect((await here.get('/databases', headers)).status).toBe(200);
    const revoked = await here.send(`${KEYS}/${id}`, { method: 'DELETE', headers: AS_FIRST });
    expect(revoked.status).toBe(204);
    expect((await here.get('/databases', headers)).status).toBe(401);
    // What another node has decided is here with the next confirmed read of the catalog.
    await there.get(KEYS, AS_FIRST);
    expect((await there.get('/databases', headers)).status).toBe(401);
  });
});

it('SPEC-AUTH-KEYS: a key is there when its node is started again, and one that was revoked is not', async () => {
  const data = tempDir();
  const [kept, revoked] = await (async () => {
    await using server = await startServerIn(data.path, ...SETTINGS);
    const api = new HttpClient(server.http);
    const issued = [await issue(api, ['reader']), await issue(api, ['reader'])] as const;
    await api.send(`${KEYS}/${issued[1].id}`, { method: 'DELETE', headers: AS_FIRST });
    return issued;
  })();
  {
    await using server = await startServerIn(data.path, ...SETTINGS);
    const api = new HttpClient(server.http);
    expect((await api.get('/databases', kept.headers)).status).toBe(200);
    expect((await api.get('/databases', revoked.headers)).status).toBe(401);
  }
  data[Symbol.dispose]();
});
