// Goal: a node without a replica answers every HTTP route byte for byte like one with a replica (TM5), and relays once
// (TM6). Method: two real nodes and the same requests to both.
import { type IncomingMessage, request as send } from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import { ROUTES } from '../../../src/transport/http/routes.ts';
import { RELAYED, UNTRIED } from '../../../src/transport/relay.ts';
import { hashingView } from '../../support/components/views.ts';
import { cloudEvent, HttpClient, jsonOf, q } from '../../support/http-client.ts';
import { startTwoNodes, type TwoNodes } from '../../support/two-nodes.ts';

const DATABASE = 'shop';
const IDS = Array.from({ length: 4 }, (_, n) => `0193a1b2-c3d4-7e5f-8a9b-10000000000${n}`);
const [FIRST_ID = ''] = IDS;
const UNKNOWN_ID = '0193a1b2-c3d4-7e5f-8a9b-2fffffffffff';

let nodes: TwoNodes;

beforeAll(async () => {
  nodes = await startTwoNodes(DATABASE, '--cors-origins=https://shop.example');
  const api = new HttpClient(nodes.other.http);
  for (const [n, transactionId] of IDS.entries()) {
    const old = { time: '2020-01-01T00:00:00Z', data: { text: 'é'.repeat(10_000) } };
    const events = Array.from({ length: 3 }, (_, k) => cloudEvent(`e-${n}-${k}`, { ...old, subject: `s-${k}` }));
    const answer = await api.post(`/databases/${DATABASE}/events`, { transaction_id: transactionId, events });
    if (answer.status !== 200) throw new Error(answer.text);
  }
  const { status, body } = await told(nodes.other.http, PUBLISHING);
  if (status !== 201) throw new Error(body);
}, 60_000);

interface Ask {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string>;
}

interface Told {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

const event = cloudEvent('again');
const origin = { origin: 'https://shop.example' };
const TEXT = { accept: 'text/plain' };
const get = (path: string, headers: Record<string, string> = {}): Ask => ({ method: 'GET', path, headers });
const post = (path: string, body: unknown, headers: Record<string, string> = {}): Ask => ({
  method: 'POST',
  path,
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
});

const repeated = { transaction_id: FIRST_ID, events: [event] };
const violated = { events: [event], conditions: [{ kind: 'max_revision', revision: 1 }] };

const PUBLISHING: Ask = {
  method: 'POST',
  path: '/api/v1/db/shop/state-views',
  headers: { 'content-type': 'multipart/form-data; boundary=b' },
  body: Buffer.concat([
    Buffer.from('--b\r\ncontent-disposition: form-data; name=metadata\r\n\r\n'),
    Buffer.from('{"state_view_name":"v","content_type":"a/b","query_temporality":"revision",'),
    Buffer.from('"events":["order.placed"],"content_schema":{"type":"object"}}\r\n'),
    Buffer.from('--b\r\ncontent-disposition: form-data; name=wasm\r\n\r\n'),
    await (await hashingView({ hasBatch: true, hasQuery: false })).bytes(),
    Buffer.from('\r\n--b--\r\n'),
  ]),
};

const PLACES: Readonly<Record<string, string>> = {
  database: 'shop',
  revision: '4',
  version: '1',
  stream: 'orders',
  event_id: 'e-1-1',
  event_revision: '2',
  event_type: 'order.placed',
  subject: 's-1',
  transaction_id: FIRST_ID,
};

function askOf({ method, path }: (typeof ROUTES)[number]): Ask {
  const name = method === 'GET' && path.includes('state-views') ? 'v' : 'none';
  const target = path.replaceAll(/\{(\w+)\}/g, (_, place: string) => PLACES[place] ?? name);
  if (method === 'GET') return get(target);
  if (method === 'DELETE') return { method, path: target, headers: { 'x-min-revision': '99' } };
  if (/\{database\}\/(state-views|state-changes|presenters)$/.test(path)) return { ...PUBLISHING, path: target };
  return post(target, path.includes('{name}') ? { command: {} } : { limit: 2, ...repeated });
}

const ASKS: readonly Ask[] = [
  PUBLISHING,
  // Every node answers these from the catalog without a relay.
  ...ROUTES.filter((route) => route.path.includes('{database}') && route.path !== '/api/v1/databases/{database}').map(
    askOf,
  ),
  get('/'),
  get('/databases'),
  ...['/db/shop/latest', '/db/shop/cached', '/db/shop/99', '/db/shop/latest/streams'].map((path) => get(path)),
  get('/db/shop/latest/state-changes'),
  get('/api/v1/db/shop/latest/state-views/v/v1'),
  get('/db/shop/latest', origin),
  get('/databases/shop', { origin: 'https://elsewhere.example' }),
  get('/db/shop/2', { 'x-min-revision': '99' }),
  get('/db/shop/4/events', { ...origin, ...TEXT }),
  get('/db/shop/4/events', { ...TEXT, 'if-none-match': '*' }),
  get('/db/shop/99', TEXT),
  get(`/db/shop/4/events?q=${q({ limit: 2 })}`),
  get('/db/shop/4/streams/orders?limit=1'),
  get('/db/shop/4/subjects/none'),
  get('/databases/shop/events?limit=2&after=1'),
  get('/databases/shop/events/3?index=1'),
  get('/db/shop/4/events/orders/none'),
  get('/db/shop/4/subjects?limit=1'),
  get(`/api/v1/db/shop/transaction/${UNKNOWN_ID}`),
  { ...get('/db/shop/2'), method: 'HEAD' },
  post('/databases/shop/query', { limit: -1 }),
  post('/databases/shop/events', repeated, { connection: 'close, x-none', 'x-none': '1' }),
  post('/databases/shop/events', violated),
  post('/databases/shop/events', { events: [] }),
  post('/api/v1/db/shop/state-changes/n/v1/execute?dry_run=true', { method: 'POST', path: '/x', body: {} }),
  { method: 'DELETE', path: `/api/v1/db/shop?database_id=${UNKNOWN_ID}` },
];

function told(address: string, { method, path, body, headers = {} }: Ask): Promise<Told> {
  return new Promise((resolve, reject) => {
    const outgoing = send(`${address}${path}`, { method, headers, agent: false }, (answer: IncomingMessage) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('error', reject);
      answer.on('end', () => {
        const { date: _date, ...others } = answer.headers;
        resolve({ status: answer.statusCode, headers: others, body: Buffer.concat(pieces).toString() });
      });
    });
    outgoing.on('error', reject).end(body);
  });
}

it('a request to a node without a replica (TM5) is answered like by the node that has one', async () => {
  const answers = async (address: string): Promise<readonly unknown[]> =>
    Promise.all(ASKS.map(async (ask) => ({ ask, told: await told(address, ask) })));
  expect(await answers(nodes.other.http)).toEqual(await answers(nodes.holder.http));
});

it('a request to a node without a replica (TM5) is relayed once (TM6)', async () => {
  const answer = await new HttpClient(nodes.other.http).get('/databases/shop', { [RELAYED]: 'somebody' });
  expect([answer.status, answer.headers.get(UNTRIED)]).toEqual([503, 'true']);
  expect(jsonOf(answer)).toMatchObject({ error: { details: { reason: 'NotReplica' } } });
});
