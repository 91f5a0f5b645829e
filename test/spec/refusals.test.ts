// Goal: whoever lacks a right is told the same of versions, events, transactions and keys that there are as of those
// that there are not. Method: a real node with one of each, and readers of this database and of another; pairs of
// requests of which the names alone differ, whose refusals are compared byte for byte, with what stands around them.
import { beforeAll, describe, expect, it } from 'vitest';
import { GrpcFailure, type UnaryName } from '../support/grpc-client.ts';
import { AS_FIRST } from '../support/guarded-node.ts';
import { type Answer, cloudEvent, errorOf, jsonOf } from '../support/http-client.ts';
import { sharedGuardedNode } from '../support/shared-servers.ts';
import { countingText } from '../support/wasm/counting.ts';
import { wat } from '../support/wasm/wat.ts';

const { server, api } = await sharedGuardedNode();
const HERE = 'refusals-here';
const [KEPT, GONE] = ['kept', 'gone'];
const BATCH = { [KEPT]: '0193a1b2-c3d4-7e5f-8a9b-1000000000aa', [GONE]: '0193a1b2-c3d4-7e5f-8a9b-1000000000bb' };
/** Of a key that is there, and of one that is not. */
const KEY_IDS: Record<string, string> = { [GONE]: '0123456789abcdef' };
/** The keys of those who ask. */
const secrets = { ofHere: '', ofOthers: '' };
type Who = keyof typeof secrets;

interface Issued {
  readonly id: string;
  readonly key: string;
}

async function issued(name: string, grant: string): Promise<Issued> {
  return jsonOf(await api.post('/api/v1/auth/keys', { name, roles: [grant] }, AS_FIRST)) as Issued;
}

async function publish(name: string): Promise<void> {
  const form = new FormData();
  const view = { content_type: 'text/plain', query_temporality: 'revision', event_selector: { stream: 'orders' } };
  form.append('metadata', JSON.stringify({ ...view, state_view_name: name }));
  form.append('wasm', new Blob([new Uint8Array(await wat(countingText({ hasBatch: true })))]));
  const url = `${server.http}/api/v1/db/${HERE}/state-views`;
  const answer = await fetch(url, { method: 'POST', body: form, headers: AS_FIRST });
  if (!answer.ok) throw new Error(`not published: ${await answer.text()}`);
}

beforeAll(async () => {
  await api.post('/api/v1/db', { database_name: HERE }, AS_FIRST);
  const headers = { ...AS_FIRST, 'x-batch-id': BATCH[KEPT] ?? '' };
  await api.post(`/databases/${HERE}/events`, { events: [cloudEvent(KEPT)] }, headers);
  await publish(KEPT);
  const reader = await issued('of here', `reader:${HERE}`);
  Object.assign(secrets, { ofHere: reader.key, ofOthers: (await issued('of others', 'reader:other-*')).key });
  KEY_IDS[KEPT] = reader.id;
}, 60_000);

/** What is of the moment. */
const OF_THE_MOMENT = /^(?:date|x-request-id|x-ratelimit-.*)$/;

function said(answer: Answer, name: string): string {
  errorOf(answer, { status: 403, code: 'PERMISSION_DENIED' });
  const headers = [...answer.headers].filter(([header]) => !OF_THE_MOMENT.test(header));
  return `${JSON.stringify(headers)} ${answer.text}`.replaceAll(name, 'NAME');
}

const ROUTES: readonly (readonly [Who, string])[] = [
  ['ofOthers', 'GET /api/v1/db/{database}/1/state-views/{name}/v1'],
  ['ofOthers', 'GET /databases/{database}/state-views/{name}'],
  ['ofOthers', 'GET /db/{database}/state-views/{name}/v1'],
  ['ofOthers', 'GET /db/{database}/1/events/orders/{name}'],
  ['ofOthers', 'GET /db/{database}/1/events/{revision}'],
  ['ofOthers', 'GET /databases/{database}/events/{revision}'],
  ['ofOthers', 'GET /api/v1/db/{database}/transaction/{batch}'],
  ['ofHere', 'DELETE /databases/{database}/state-views/{name}'],
  ['ofHere', 'POST /api/v1/db/{database}/state-views/{name}/expire-snapshots'],
  ['ofHere', 'GET /api/v1/auth/keys/{key}'],
  ['ofHere', 'DELETE /api/v1/auth/keys/{key}'],
  ['ofHere', 'POST /api/v1/auth/keys/{key}/rotate'],
];

/** Of what is there, or of what is not. */
function sent(route: string, name: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const [method = '', path = ''] = route.split(' ');
  const revision = name === KEPT ? '1' : '9';
  const places: Record<string, string | undefined> = {
    database: HERE,
    name,
    revision,
    batch: BATCH[name],
    key: KEY_IDS[name],
  };
  return api.send(
    path.replaceAll(/\{(\w+)\}/g, (_whole, place: string) => places[place] ?? ''),
    { method, headers },
  );
}

describe('SPEC-AUTH-ROLES over HTTP', () => {
  it.each(ROUTES)('a reader %s is refused %s alike, whatever there is', async (who, route) => {
    const headers = { 'x-api-key': secrets[who] };
    const refusals = [KEPT, GONE].map(async (name) => said(await sent(route, name, headers), name));
    const [kept, gone] = await Promise.all(refusals);
    expect(kept).toBe(gone);
  });

  it('whoever has the right is told what there is, and what is not', async () => {
    const gets = ROUTES.filter(([, route]) => route.startsWith('GET'));
    const reads = gets.map(async ([, route]) => {
      const answers = [KEPT, GONE].map((name) => sent(route, name, AS_FIRST));
      return (await Promise.all(answers)).map(({ status }) => status);
    });
    expect(await Promise.all(reads)).toEqual(reads.map(() => [200, 404]));
  });
});

const CALLS: readonly (readonly [Who, UnaryName, (name: string) => object])[] = [
  ['ofOthers', 'fetchStateView', (stateViewName) => ({ stateViewName, parameters: {} })],
  ['ofOthers', 'fetchTransaction', (name) => ({ transactionId: BATCH[name] })],
  ['ofHere', 'activateStateView', (stateViewName) => ({ stateViewName, version: 1n, maintenanceMode: 1 })],
  ['ofHere', 'deleteComponent', (name) => ({ kind: 1, name })],
  ['ofHere', 'expireSnapshots', (stateViewName) => ({ stateViewName })],
];

describe('SPEC-AUTH-ROLES over gRPC', () => {
  it.each(CALLS)('a reader %s is refused %s alike, whatever there is', async (who, method, request) => {
    const refusals = [KEPT, GONE].map(async (name) => {
      const asked = { databaseName: HERE, ...request(name) } as never;
      const failure = await server.client.send(method, asked, { metadata: { 'x-api-key': secrets[who] } }).then(
        () => undefined,
        (refused: unknown) => refused,
      );
      if (!(failure instanceof GrpcFailure)) return `${method} was not refused: ${String(failure)}`;
      const { code, message, info, fields, trailers } = failure;
      return JSON.stringify({ code, message, info, fields, trailers }).replaceAll(name, 'NAME');
    });
    const [kept, gone] = await Promise.all(refusals);
    expect(kept).toContain('PERMISSION_DENIED');
    expect(kept).toBe(gone);
  });
});
