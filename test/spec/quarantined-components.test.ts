// Goal: a component that ends its processes is answered as what it is: not there for a moment, with the time after
// which to ask again, over HTTP and gRPC, and longer each time; others are answered meanwhile. Method: a real node with
// little time for components, and ones as text that never end.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FetchStateViewRequest } from '../../src/transport/grpc/gen/cairn/v1/component.ts';
import { until } from '../support/budget-time.ts';
import { changeText } from '../support/components/change-text.ts';
import { failureOf } from '../support/grpc-client.ts';
import { uniqueName } from '../support/grpc-requests.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { viewText, wat } from '../support/wasm/wat.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const LOOPING = '(loop $l (br $l)) (i32.const 16)';
const KILLS = 3;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer('--guest-executors=1', '--guest-cpu-ms=50');
}, 60_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function published(path: string, metadata: object, text: string): Promise<void> {
  const form = new FormData();
  form.append('metadata', JSON.stringify(metadata));
  form.append('wasm', new Blob([new Uint8Array(await wat(text))]), 'component.wasm');
  const response = await fetch(`${server.http}/api/v1/db/${path}`, { method: 'POST', body: form });
  if (response.status !== 201) throw new Error(await response.text());
}

/** A database with an event and a State View of it, and a State Change. */
async function opened(evolve: string, decide: string): Promise<string> {
  const name = uniqueName();
  await fetch(`${server.http}/api/v1/databases/${name}`, { method: 'POST' });
  const metadata = {
    content_type: 'application/json',
    query_temporality: 'revision',
    event_selector: { type: 'equals', attr: { stream: 'a' } },
  };
  await published(`${name}/state-views`, { state_view_name: 'view', ...metadata }, viewText({ evolve }));
  await published(`${name}/state-changes`, { state_change_name: 'change' }, changeText(decide));
  const events = [{ id: 'e1', specversion: '1.0', type: 't', source: 'a' }];
  await fetch(`${server.http}/api/v1/db/${name}`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify({ events }),
  });
  return name;
}

interface Answer {
  readonly status: number;
  readonly reason: unknown;
  readonly retryAfter: string | null;
}

async function answerOf(response: Response): Promise<Answer> {
  const { error } = JSON.parse(await response.text()) as { error?: { details?: { reason?: unknown } } };
  return {
    status: response.status,
    reason: error?.details?.reason,
    retryAfter: response.headers.get('retry-after'),
  };
}

async function read(database: string): Promise<Answer> {
  return answerOf(await fetch(`${server.http}/api/v1/db/${database}/latest/state-views/view/v1`));
}

async function execute(database: string): Promise<Answer> {
  const body = JSON.stringify({ method: 'POST', path: '/' });
  const url = `${server.http}/api/v1/db/${database}/state-changes/change/v1/execute`;
  return answerOf(await fetch(url, { method: 'POST', headers: JSON_TYPE, body }));
}

describe('a component in quarantine', { timeout: 60_000 }, () => {
  it('is not there for a second, over HTTP and gRPC, and for longer the next time', async () => {
    const database = await opened(LOOPING, LOOPING);
    for (let kill = 0; kill < KILLS; kill++) {
      expect(await read(database)).toEqual({ status: 500, reason: 'WasmExecutionError', retryAfter: null });
    }
    expect(await read(database)).toEqual({ status: 503, reason: 'Quarantined', retryAfter: '1' });
    const request = FetchStateViewRequest.fromPartial({ databaseName: database, stateViewName: 'view' });
    expect(await failureOf(server.client.send('fetchStateView', request))).toMatchObject({
      code: 'UNAVAILABLE',
      info: { metadata: { reason: 'Quarantined' } },
      retryDelay: { seconds: expect.any(Number), nanos: expect.any(Number) },
    });
    await until(async () => (await read(database)).status === 500);
    expect(await read(database)).toEqual({ status: 503, reason: 'Quarantined', retryAfter: '4' });
  });

  it('is a State Change, too, and what another one does is not counted for it', async () => {
    const database = await opened(
      '(i32.store8 (i32.const 16) (i32.const 0)) (i32.store (i32.const 24) (i32.const 0)) (i32.const 16)',
      LOOPING,
    );
    for (let kill = 0; kill < KILLS; kill++) {
      expect(await execute(database)).toEqual({ status: 500, reason: 'WasmExecutionError', retryAfter: null });
    }
    expect(await execute(database)).toEqual({ status: 503, reason: 'Quarantined', retryAfter: '1' });
    expect((await fetch(`${server.http}/api/v1/db/${database}/latest/state-views/view/v1`)).status).toBe(200);
  });
});
