// Goal: whatever is asked over HTTP of a node that holds no copy is answered as by the one that does, byte for byte
// (TM5), and once (TM6). Method: two real nodes in this process; every route asked of both, over plain sockets.
import { type IncomingMessage, request as send } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { ROUTES } from '../../../src/transport/http/routes.ts';
import { RELAYED } from '../../../src/transport/relay.ts';
import { hashingView } from '../../support/components/views.ts';
import { eventually } from '../../support/eventually.ts';
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
    const events = Array.from({ length: 3 }, (_, k) =>
      cloudEvent(`e-${n}-${k}`, {
        subject: `s-${k}`,
        time: '2020-01-01T00:00:00Z',
        data: { text: 'é'.repeat(10_000) },
      }),
    );
    const answer = await api.post(`/databases/${DATABASE}/events`, { transaction_id: transactionId, events });
    if (answer.status !== 200) throw new Error(answer.text);
  }
  const { status, body } = await told(nodes.other.http, PUBLISHING);
  if (status !== 201) throw new Error(body);
}, 60_000);

interface Ask {
  readonly route: string;
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
const get = (route: string, path: string, headers: Record<string, string> = {}): Ask => ({
  route: `GET ${route}`,
  method: 'GET',
  path,
  headers,
});
const post = (route: string, path: string, body: unknown, headers: Record<string, string> = {}): Ask => ({
  route: `POST ${route}`,
  method: 'POST',
  path,
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
});

const repeated = { transaction_id: FIRST_ID, events: [event] };
const violated = { events: [event], conditions: [{ kind: 'max_revision', revision: 1 }] };

/** The same each time is the same version. */
const PUBLISHING: Ask = {
  route: 'POST /api/v1/db/{database}/state-views',
  method: 'POST',
  path: '/api/v1/db/shop/state-views',
  headers: { 'content-type': 'multipart/form-data; boundary=b' },
  body: Buffer.concat([
    Buffer.from('--b\r\ncontent-disposition: form-data; name=metadata\r\n\r\n'),
    Buffer.from(
      '{"state_view_name":"v","content_type":"a/b","query_temporality":"revision","events":["order.placed"],',
    ),
    Buffer.from('"content_schema":{"type":"object"}}\r\n'),
    Buffer.from('--b\r\ncontent-disposition: form-data; name=wasm\r\n\r\n'),
    await (await hashingView({ hasBatch: true, hasQuery: false })).bytes(),
    Buffer.from('\r\n--b--\r\n'),
  ]),
};
const elsewhere = (kind: string): Ask => ({
  ...PUBLISHING,
  route: `POST /api/v1/db/{database}/${kind}`,
  path: `/api/v1/db/shop/${kind}`,
});
const command = { method: 'POST', path: '/x', body: {} };

const ASKS: readonly Ask[] = [
  PUBLISHING,
  elsewhere('state-changes'),
  elsewhere('presenters'),
  get('/api/v1/db/{database}/state-changes', '/api/v1/db/shop/state-changes'),
  get('/api/v1/db/{database}/presenters', '/api/v1/db/shop/presenters'),
  get('/api/v1/db/{database}/presenters/{name}/v{version}', '/api/v1/db/shop/presenters/none/v1'),
  get('/db/{database}/state-views/{name}/v{version}', '/db/shop/state-views/v/v1'),
  get('/db/{database}/state-changes/{name}/v{version}', '/db/shop/state-changes/none/v1'),
  get('/db/{database}/presenters/{name}/v{version}', '/db/shop/presenters/none/v1'),
  get('/db/{database}/{revision}/state-views', '/db/shop/4/state-views'),
  get('/db/{database}/{revision}/state-changes', '/db/shop/latest/state-changes'),
  get('/databases/{database}/state-views', '/databases/shop/state-views'),
  get('/databases/{database}/state-changes', '/databases/shop/state-changes'),
  get('/api/v1/db/{database}/state-views/{name}/v{version}/schema', '/api/v1/db/shop/state-views/v/v1/schema'),
  get('/api/v1/db/{database}/{revision}/state-views/{name}/v{version}', '/api/v1/db/shop/4/state-views/v/v1'),
  get('/api/v1/db/{database}/{revision}/state-views/{name}/v{version}', '/api/v1/db/shop/latest/state-views/v/v1'),
  get('/databases/{database}/state-views/{name}', '/databases/shop/state-views/v'),
  get(
    '/api/v1/databases/{database}/state-views/{name}/versions/{version}',
    '/api/v1/databases/shop/state-views/v/versions/1',
  ),
  post(
    '/api/v1/db/{database}/state-views/{name}/expire-snapshots',
    '/api/v1/db/shop/state-views/n/expire-snapshots',
    {},
  ),
  {
    ...get('', '/databases/shop/state-views/n'),
    route: 'DELETE /databases/{database}/state-views/{name}',
    method: 'DELETE',
  },
  post('/api/v1/db/{database}/{revision}/state-changes/{name}/v{version}', '/api/v1/db/shop/4/state-changes/n/v1', {}),
  post(
    '/api/v1/db/{database}/state-changes/{name}/v{version}/execute',
    '/api/v1/db/shop/state-changes/n/v1/execute?dry_run=true',
    command,
  ),
  post(
    '/api/v1/databases/{database}/state-changes/{name}/versions/{version}',
    '/api/v1/databases/shop/state-changes/n/versions/1',
    {},
  ),
  post('/databases/{database}/state-changes/{name}/process', '/databases/shop/state-changes/n/process', {
    command: {},
  }),
  get('/', '/'),
  get('/databases', '/databases'),
  get('/db/{database}/{revision}', '/db/shop/latest', origin),
  get('/db/{database}/{revision}', '/db/shop/cached'),
  get('/db/{database}/{revision}', '/db/shop/2'),
  get('/db/{database}/{revision}', '/db/shop/99'),
  get('/db/{database}/{revision}', '/db/shop/2', { 'x-min-revision': '99' }),
  get('/databases/{database}', '/databases/shop', { origin: 'https://elsewhere.example' }),
  get('/databases/{database}/query-builder', '/databases/shop/query-builder'),
  get('/db/{database}/{revision}/events', '/db/shop/4/events'),
  get('/db/{database}/{revision}/events', '/db/shop/4/events', { ...origin, accept: 'text/plain' }),
  get('/db/{database}/{revision}/events', '/db/shop/4/events', { accept: 'text/plain', 'if-none-match': '*' }),
  get('/db/{database}/{revision}', '/db/shop/99', { accept: 'text/plain' }),
  get('/db/{database}/{revision}/events', `/db/shop/4/events?q=${q({ limit: 2 })}`),
  get('/db/{database}/{revision}/streams/{stream}', '/db/shop/4/streams/orders?limit=1'),
  get('/db/{database}/{revision}/subjects/{subject}', '/db/shop/4/subjects/s-1'),
  get('/db/{database}/{revision}/subjects/{subject}', '/db/shop/4/subjects/none'),
  get('/db/{database}/{revision}/event-types/{event_type}', '/db/shop/4/event-types/order.placed'),
  get('/databases/{database}/events', '/databases/shop/events?limit=2&after=1'),
  get('/databases/{database}/events/{revision}', '/databases/shop/events/3?index=1'),
  get('/db/{database}/{revision}/events/{event_revision}', '/db/shop/4/events/2'),
  get('/db/{database}/{revision}/events/{stream}/{event_id}', '/db/shop/4/events/orders/e-1-1'),
  get('/db/{database}/{revision}/events/{stream}/{event_id}', '/db/shop/4/events/orders/none'),
  get('/db/{database}/{revision}/streams', '/db/shop/latest/streams'),
  get('/db/{database}/{revision}/streams', '/db/shop/4/streams'),
  get('/db/{database}/{revision}/subjects', '/db/shop/4/subjects?limit=1'),
  get('/db/{database}/{revision}/event-types', '/db/shop/4/event-types'),
  get('/api/v1/db/{database}/transaction/{transaction_id}', `/api/v1/db/shop/transaction/${FIRST_ID}`),
  get('/api/v1/db/{database}/transaction/{transaction_id}', `/api/v1/db/shop/transaction/${UNKNOWN_ID}`),
  { ...get('/db/{database}/{revision}', '/db/shop/2'), method: 'HEAD' },
  post('/databases/{database}/query', '/databases/shop/query', { limit: 2 }),
  post('/databases/{database}/query', '/databases/shop/query', { limit: -1 }),
  post('/databases/{database}/events', '/databases/shop/events', repeated),
  post('/databases/{database}/events', '/databases/shop/events', repeated, {
    connection: 'close, x-none',
    'x-none': '1',
  }),
  post('/databases/{database}/events', '/databases/shop/events', violated),
  post('/databases/{database}/events', '/databases/shop/events', { events: [] }),
  post('/api/v1/db/{database}', '/api/v1/db/shop', repeated),
  post('/api/v1/db/{database}/async', '/api/v1/db/shop/async', repeated),
  {
    route: 'DELETE /databases/{database}',
    method: 'DELETE',
    path: '/databases/shop',
    headers: { 'x-min-revision': '99' },
  },
  { route: 'DELETE /api/v1/db/{database}', method: 'DELETE', path: `/api/v1/db/shop?database_id=${UNKNOWN_ID}` },
];

/** All that a client is told, but for when. */
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

describe('a request to a node without a copy (TM5)', () => {
  it.each(ASKS.map((ask, n) => [`${n} ${ask.method} ${ask.path}`, ask] as const))(
    'is answered as by the one that has it: %s',
    async (_what, ask) => {
      expect(await told(nodes.other.http, ask)).toEqual(await told(nodes.holder.http, ask));
    },
  );

  it('is there for every route about a database', () => {
    const asked = new Set(ASKS.map(({ route }) => route));
    const others = ROUTES.map(({ method, path }) => `${method} ${path}`).filter((route) => !asked.has(route));
    // What every node answers by itself: its health, and what the catalog says.
    expect(others.filter((route) => route.includes('{database}'))).toEqual(['POST /api/v1/databases/{database}']);
  });

  it('is passed on once (TM6)', async () => {
    const answer = await new HttpClient(nodes.other.http).get('/databases/shop', { [RELAYED]: 'somebody' });
    expect(answer.status).toBe(503);
    expect(jsonOf(answer)).toMatchObject({ error: { details: { reason: 'NotReplica' } } });
  });

  it('is counted', async () => {
    const series = /^cairn_relayed_requests_total\{protocol="http",result="answered"\} (\d+)$/m;
    await eventually(async () => {
      const [, count] = series.exec(await (await fetch(nodes.other.metrics)).text()) ?? [];
      expect(Number(count)).toBeGreaterThanOrEqual(ASKS.length - 5);
    });
  });
});
