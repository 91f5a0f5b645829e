// Goal: commands over HTTP are decided and committed, once under their batch id, by every route that takes one, or
// decided alone; and presenters make of a state what is asked for, as pages. Method: a real node and the example of a
// bank, published as a user would.

import { beforeAll, describe, expect, it } from 'vitest';
import { sharedServer } from '../support/shared-servers.ts';
import { builtComponent } from '../support/wasm/built.ts';

/** Three components of 12 MB are built, published and started, on a machine with other things to do. */
const BUILD_MS = 300_000;
const JSON_TYPE = { 'content-type': 'application/json' };
const VIEW = '/api/v1/db/bank/latest/state-views/balances/v1';

const server = await sharedServer();

beforeAll(async () => {
  await send('/api/v1/databases/bank');
  const offers = ['text/csv', 'text/html'];
  await publish('state-changes', { state_change_name: 'accounts', state_view_names: ['balances'] }, 'accounts');
  await publish('presenters', { presenter_name: 'statement', content_types: offers }, 'statement');
  const view = { content_type: 'application/json', query_temporality: 'revision' };
  const byStream = { event_selector: { type: 'by_stream', value: 'accounts' } };
  await publish(
    'state-views',
    { ...view, ...byStream, state_view_name: 'balances', presenter: 'statement' },
    'balances',
  );
}, BUILD_MS);

async function publish(kind: string, metadata: object, module: string): Promise<void> {
  const form = new FormData();
  form.append('metadata', JSON.stringify(metadata));
  form.append('wasm', new Blob([new Uint8Array(await builtComponent(`examples/bank/${module}.ts`))]));
  const { status } = await fetch(`${server.http}/api/v1/db/bank/${kind}`, { method: 'POST', body: form });
  expect([kind, status]).toEqual([kind, 201]);
}

function send(path: string, body?: unknown, headers: Readonly<Record<string, string>> = JSON_TYPE): Promise<Response> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body), headers };
  return fetch(`${server.http}${path}`, { method: 'POST', ...sent });
}

function execute(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  const command = { method: 'POST', path, body };
  return send('/api/v1/db/bank/state-changes/accounts/v1/execute', command, { ...JSON_TYPE, ...headers });
}

async function bodyOf(asked: Promise<Response>): Promise<unknown> {
  const response = await asked;
  return [response.status, await response.json()];
}

async function latest(): Promise<number> {
  const response = await fetch(`${server.http}/databases/bank`);
  return ((await response.json()) as { latest_revision: number }).latest_revision;
}

describe('SPEC-HTTP-R12', () => {
  it('runs the command that the body says, and answers what was committed', async () => {
    const before = await latest();
    const response = await execute('/accounts/a', { owner: 'ann' });
    expect([response.status, response.headers.get('x-revision')]).toEqual([200, String(before + 1)]);
    expect(await response.json()).toMatchObject({
      transaction: { database: 'bank', revision: before + 1, event_count: 1, replayed: false },
      revision: before + 1,
      event_id_mappings: [{ client_event_id: expect.any(String) }],
    });
  });

  it('is decided by what a State View says at that revision', async () => {
    await execute('/accounts/view', { owner: 'vera' });
    await execute('/accounts/view/deposits', { cents: 30 });
    const path = '/api/v1/db/bank/state-changes/accounts/v1/execute';
    const drain = (): Promise<Response> => send(path, { method: 'DELETE', path: '/accounts/view' });
    expect(await bodyOf(drain())).toMatchObject([200, { transaction: { event_count: 1 } }]);
    expect(await bodyOf(drain())).toEqual([200, { revision: await latest() }]);
  });

  it('refuses a command that is compressed, and does not hand it on as it is', async () => {
    const path = '/api/v1/db/bank/latest/state-changes/accounts/v1';
    const refused = send(path, {}, { ...JSON_TYPE, 'content-encoding': 'gzip' });
    expect(await bodyOf(refused)).toMatchObject([400, { error: { details: { field: 'Content-Encoding' } } }]);
  });

  it('is a concurrency conflict when anything was committed since X-Last-Seen-Revision', async () => {
    await execute('/accounts/b', { owner: 'bob' });
    const seen = await latest();
    await execute('/accounts/b/deposits', { cents: 5 });
    const late = execute('/accounts/b/deposits', { cents: 1 }, { 'x-last-seen-revision': String(seen) });
    expect(await bodyOf(late)).toMatchObject([
      409,
      { error: { code: 'FAILED_PRECONDITION', details: { reason: 'ConcurrencyConflict' } } },
    ]);
    const fresh = execute('/accounts/b/deposits', { cents: 1 }, { 'x-last-seen-revision': String(await latest()) });
    expect((await fresh).status).toBe(200);
    const malformed = execute('/accounts/b/deposits', { cents: 1 }, { 'x-last-seen-revision': 'x' });
    expect(await bodyOf(malformed)).toMatchObject([400, { error: { details: { field: 'x-last-seen-revision' } } }]);
  });

  it('refuses in the words of the component', async () => {
    await execute('/accounts/c', { owner: 'cid' });
    expect(await bodyOf(execute('/accounts/c/withdrawals', { cents: 1 }))).toMatchObject([
      400,
      {
        error: {
          code: 'INVALID_ARGUMENT',
          message: 'There is not enough on the account',
          details: { reason: 'overdrawn', details: { balance: 0, asked: 1 } },
        },
      },
    ]);
    expect(await bodyOf(execute('/nothing', {}))).toMatchObject([
      404,
      { error: { details: { reason: 'UnknownCommand' } } },
    ]);
  });

  it('decides alone where that is asked for, also as of an earlier revision', async () => {
    await execute('/accounts/d', { owner: 'dan' });
    const rich = (await (await execute('/accounts/d/deposits', { cents: 7 })).json()) as { revision: number };
    await execute('/accounts/d/withdrawals', { cents: 7 });
    const before = await latest();
    const command = { method: 'POST', path: '/accounts/d/withdrawals', body: { cents: 7 } };
    const path = '/api/v1/db/bank/state-changes/accounts/v1/execute?dry_run=true';
    const then = await bodyOf(send(path, command, { ...JSON_TYPE, 'x-last-seen-revision': String(rich.revision) }));
    expect(then).toMatchObject([
      200,
      { dry_run: true, revision: rich.revision, events: [{ type: 'account.withdrawn', data: { cents: 7 } }] },
    ]);
    expect(await bodyOf(send(path, command))).toMatchObject([
      400,
      { error: { details: { reason: 'overdrawn', details: { balance: 0, asked: 7 } } } },
    ]);
    expect(await latest()).toBe(before);
  });
});

