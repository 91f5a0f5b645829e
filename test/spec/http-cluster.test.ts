// The cluster page shows nodes, leaders and lag, and only to admins of all databases.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { AS_FIRST, issueKey, startGuardedNode } from '../support/guarded-node.ts';
import { errorOf, HttpClient, jsonOf } from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { readToonPage } from '../support/toon-pages.ts';
import { startTwoNodes } from '../support/two-nodes.ts';

const { version: RELEASE } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
const PATH = '/health/detailed?cluster=true';

describe('SPEC-HTTP-CLUSTER: two nodes', async () => {
  const { holder, other } = await startTwoNodes('shop');
  const apis = [holder, other].map(({ http }) => new HttpClient(http));

  it('show nodes, leaders and lag, on each node', async () => {
    for (const api of apis) {
      const cluster = await eventually(async () => {
        const said = jsonOf(await api.get(PATH)) as { readonly databases: readonly object[] };
        expect(said.databases[0]).toHaveProperty('leader');
        return said;
      });
      expect(cluster).toMatchObject({
        confirmed: true,
        catalog_leader: expect.any(Number),
        nodes: [
          { node: 1, name: 'one', state: 'active', answers: true, http: expect.stringMatching(/^http:/) },
          { node: 2, name: 'two', state: 'active', answers: true, lag: 0, release: RELEASE },
        ],
        database_count: 1,
        databases: [{ name: 'shop', leader: expect.any(Number), lag: 0, state: 'settled' }],
        status: 'ok',
      });
    }
  });

  it('are shown as a page, and as text', async () => {
    const [api] = apis;
    const page = await api?.get(PATH, { accept: 'text/html' });
    expect(page?.text).toContain('<a href="/db/shop/latest">');
    const told = [page?.headers.get('cache-control'), page?.headers.get('vary')?.includes('accept')];
    expect(told).toEqual(['no-store', true]);
    const text = readToonPage((await api?.get(PATH, { accept: 'text/plain' }))?.text ?? '');
    expect(text.summary).toMatch(/^The cluster has 2 nodes, of which 0 do not answer, and 1 database, /);
    expect(text.links).toEqual({ node: 'GET /health/detailed', databases: 'GET /' });
  });
});

describe('SPEC-HTTP-CLUSTER', async () => {
  const { api: alone } = await startHttpNode();
  const { api: guarded } = await startGuardedNode('--peer-port=0');

  it('is absent on a node without a peer port', async () => {
    const answer = await alone.get(PATH);
    expect([answer.status, errorOf(answer).message]).toEqual([404, expect.stringContaining('no peer port')]);
    expect((await alone.get('/health/detailed?cluster=maybe')).status).toBe(400);
    expect(jsonOf(await alone.get('/health/detailed?cluster=false'))).not.toHaveProperty('nodes');
  });

  it('is shown only to admins of all databases', async () => {
    await guarded.post('/api/v1/db', { database_name: 'secret' }, AS_FIRST);
    expect(jsonOf(await guarded.get(PATH, AS_FIRST))).toMatchObject({ databases: [{ name: 'secret' }] });
    for (const roles of [['reader'], ['writer', 'deployer'], ['admin:secret']]) {
      const { headers } = await issueKey(guarded, ...roles);
      for (const accept of ['application/json', 'text/html', 'text/plain']) {
        const refused = await guarded.get(PATH, { ...headers, accept });
        expect([roles, refused.status, /secret|127\.0\.0\.1/.test(refused.text)]).toEqual([roles, 403, false]);
      }
      const health = await guarded.get('/health/detailed', headers);
      expect([health.status, health.text.includes('secret')]).toEqual([200, false]);
    }
    expect((await guarded.get(PATH)).status).toBe(401);
  });
});
