// A component that ends its executor processes is quarantined, longer each time. Other components are answered
// meanwhile.
import { expect, it } from 'vitest';
import { FetchStateViewRequest } from '../../proto/gen/cairn/v1/component.ts';
import { until } from '../support/budget-time.ts';
import { failureOf } from '../support/grpc-client.ts';
import { cloudEvent } from '../support/http-client.ts';
import { startHttpNode } from '../support/http-node.ts';
import { viewText, wat } from '../support/wasm/wat.ts';

const NOTHING = '(i32.store8 (i32.const 16) (i32.const 0)) (i32.store (i32.const 24) (i32.const 0)) (i32.const 16)';

const { server, api } = await startHttpNode('--guest-executors=1', '--guest-cpu-ms=50');

async function opened(evolve: string): Promise<string> {
  const name = await api.created();
  const view = { state_view_name: 'view', content_type: 'application/json', query_temporality: 'revision' };
  await api.publish(`${name}/state-views`, { ...view, event_selector: {} }, await wat(viewText({ evolve })));
  await api.commit(name, cloudEvent('e1'));
  return name;
}

async function read(database: string) {
  const { status, headers, text } = await api.get(`/api/v1/db/${database}/1/state-views/view/v1`);
  const { error } = JSON.parse(text || '{}') as { error?: { details?: { reason?: unknown } } };
  return { status, reason: error?.details?.reason, retryAfter: headers.get('retry-after') };
}

it('a component in quarantine is unavailable for a second, over HTTP and gRPC, and for longer the next time', {
  timeout: 60_000,
}, async () => {
  const database = await opened('(loop $l (br $l)) (i32.const 16)');
  for (let kill = 0; kill < 3; kill++) {
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
  const other = await opened(NOTHING);
  expect(await read(other)).toMatchObject({ status: 200 });
});
