// Goal: commands over gRPC are decided by the State Change that they name, committed once, refused in its words, and
// decided without being committed where that is asked for. Method: a real node and the example of a bank, published as
// a user would; each test on an account of its own.

import { beforeAll, describe, expect, it } from 'vitest';
import {
  DecideStateChangeRequest,
  type ExecuteStateChangeReply,
  ExecuteStateChangeRequest,
  ProcessStateChangeRequest,
  PublishStateChangeRequest,
} from '../../src/transport/grpc/gen/cairn/v1/component.ts';
import { changeText, NO_EVENT } from '../support/components/change-text.ts';
import { failureOf, type GrpcFailure, type Reply } from '../support/grpc-client.ts';
import { sharedServer } from '../support/shared-servers.ts';
import { builtComponent } from '../support/wasm/built.ts';
import { wat } from '../support/wasm/wat.ts';

/** A component of 12 MB is built, published and started, on a machine with other things to do. */
const BUILD_MS = 300_000;
const SLOW = { deadlineMs: 60_000 };
const databaseName = 'bank';
const stateChangeName = 'accounts';

const server = await sharedServer();

beforeAll(async () => {
  const { client } = server;
  await client.send('createDatabase', { databaseName });
  const change = Buffer.from(await builtComponent('examples/bank/accounts.ts'));
  const nothing = Buffer.from(await wat(changeText(NO_EVENT)));
  for (const [name, wasmBytes] of [
    [stateChangeName, change],
    ['nothing', nothing],
  ] as const) {
    const published = { databaseName, stateChangeName: name, wasmBytes };
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
  const message = ExecuteStateChangeRequest.fromPartial({
    databaseName,
    stateChangeName,
    version: 1,
    request,
    ...rest,
  });
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

  it('refuses in the words of the component', async () => {
    await opened('b', 100);
    expect(await reasonOf({ path: '/accounts/b/withdrawals', body: { cents: 101 } })).toEqual([
      'INVALID_ARGUMENT',
      'overdrawn',
      'There is not enough on the account',
      '{"balance":100,"asked":101}',
    ]);
    expect((await reasonOf({ path: '/accounts/none/deposits', body: { cents: 1 } })).slice(0, 2)).toEqual([
      'NOT_FOUND',
      'StateNotFound',
    ]);
    expect((await reasonOf({ path: '/nothing', body: {} })).slice(0, 2)).toEqual(['NOT_FOUND', 'UnknownCommand']);
    expect((await reasonOf({ path: '/accounts/b/deposits', body: { cents: -1 } })).slice(0, 2)).toEqual([
      'INVALID_ARGUMENT',
      'InvalidInput',
    ]);
  });

  it('commits once under a batch id, and answers a repeat with what was recorded, whatever it says', async () => {
    const batchId = '0198c0de-0000-7000-8000-0000000000aa';
    const first = await execute({ path: '/accounts/c', body: { owner: 'ann' }, batchId });
    const again = await execute({ path: '/nothing', batchId, version: 9 });
    expect(again.message.transaction).toEqual({ ...first.message.transaction, replayed: true });
    const { code, fields } = await failureOf(execute({ path: '/accounts/c2', body: { owner: 'x' }, batchId: 'no' }));
    expect([code, fields]).toEqual(['INVALID_ARGUMENT', ['x-batch-id']]);
  });

  it('is a concurrency conflict when anything was committed since the revision that was seen last', async () => {
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

  it('takes what many ask for at once, each decided over what was committed before it', async () => {
    await opened('g', 3);
    const asked = Array.from({ length: 8 }, () =>
      execute({ path: '/accounts/g/withdrawals', body: { cents: 1 } }).then(
        () => 'taken',
        (failure: GrpcFailure) => failure.info?.metadata['reason'],
      ),
    );
    const outcomes = await Promise.all(asked);
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(3);
    expect(outcomes.filter((outcome) => outcome === 'overdrawn')).toHaveLength(5);
  });

  it('is not found under another name or version, and says every fault of a command', async () => {
    const command = { path: '/accounts/h', body: { owner: 'ann' } };
    for (const other of [{ stateChangeName: 'other' }, { version: 2 }, { version: 0 }]) {
      expect((await reasonOf({ ...command, ...other })).slice(0, 2)).toEqual(['NOT_FOUND', 'StateChangeNotFound']);
    }
    const { code, fields } = await failureOf(execute({ path: 'no path', method: '1' }));
    expect([code, fields]).toEqual(['INVALID_ARGUMENT', ['request.method', 'request.path']]);
  });
});

describe('SPEC-GRPC-PROCESS-STATE-CHANGE', () => {
  it('answers a failure of the command inside of the reply', async () => {
    const command = { contentType: 'application/json', bytes: Buffer.from('{}') };
    const request = ProcessStateChangeRequest.fromPartial({ databaseName, stateChangeName, command });
    const { result } = await server.client.send('processStateChange', request, SLOW);
    expect(result).toMatchObject({ $case: 'error', value: { code: 'UnknownCommand', message: expect.any(String) } });
    const missing = { ...request, stateChangeName: 'none' };
    const refused = await failureOf(server.client.send('processStateChange', missing));
    expect([refused.code, refused.info?.metadata['reason']]).toEqual(['NOT_FOUND', 'StateChangeNotFound']);
  });
});

describe('SPEC-GRPC-DECIDE-STATE-CHANGE', () => {
  function decide(path: string, body: object, revision?: number): ReturnType<typeof send> {
    const request = { method: 'POST', path, body: Buffer.from(JSON.stringify(body)) };
    return send(DecideStateChangeRequest.fromPartial({ databaseName, stateChangeName, request, revision }));
  }

  function send(request: DecideStateChangeRequest): ReturnType<typeof server.client.send<'decideStateChange'>> {
    return server.client.send('decideStateChange', request, SLOW);
  }

  it('gives the events that a command would emit at a revision, and what guards them, and commits nothing', async () => {
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
