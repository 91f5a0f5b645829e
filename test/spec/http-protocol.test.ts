// Rules for every HTTP reply: CORS, health, scope headers, minimum revision, HTTP/1.0.
import { describe, expect, it } from 'vitest';
import { settle } from '../support/cluster/core-world.ts';
import { cloudEvent, jsonOf, uniqueName } from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { startHttpWorld } from '../support/http-world.ts';
import { exchange, parseReplies } from '../support/raw-http.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api } = await sharedHttpNode();
const { api: listing } = await startHttpNode('--cors-origins=https://ui.example,https://shop.example:8443');

describe('SPEC-HTTP-CORS', () => {
  it.each([
    ['GET', '/health'],
    ['GET', '/nothing'],
    ['OPTIONS', '/db/shop/1/events'],
    ['OPTIONS', '/nothing'],
  ])('headers are on the reply to %s %s', async (method, path) => {
    const { headers } = await api.send(path, { method, headers: { origin: 'https://ui.example' } });
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, DELETE, OPTIONS');
    expect(headers.get('access-control-allow-headers')).toMatch(/^Content-Type, X-API-Key, /);
    expect(headers.get('access-control-expose-headers')).toContain('x-revision');
  });

  it('a preflight of a route answers 204 with its methods', async () => {
    const answer = await api.send('/api/v1/db/shop', {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': 'POST' },
    });
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(answer.headers.get('allow')).toBe('DELETE, OPTIONS, POST');
  });
});

it.each([
  ['another origin', { origin: 'https://other.example' }],
  ['another port of it', { origin: 'https://ui.example:8443' }],
  ['no origin', {}],
])(
  'SPEC-HTTP-CORS of a node with a list of origins allows nothing to %s, and its replies vary on Origin',
  async (_who, sent: Record<string, string>) => {
    const { headers: named } = await listing.get('/nothing', { origin: 'https://ui.example' });
    expect(named.get('access-control-allow-origin')).toBe('https://ui.example');
    expect(named.get('vary')?.split(', ')[0]).toBe('Origin');
    for (const path of ['/databases', '/health', '/nothing']) {
      const { headers } = await listing.get(path, sent);
      expect(headers.has('access-control-allow-origin')).toBe(false);
      expect(headers.get('vary')?.split(', ')[0]).toBe('Origin');
    }
  },
);

describe('SPEC-HTTP-HEALTH', () => {
  it('/health answers 200 with the text OK', async () => {
    const answer = await api.get('/health');
    expect(answer).toMatchObject({ status: 200, text: 'OK' });
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
  });

  it('/health/detailed describes the node', async () => {
    expect(jsonOf(await api.get('/health/detailed'))).toEqual({
      status: 'ok',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      storage: { adapter: 'leveldb', status: 'open' },
      uptime_seconds: expect.any(Number),
      authentication: 'off',
    });
  });

  it('/health/detailed reports a node with a full disk as degraded, and /health does not', async () => {
    await using world = await startHttpWorld();
    world.core.disk = 'refusing-writes';
    await settle();
    const wanted = { status: 'degraded', storage: { adapter: 'leveldb', status: 'refusing-writes' } };
    expect(jsonOf(await world.client.get('/health/detailed'))).toMatchObject(wanted);
    expect(await world.client.get('/health')).toMatchObject({ status: 200, text: 'OK' });
  });
});

it('SPEC-HTTP-SCOPE: x-database-id and x-revision are on every reply that was read from a database, also on refusals and redirects (TH4)', async () => {
  const name = uniqueName();
  const databaseId = await api.create(name);
  const transaction_id = '0b5c1f0e-3a44-4d1c-9a55-0d9be1f2a001';
  const events = [cloudEvent('a', { subject: 's' })];
  await api.post(`/api/v1/db/${name}`, { transaction_id, events });
  const reads = ['', '/events', '/events/1', '/events/orders/a', '/streams', '/streams/orders', '/subjects'];
  const more = ['/subjects/s', '/event-types', '/event-types/order.placed'];
  const answers = [
    ...(await Promise.all([...reads, ...more].map((below) => api.get(`/db/${name}/1${below}`)))),
    await api.get(`/db/${name}/latest`),
    await api.get(`/databases/${name}`),
    await api.get(`/databases/${name}/events`),
    await api.get(`/databases/${name}/events/1`),
    await api.get(`/api/v1/db/${name}/transaction/${transaction_id}`),
    await api.post(`/databases/${name}/query`, {}),
    await api.post(`/databases/${name}/events`, { transaction_id, events }),
    await api.post(`/databases/${name}/events`, { events, constraints: [{ min_revision: { revision: 9 } }] }),
  ];
  const scopes = answers.map(({ headers }) => [headers.get('x-database-id'), headers.get('x-revision')]);
  expect(scopes).toEqual(answers.map(() => [databaseId, '1']));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 307, 409]));
});

describe('SPEC-HTTP-MIN-REVISION: x-min-revision', () => {
  it('is met by a node that has the revision', async () => {
    const name = await api.created();
    await api.commit(name, cloudEvent('a'));
    for (const path of [`/databases/${name}`, `/db/${name}/cached`, `/db/${name}/0/events`, `/db/${name}/0/streams`]) {
      const { status } = await api.get(path, { 'x-min-revision': '1' });
      expect(status).toBe(path.endsWith('cached') ? 307 : 200);
    }
  });

  it('waits for a revision that arrives later', async () => {
    const name = await api.created();
    let revision = 0;
    // A node waits for 250 ms, in which a busy machine may not commit.
    const waits = async (): Promise<boolean> => {
      revision += 1;
      const waiting = api.get(`/db/${name}/cached`, { 'x-min-revision': String(revision) });
      await api.commit(name, cloudEvent(`a-${revision}`));
      return (await waiting).headers.get('location') === `/db/${name}/${revision}`;
    };
    await expect.poll(waits).toBe(true);
  });
});

it('SPEC-HTTP-VERSION-1: HTTP/1.0 gets whole bodies with their length, and the connection ends', async () => {
  const name = await api.created();
  const [reply] = parseReplies(await exchange(api.address, `GET /databases/${name} HTTP/1.0\r\n\r\n`));
  expect(reply?.status).toBe(200);
  expect(reply?.headers.get('content-length')).toBe(String(reply?.body.length));
  expect(reply?.headers.has('transfer-encoding')).toBe(false);
  expect(JSON.parse(reply?.body ?? '')).toMatchObject({ name });
});

it('SPEC-HTTP-JSON: answers end with a line break, short and long ones and errors', async () => {
  const name = await api.created();
  const long = Array.from({ length: 100 }, (_, at) => cloudEvent(`${at}`, { data: 'x'.repeat(1_000) }));
  const committed = await api.post(`/api/v1/db/${name}`, { events: long });
  for (const path of ['/', `/databases/${name}`, `/db/${name}/1/events`, `/db/${name}/9`, '/absent']) {
    const { text } = await api.get(path);
    expect([path, text.slice(-2)]).toEqual([path, '}\n']);
  }
  expect(committed.text).toMatch(/\}\n$/);
});
