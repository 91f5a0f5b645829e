// Components that are built for the WIT worlds of the EvidentSource SDK behave like those of Cairn over HTTP and gRPC.
// Each test has its own database.
import { beforeAll, describe, expect, it } from 'vitest';
import { ExecuteStateChangeRequest, FetchStateViewRequest } from '../../proto/gen/cairn/v1/component.ts';
import { failureOf } from '../support/grpc-client.ts';
import { type Answer, cloudEvent, jsonOf } from '../support/http-client.ts';
import { type TestServer } from '../support/server.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { BUILD_MS } from '../support/wasm/built.ts';
import { SDK_CHANGE, SDK_VIEW, sdkComponent } from '../support/wasm/sdk-built.ts';

const SLOW = { deadlineMs: 60_000 };

const { server, api } = await sharedHttpNode();
const built: { view: Uint8Array; change: Uint8Array } = { view: new Uint8Array(0), change: new Uint8Array(0) };

beforeAll(async () => {
  built.view = await sdkComponent('state-view', SDK_VIEW);
  built.change = await sdkComponent('state-change', SDK_CHANGE);
}, BUILD_MS);

/** Creates a database with both components, events 1 and 2 in one transaction, and event 3 in another. */
async function opened(): Promise<string> {
  const name = await api.created();
  const seen = {
    state_view_name: 'seen',
    content_type: 'application/json',
    event_selector: { type: 'equals', attr: { subject: { parameter: 'id' } } },
    query_temporality: 'revision',
  };
  const answers = [
    await api.publish(`${name}/state-views`, seen, built.view),
    await api.publish(`${name}/state-changes`, { state_change_name: 'change' }, built.change),
  ];
  if (answers.some(({ status }) => status !== 201)) throw new Error(JSON.stringify(answers));
  const ofS = { source: 'a', subject: 's', data: { n: 1.5 } };
  await api.commit(name, cloudEvent('e1', ofS), cloudEvent('e2', ofS));
  await api.commit(name, cloudEvent('e3', ofS));
  return name;
}

function execute(database: string, script: object): Promise<Answer> {
  const path = `/api/v1/db/${database}/state-changes/change/v1/execute`;
  return api.post(path, { method: 'POST', path: '/', body: script });
}

function executeByGrpc(databaseName: string, script: object): ReturnType<TestServer['client']['call']> {
  const request = {
    method: 'POST',
    path: '/',
    body: Buffer.from(JSON.stringify(script)),
    headers: [{ name: 'content-type', value: 'application/json' }],
  };
  const asked = { databaseName, stateChangeName: 'change', version: 1, request };
  const message = ExecuteStateChangeRequest.fromPartial(asked);
  return server.client.call('executeStateChange', message, SLOW);
}

interface Seen {
  readonly events: readonly { readonly id: string; readonly data?: unknown; readonly attributes: unknown }[];
  readonly told: { readonly context: object; readonly lastModifiedRevision: number };
}

async function rendered(database: string, revision: number): Promise<Seen> {
  const path = `/api/v1/db/${database}/${revision}/state-views/seen/v1?subject.id=s`;
  return JSON.parse((await api.get(path)).text) as Seen;
}

async function renderedByGrpc(databaseName: string): Promise<Seen> {
  const parameters = { 'subject.id': 's' };
  const message = FetchStateViewRequest.fromPartial({ databaseName, stateViewName: 'seen', parameters });
  const { bytes } = await server.client.send('fetchStateView', message, SLOW);
  return JSON.parse(bytes.toString()) as Seen;
}

const OF_A = [{ tag: 'equals', val: { tag: 'stream', val: 'a' } }];
const VIEW = { ask: 'view', name: 'seen', version: 1, parameters: [['id', { tag: 'subject', val: 's' }]] };

it('a State View for the world of the SDK is rendered over HTTP and gRPC, at each revision', {
  timeout: 120_000,
}, async () => {
  const name = await opened();
  const seen = await rendered(name, 2);
  expect(seen.events.map(({ id }) => id)).toEqual(['e1', 'e2', 'e3']);
  expect(seen.events[2]).toMatchObject({
    source: 'a',
    data: { tag: 'string', val: '{"n":1.5}' },
    attributes: expect.arrayContaining([['revision', { tag: 'string', val: '3' }]]),
  });
  expect(seen.told).toMatchObject({
    context: { database: name, name: 'seen', version: 1, databaseRevision: 0, contentType: 'application/json' },
    lastModifiedRevision: 0,
  });
  expect(await renderedByGrpc(name)).toEqual(seen);
  expect((await rendered(name, 1)).events.map(({ id }) => id)).toEqual(['e1', 'e2']);
});

describe('a State Change for the world of the SDK', { timeout: 120_000 }, () => {
  it('commits its decision from a view, events and the database, over HTTP and gRPC', async () => {
    const name = await opened();
    const asks = [VIEW, { ask: 'events', nodes: OF_A }, { ask: 'revision' }];
    expect((await execute(name, { asks })).status).toBe(200);
    const { message } = await executeByGrpc(name, { asks });
    expect(message).toMatchObject({ transaction: { revision: 4, eventCount: 1, replayed: false } });
    const { events } = await rendered(name, 4);
    const told = events.slice(3).map(({ data }) => JSON.parse((data as { val: string }).val) as { answers: unknown[] });
    expect(told.map(({ answers }) => answers.slice(1))).toEqual([
      [['e1', 'e2', 'e3'], 3],
      [['e1', 'e2', 'e3'], 4],
    ]);
    expect(told[0]?.answers[0]).toMatchObject({ context: { databaseRevision: 3 }, lastModifiedRevision: 3 });
    expect(told[1]?.answers[0]).toMatchObject({ context: { databaseRevision: 4 }, lastModifiedRevision: 4 });
  });

  it.each([
    ['conflict', 409, 'FAILED_PRECONDITION', 'Conflict'],
    ['unauthorized', 403, 'PERMISSION_DENIED', 'Unauthorized'],
  ])('refuses by %s, which is %d', async (tag, status, code, reason) => {
    const name = await opened();
    const script = { refusal: { tag, val: 'because' } };
    const response = await execute(name, script);
    expect([response.status, jsonOf(response)]).toMatchObject([
      status,
      { error: { code, message: 'because', details: { reason } } },
    ]);
    const failure = await failureOf(executeByGrpc(name, script));
    expect([failure.code, failure.info?.metadata['reason'], failure.message]).toEqual([code, reason, 'because']);
    expect(await api.latestRevision(name)).toBe(2);
  });
});
