// Commands of the bank example run over gRPC and every route of HTTP. Each test uses its own account.
import { beforeAll, describe, expect, it } from 'vitest';
import {
  DecideStateChangeRequest,
  type ExecuteStateChangeReply,
  ExecuteStateChangeRequest,
  ProcessStateChangeRequest,
  PublishStateChangeRequest,
  PublishStateViewRequest,
} from '../../proto/gen/cairn/v1/component.ts';
import { changeText, NO_EVENT } from '../support/components/change-text.ts';
import { hashingView } from '../support/components/views.ts';
import { failureOf, type GrpcFailure, outcomeOf, type Reply } from '../support/grpc-client.ts';
import { type Answer, errorOf, FAILED_PRECONDITION, INVALID_ARGUMENT, jsonOf } from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { BUILD_MS, builtComponent } from '../support/wasm/built.ts';
import { wat } from '../support/wasm/wat.ts';

const SLOW = { deadlineMs: 60_000 };
const databaseName = 'bank';
const stateChangeName = 'accounts';

const { server, api } = await sharedHttpNode();

beforeAll(async () => {
  const { client } = server;
  await client.send('createDatabase', { databaseName });
  const change = Buffer.from(await builtComponent('examples/bank/accounts.ts'));
  const view = { databaseName, stateViewName: 'balances', contentType: 'text/plain', eventTypes: ['any'] };
  const shown = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: true })).bytes());
  await client.send('publishStateView', PublishStateViewRequest.fromPartial({ ...view, wasmBytes: shown }), SLOW);
  const nothing = Buffer.from(await wat(changeText(NO_EVENT)));
  const refusing = Buffer.from(await builtComponent('test/support/components/refusing-change.ts'));
  for (const [name, wasmBytes] of [
    [stateChangeName, change],
    ['nothing', nothing],
    ['refusing', refusing],
  ] as const) {
    const published = { databaseName, stateChangeName: name, stateViewNames: ['balances'], wasmBytes };
    await client.send('publishStateChange', PublishStateChangeRequest.fromPartial(published), SLOW);
  }
}, BUILD_MS);

type Command = Parameters<typeof ExecuteStateChangeRequest.fromPartial>[0] & {
  readonly body?: object;
  readonly path: string;
  readonly method?: string;
  readonly batchId?: string;
};

function execute({ path, method = 'POST', body, batchId, ...rest }: Command): Promise<Reply<ExecuteStateChangeReply>> {
  const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const request = { method, path, body: sent, headers: [{ name: 'content-type', value: 'application/json' }] };
  const parts = { databaseName, stateChangeName, version: 1, request, ...rest };
  const message = ExecuteStateChangeRequest.fromPartial(parts);
  const metadata = batchId === undefined ? {} : { 'x-batch-id': batchId };
  return server.client.call('executeStateChange', message, { ...SLOW, metadata });
}

async function revisionOf(command: Command): Promise<number> {
  return (await execute(command)).message.transaction?.revision ?? 0;
}

async function reasonOf(command: Command): Promise<readonly unknown[]> {
  const { code, info, message }: GrpcFailure = await failureOf(execute(command));
  return [code, info?.metadata['reason'], message, info?.metadata['details']];
}

async function latest(): Promise<number> {
  return (await server.client.send('fetchLatestDatabase', { databaseName })).database?.revision ?? 0;
}

async function opened(account: string, cents: number = 0): Promise<number> {
  const revision = await revisionOf({ path: `/accounts/${account}`, body: { owner: 'ann' } });
  if (cents === 0) return revision;
  return revisionOf({ path: `/accounts/${account}/deposits`, body: { cents } });
}

