// Goal: commands over HTTP are decided and committed, once under their batch id, by every route that takes one, or
// decided alone. Method: a real node and the example of a bank, published as a user would.

import { beforeAll, describe, expect, it } from 'vitest';
import { sharedServer } from '../support/shared-servers.ts';
import { builtComponent } from '../support/wasm/built.ts';

/** A component of 12 MB is built, published and started, on a machine with other things to do. */
const BUILD_MS = 300_000;
const JSON_TYPE = { 'content-type': 'application/json' };

const server = await sharedServer();

beforeAll(async () => {
  await send('/api/v1/databases/bank');
  const form = new FormData();
  form.append('metadata', JSON.stringify({ state_change_name: 'accounts', state_view_names: ['balances'] }));
  form.append('wasm', new Blob([new Uint8Array(await builtComponent('examples/bank/accounts.ts'))]));
  expect((await fetch(`${server.http}/api/v1/db/bank/state-changes`, { method: 'POST', body: form })).status).toBe(201);
}, BUILD_MS);

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