describe('SPEC-HTTP-COMMAND', () => {
  it('is what the body of each route is, and committed once under x-batch-id', async () => {
    const routes = [
      '/api/v1/db/bank/latest/state-changes/accounts/v1',
      '/api/v1/databases/bank/state-changes/accounts/versions/1',
    ];
    for (const route of routes) {
      expect(await bodyOf(send(route, { cents: 1 }))).toMatchObject([
        404,
        { error: { code: 'NOT_FOUND', details: { reason: 'UnknownCommand' } } },
      ]);
    }
    const headers = { 'x-batch-id': '0198c0de-0000-7000-8000-0000000000bb' };
    const first = (await (await execute('/accounts/e', { owner: 'eve' }, headers)).json()) as { revision: number };
    const again = await bodyOf(send(routes[0] ?? '', { any: 'thing' }, { ...JSON_TYPE, ...headers }));
    expect(again).toMatchObject([200, { transaction: { replayed: true }, revision: first.revision }]);
    const missing = await bodyOf(send('/api/v1/db/bank/latest/state-changes/none/v1', {}));
    expect(missing).toMatchObject([404, { error: { details: { reason: 'StateChangeNotFound' } } }]);
  });
});

describe('SPEC-HTTP-COLLECTION-PROCESS', () => {
  it('answers success or failure inside of the body', async () => {
    const path = '/databases/bank/state-changes/accounts/process';
    expect(await bodyOf(send(path, { command: { cents: 1 }, parameters: {} }))).toMatchObject([
      200,
      { success: false, error: { code: 'UnknownCommand', message: expect.any(String) } },
    ]);
    expect(await bodyOf(send(path, { command: {}, other: 1 }))).toMatchObject([
      400,
      { error: { details: { field: 'other' } } },
    ]);
    const listed = await fetch(`${server.http}/databases/bank/state-changes`);
    expect(await listed.json()).toEqual({ state_changes: [{ name: 'accounts', state_view_name: ['balances'] }] });
  });
});

describe('SPEC-HTTP-R10', () => {
  it('negotiates what the presenter offers, and says that it did', async () => {
    await execute('/accounts/f', { owner: 'fay' });
    const get = (accept: string, search = ''): Promise<Response> =>
      fetch(`${server.http}${VIEW}${search}`, { headers: { accept } });
    const csv = await get('text/*');
    expect([csv.status, csv.headers.get('content-type'), csv.headers.get('vary')]).toEqual([200, 'text/csv', 'accept']);
    expect(await csv.text()).toMatch(/^account,owner,cents\n(?:.*\n)*f,fay,0\n/);
    const none = await get('image/png');
    expect([none.status, ((await none.json()) as { error: { details: object } }).error.details]).toMatchObject([
      406,
      { reason: 'NotAcceptable' },
    ]);
    const refused = await get('text/html');
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining('text/html is not made here'),
    ]);
    const tag = csv.headers.get('etag') ?? '';
    const kept = await fetch(csv.url, { headers: { accept: 'text/csv', 'if-none-match': tag } });
    expect(kept.status).toBe(304);
    const any = await fetch(csv.url, { headers: { accept: 'text/csv', 'if-none-match': '*' } });
    expect(any.status).toBe(200);
  });

  it('gives the next page as a link, and the presenter its parameters', async () => {
    const accounts = Array.from({ length: 101 }, (_, n) => `p${n}`);
    const events = accounts.map((subject) => ({
      id: subject,
      specversion: '1.0',
      type: 'account.opened',
      source: 'accounts',
      subject,
      data: { owner: 'x' },
    }));
    await send('/api/v1/db/bank', { events });
    const first = await fetch(`${server.http}${VIEW}`);
    const link = first.headers.get('link') ?? '';
    const next = /^<(.*\?continuation=100)>; rel="next"$/.exec(link)?.[1] ?? '';
    expect((await first.text()).split('\n')).toHaveLength(102);
    const second = await fetch(`${server.http}${next}`);
    expect([second.headers.get('link'), (await second.text()).includes('p100,x,0\n')]).toEqual([null, true]);
    const strange = await fetch(`${server.http}${VIEW}?continuation=x`);
    expect([strange.status, await strange.text()]).toEqual([400, expect.stringContaining('No such page')]);
  });
});

describe('SPEC-HTTP-R11', () => {
  it('sends a body that is soon complete whole, with its length', async () => {
    await execute('/accounts/g', { owner: 'Zoë' });
    const response = await fetch(`${server.http}${VIEW}?continuation=100`);
    const body = Buffer.from(await response.arrayBuffer());
    expect(response.headers.get('content-length')).toBe(String(body.length));
    expect(body.toString()).toContain('Zoë');
  });
});