describe('SPEC-GRPC-EXECUTE-STATE-CHANGE', () => {
  it('commits what the State Change decides, and gives the record of the transaction', async () => {
    const before = await latest();
    const { message, headers, trailers } = await execute({ path: '/accounts/a', body: { owner: 'ann' } });
    expect(message.transaction).toMatchObject({ revision: before + 1, eventCount: 1, basis: before, replayed: false });
    expect(headers).toMatchObject({ 'x-revision': `${before + 1}`, 'x-database-id': expect.any(String) });
    expect(trailers).toMatchObject({ 'x-leader-node': expect.any(String) });
    const { transactionId } = message.transaction ?? { transactionId: '' };
    const { transaction: record } = await server.client.send('fetchTransaction', { databaseName, transactionId });
    expect(record?.body).toMatchObject({ origin: 4, events: [{ ty: 'account.opened', subject: 'a' }] });
  });

  it('refuses with the message of the component', async () => {
    await opened('b', 100);
    expect(await reasonOf({ path: '/accounts/b/withdrawals', body: { cents: 101 } })).toEqual([
      'INVALID_ARGUMENT',
      'overdrawn',
      'There is not enough on the account',
      '{"balance":100,"asked":101}',
    ]);
    const told = (await reasonOf({ path: '/accounts/none/deposits', body: { cents: 1 } })).slice(0, 2);
    expect(told).toEqual(['NOT_FOUND', 'StateNotFound']);
    expect((await reasonOf({ path: '/nothing', body: {} })).slice(0, 2)).toEqual(['NOT_FOUND', 'UnknownCommand']);
    const answered = (await reasonOf({ path: '/accounts/b/deposits', body: { cents: -1 } })).slice(0, 2);
    expect(answered).toEqual(['INVALID_ARGUMENT', 'InvalidInput']);
  });

  it('commits once under a batch id, and answers any repeat with the recorded result', async () => {
    const batchId = '0198c0de-0000-7000-8000-0000000000aa';
    const first = await execute({ path: '/accounts/c', body: { owner: 'ann' }, batchId });
    const again = await execute({ path: '/nothing', batchId, version: 9 });
    expect(again.message.transaction).toEqual({ ...first.message.transaction, replayed: true });
    const { code, fields } = await failureOf(execute({ path: '/accounts/c2', body: { owner: 'x' }, batchId: 'no' }));
    expect([code, fields]).toEqual(['INVALID_ARGUMENT', ['x-batch-id']]);
  });

  it('is a concurrency conflict when another transaction was committed since the last seen revision', async () => {
    const lastSeenRevision = await opened('d', 5);
    await opened('e');
    const command = { path: '/accounts/d/deposits', body: { cents: 1 }, lastSeenRevision };
    expect((await reasonOf(command)).slice(0, 2)).toEqual(['FAILED_PRECONDITION', 'ConcurrencyConflict']);
    const fresh = { ...command, lastSeenRevision: await latest() };
    expect(await revisionOf(fresh)).toBe(fresh.lastSeenRevision + 1);
    const beyond = await reasonOf({ ...command, lastSeenRevision: 1_000_000 });
    expect(beyond.slice(0, 2)).toEqual(['NOT_FOUND', 'RevisionNotFound']);
  });

  it('commits nothing when nothing is decided', async () => {
    const before = await latest();
    const { message, headers } = await execute({ stateChangeName: 'nothing', path: '/' });
    expect([message.transaction, headers['x-revision'], await latest()]).toEqual([undefined, `${before}`, before]);
  });

  it('is not found under another name or version, and reports every fault of a command', async () => {
    const command = { path: '/accounts/h', body: { owner: 'ann' } };
    for (const other of [{ stateChangeName: 'other' }, { version: 2 }, { version: 0 }]) {
      expect((await reasonOf({ ...command, ...other })).slice(0, 2)).toEqual(['NOT_FOUND', 'StateChangeNotFound']);
    }
    const { code, fields } = await failureOf(execute({ path: 'no path', method: '1' }));
    expect([code, fields]).toEqual(['INVALID_ARGUMENT', ['request.method', 'request.path']]);
  });
});

