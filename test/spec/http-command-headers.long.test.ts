// A command over HTTP receives the headers of its request, except credentials and hop-by-hop headers.
import { beforeAll, expect, it } from 'vitest';
import { jsonOf } from '../support/http-client.ts';
import { exchange, parseReplies } from '../support/raw-http.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { BUILD_MS, builtComponent } from '../support/wasm/built.ts';

const ROUTES = [
  '/api/v1/db/shop/latest/state-changes/telling/v1',
  '/api/v1/db/shop/state-changes/telling/v1/execute',
  '/api/v1/databases/shop/state-changes/telling/versions/1',
  '/databases/shop/state-changes/telling/process',
];
const TOLD = {
  accept: 'application/json',
  'user-agent': 'till/2',
  'x-correlation-id': 'c-17',
  'x-forwarded-user': 'ann',
  'x-till': 'Käse, 3',
};
const OF_THE_BODY = { 'content-type': 'application/json' };
const KEPT = {
  authorization: 'Bearer secret',
  'client-cert': ':secret:',
  connection: 'close, x-of-this-hop',
  cookie: 'session=secret',
  'x-api-key': 'secret',
  'x-cairn-counted': 'secret',
  'x-cairn-relayed': 'node-9',
  'x-forwarded-client-cert': 'secret',
  'x-ms-token-aad-id-token': 'secret',
  'x-forwarded-access-token': 'secret',
  'x-min-revision': '0',
  'x-of-this-hop': 'secret',
};
const NAMES = [...Object.keys(TOLD), ...Object.keys(KEPT), 'content-length', 'content-type', 'host', 'x-batch-id'];

const { api } = await sharedHttpNode();
let batch = 0;

beforeAll(async () => {
  await api.create('shop');
  const telling = await builtComponent('test/support/components/telling-change.ts');
  await api.publish('shop/state-changes', { state_change_name: 'telling' }, telling);
}, BUILD_MS);

function bodyFor(route: string): string {
  if (route.endsWith('/execute')) return JSON.stringify({ method: 'POST', path: '/', body: NAMES });
  return JSON.stringify(route.endsWith('/process') ? { command: NAMES } : NAMES);
}

async function sent(route: string, headers: object): Promise<readonly [status: number, body: string]> {
  const body = bodyFor(route);
  const own = { host: 'localhost', 'content-type': 'application/json', 'content-length': body.length };
  const lines = Object.entries({ ...own, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const [reply] = parseReplies(
    await exchange(api.address, Buffer.from(`POST ${route} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)),
  );
  return [reply?.status ?? 0, reply?.body ?? ''];
}

async function told(route: string, headers: object): Promise<unknown> {
  const batchId = `0198c0de-0000-7000-8000-${String(++batch).padStart(12, '0')}`;
  const [status, text] = await sent(route, { ...headers, 'x-batch-id': batchId });
  expect([route, status, text]).toEqual([route, 200, expect.any(String)]);
  const { revision } = JSON.parse(text) as { revision: number };
  const answer = await api.get(`/db/shop/${revision}/events?limit=1000`);
  const { events } = jsonOf(answer) as { events: readonly { data: { told: readonly [string, string][] } }[] };
  return Object.fromEntries(events.at(-1)?.data.told ?? []);
}

it.each(ROUTES)(
  'SPEC-HTTP-COMMAND passes the allowed headers of a request by %s, and no others',
  { timeout: 60_000 },
  async (route) => {
    expect(await told(route, { connection: 'close' })).toEqual(OF_THE_BODY);
    expect(await told(route, { ...TOLD, ...KEPT })).toEqual({ ...OF_THE_BODY, ...TOLD });
  },
);