it('SPEC-GRPC-PROCESS-STATE-CHANGE: answers a failure of the command inside of the reply', async () => {
  const command = { contentType: 'application/json', bytes: Buffer.from('{}') };
  const request = ProcessStateChangeRequest.fromPartial({ databaseName, stateChangeName, command });
  const { result } = await server.client.send('processStateChange', request, SLOW);
  expect(result).toMatchObject({ $case: 'error', value: { code: 'UnknownCommand', message: expect.any(String) } });
  const missing = { ...request, stateChangeName: 'none' };
  expect(await outcomeOf(server.client.send('processStateChange', missing))).toBe('NOT_FOUND StateChangeNotFound');
});

describe('SPEC-GRPC-DECIDE-STATE-CHANGE', () => {
  function decide(path: string, body: object, revision?: number): ReturnType<typeof send> {
    const request = { method: 'POST', path, body: Buffer.from(JSON.stringify(body)) };
    return send(DecideStateChangeRequest.fromPartial({ databaseName, stateChangeName, request, revision }));
  }

  function send(request: DecideStateChangeRequest): ReturnType<typeof server.client.send<'decideStateChange'>> {
    return server.client.send('decideStateChange', request, SLOW);
  }

  it('gives the events that a command would emit at a revision, with their conditions, and commits nothing', async () => {
    const before = await latest();
    const rich = await opened('i', 10);
    const path = '/accounts/i/withdrawals';
    await execute({ path, body: { cents: 10 } });
    const now = await latest();
    const then = await decide(path, { cents: 10 }, rich);
    expect(then).toMatchObject({
      result: {
        $case: 'decision',
        value: {
          events: [{ ty: 'account.withdrawn', subject: 'i', revision: rich + 1, index: 0 }],
          constraints: [{ kind: { $case: 'maxRevision' } }],
        },
      },
      revision: rich,
    });
    const later = await decide(path, { cents: 10 });
    expect(later).toMatchObject({
      result: { $case: 'error', value: { code: 'overdrawn', details: '{"balance":0,"asked":10}' } },
      revision: now,
    });
    expect([await latest(), now > before]).toEqual([now, true]);
  });
});

const EXECUTE = '/api/v1/db/bank/state-changes/accounts/v1/execute';
const LATEST = '/api/v1/db/bank/latest/state-changes/accounts/v1';
const OVERDRAWN = { status: 400, message: 'There is not enough on the account' };
const UNKNOWN = { status: 404, details: { reason: 'UnknownCommand' } };

function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return api.post(EXECUTE, { method: 'POST', path, body }, headers);
}

const revisionIn = async (asked: Promise<Answer>): Promise<number> =>
  (jsonOf(await asked) as { readonly revision: number }).revision;

describe('SPEC-HTTP-R12', () => {
  it('runs the command of the body, and answers with the committed events', async () => {
    const before = await latest();
    const answer = await post('/accounts/http-a', { owner: 'ann' });
    expect([answer.status, answer.headers.get('x-revision')]).toEqual([200, String(before + 1)]);
    expect(jsonOf(answer)).toMatchObject({
      transaction: { database: 'bank', revision: before + 1, event_count: 1, replayed: false },
      revision: before + 1,
      event_id_mappings: [{ client_event_id: expect.any(String) }],
    });
  });

  it('refuses a compressed command instead of passing it to the component', async () => {
    const refused = errorOf(await api.post(LATEST, {}, { 'content-encoding': 'gzip' }));
    expect(refused).toMatchObject({ status: 400, details: { field: 'Content-Encoding' } });
  });

  it('is a concurrency conflict when another transaction was committed since X-Last-Seen-Revision', async () => {
    await post('/accounts/http-b', { owner: 'bob' });
    const seen = await latest();
    await post('/accounts/http-b/deposits', { cents: 5 });
    const since = (revision: number | string): Promise<Answer> =>
      post('/accounts/http-b/deposits', { cents: 1 }, { 'x-last-seen-revision': `${revision}` });
    expect(errorOf(await since(seen), FAILED_PRECONDITION).details?.reason).toBe('ConcurrencyConflict');
    expect((await since(await latest())).status).toBe(200);
    expect(errorOf(await since('x'), INVALID_ARGUMENT).details?.field).toBe('x-last-seen-revision');
  });

  it('only decides in a dry run, also at an earlier revision', async () => {
    await post('/accounts/http-d', { owner: 'dan' });
    const revision = await revisionIn(post('/accounts/http-d/deposits', { cents: 7 }));
    await post('/accounts/http-d/withdrawals', { cents: 7 });
    const before = await latest();
    const command = { method: 'POST', path: '/accounts/http-d/withdrawals', body: { cents: 7 } };
    const dry = (headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
      api.post(`${EXECUTE}?dry_run=true`, command, headers);
    const events = [{ type: 'account.withdrawn', data: { cents: 7 } }];
    const wanted = { dry_run: true, revision, events };
    expect(jsonOf(await dry({ 'x-last-seen-revision': `${revision}` }))).toMatchObject(wanted);
    const details = { reason: 'overdrawn', details: { balance: 0, asked: 7 } };
    expect(errorOf(await dry(), INVALID_ARGUMENT)).toMatchObject({ ...OVERDRAWN, details });
    expect(await latest()).toBe(before);
  });
});

it('SPEC-HTTP-COMMAND: each route takes the command from its body, and commits it once under x-batch-id', async () => {
  for (const route of [LATEST, '/api/v1/databases/bank/state-changes/accounts/versions/1']) {
    expect(errorOf(await api.post(route, { cents: 1 }))).toMatchObject(UNKNOWN);
  }
  const headers = { 'x-batch-id': '0198c0de-0000-7000-8000-0000000000bb' };
  const revision = await revisionIn(post('/accounts/http-e', { owner: 'eve' }, headers));
  const again = jsonOf(await api.post(LATEST, { any: 'thing' }, headers));
  expect(again).toMatchObject({ transaction: { replayed: true }, revision });
  const missing = errorOf(await api.post(LATEST.replace('accounts', 'none'), {}));
  expect(missing).toMatchObject({ status: 404, details: { reason: 'StateChangeNotFound' } });
});

it('SPEC-HTTP-COLLECTION-PROCESS: answers success or failure inside of the body', async () => {
  const path = '/databases/bank/state-changes/accounts/process';
  const expected = { success: false, error: { code: 'UnknownCommand', message: expect.any(String) } };
  expect(jsonOf(await api.post(path, { command: { cents: 1 }, parameters: {} }))).toMatchObject(expected);
  const refused = errorOf(await api.post(path, { command: {}, other: 1 }), INVALID_ARGUMENT);
  expect(refused.details?.field).toBe('other');
  expect(jsonOf(await api.get('/databases/bank/state-changes'))).toMatchObject({
    state_changes: [{ name: 'accounts', state_view_name: ['balances'] }, {}, {}],
  });
});

it('a refusal has the details of the component on every route that takes the command as its body (C7)', async () => {
  const revision = await opened('http-f');
  const details = { opens: 'Monday' };
  for (const route of [
    '/api/v1/db/bank/latest/state-changes/refusing/v1',
    `/api/v1/db/bank/${revision}/state-changes/refusing/v1`,
    '/api/v1/databases/bank/state-changes/refusing/versions/1',
  ]) {
    const refused = errorOf(await api.post(route, {}), INVALID_ARGUMENT);
    expect([route, refused.message, refused.details]).toEqual([route, 'Not today', { reason: 'closed', details }]);
  }
  const inside = jsonOf(await api.post('/databases/bank/state-changes/refusing/process', { command: {} }));
  expect(inside).toEqual({ success: false, error: { code: 'closed', message: 'Not today', details } });
  const command = { contentType: 'application/json', bytes: Buffer.from('{}') };
  const request = ProcessStateChangeRequest.fromPartial({ databaseName, stateChangeName: 'refusing', command });
  const { result } = await server.client.send('processStateChange', request, SLOW);
  const value = { code: 'closed', message: 'Not today', details: '{"opens":"Monday"}' };
  expect(result).toEqual({ $case: 'error', value });
});
