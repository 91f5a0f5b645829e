// Goal: whoever may deploy has a State View folded anew by `Cache-Control: no-cache`, which touches nothing that is
// kept, and is kept by nobody; to everybody else that header says nothing. Method: a real node with authentication on,
// whose metrics count the events that it folds, one with authentication off, and one whose only executor is kept busy.
import { describe, expect, it } from 'vitest';
import { SHOWING } from '../support/components/presenters.ts';
import { hashingView } from '../support/components/views.ts';
import { eventually } from '../support/eventually.ts';
import { AS_FIRST, startGuardedNode } from '../support/guarded-node.ts';
import { type Answer, cloudEvent, errorOf, HttpClient, jsonOf, uniqueName } from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { viewText, wat } from '../support/wasm/wat.ts';

const EVENTS = 130;
const FOLDED = /^cairn_stateview_events_folded_total\{by="reads"\} (\d+)$/m;
/** Folds of a node at a time, at most. */
const FOLDS_MAX = 1000;
const REFUSED = /^cairn_unauthenticated_total (\d+)$/m;
const NO_CACHE = { 'cache-control': 'max-age=0, No-Cache' };

const { server, api } = await startGuardedNode('--guest-executors=1');
const open = await sharedHttpNode();
const view = await (await hashingView({ hasBatch: true, hasQuery: true })).bytes();
const presenter = await wat(SHOWING);
const name = uniqueName();
for (const [client, headers] of [
  [api, AS_FIRST],
  [open.api, {}],
] as const) {
  await client.post('/api/v1/db', { database_name: name }, headers);
  const events = Array.from({ length: EVENTS }, (_, n) => cloudEvent(`${n}`, { source: 'accounts', subject: 'a' }));
  const { status, text } = await client.post(`/api/v1/db/${name}`, { events }, headers);
  if (status !== 200) throw new Error(text);
}
await publish(server.http, 'presenters', { presenter_name: 'shows', content_types: ['text/plain'] }, presenter);
const definition = { content_type: 'application/x-count', query_temporality: 'revision', event_selector: {} };
for (const address of [server.http, open.server.http]) {
  await publish(address, 'state-views', { ...definition, state_view_name: 'counts' }, view);
}
await publish(server.http, 'state-views', { ...definition, state_view_name: 'shown', presenter: 'shows' }, view);

const path = `/api/v1/db/${name}/1/state-views/counts/v1`;

async function publish(address: string, kind: string, metadata: object, wasm: Uint8Array): Promise<void> {
  const body = new FormData();
  body.append('metadata', JSON.stringify(metadata));
  body.append('wasm', new Blob([new Uint8Array(wasm)]));
  const headers = { ...AS_FIRST };
  const answer = await fetch(`${address}/api/v1/db/${name}/${kind}`, { method: 'POST', headers, body });
  expect([answer.status, await answer.text()]).toEqual([201, expect.any(String)]);
}

async function keyOf(...roles: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const answer = await api.post('/api/v1/auth/keys', { name: 'test', roles }, AS_FIRST);
  return { 'x-api-key': (jsonOf(answer) as { readonly key: string }).key };
}

/** How many events the node folds for its readers while it answers. */
async function foldedBy(ask: () => Promise<unknown>): Promise<number> {
  const before = await foldedUntilNow();
  await ask();
  return (await foldedUntilNow()) - before;
}

let refusals = 0;

/** The metrics are as old as a second: those that count a refusal of now count what was folded before it. */
async function foldedUntilNow(): Promise<number> {
  expect((await api.get('/', { 'x-api-key': 'wrong' })).status).toBe(401);
  refusals += 1;
  return eventually(async () => {
    const text = await (await fetch(server.metricsOfHttp)).text();
    expect(Number(REFUSED.exec(text)?.[1])).toBe(refusals);
    return Number(FOLDED.exec(text)?.[1]);
  });
}

describe('SPEC-HTTP-R7', () => {
  it('folds from the first event, answers 200 whatever tag is held, and is kept nowhere', async () => {
    const deployer = await keyOf(`deployer:${name}`);
    const kept = await api.get(path, deployer);
    expect(await foldedBy(() => api.get(path, deployer))).toBe(0);
    for (const held of [kept.headers.get('etag') ?? '', '*']) {
      const headers = { ...deployer, ...NO_CACHE, 'if-none-match': held };
      const count = await foldedBy(async () => {
        const anew = await api.get(path, headers);
        expect([anew.status, anew.text]).toEqual([200, kept.text]);
        expect(anew.headers.get('cache-control')).toBe('no-store');
        expect(anew.headers.get('etag')).toBeNull();
        expect([anew.headers.get('x-revision'), anew.headers.get('content-type')]).toEqual([
          '1',
          'application/x-count',
        ]);
      });
      expect(count).toBe(EVENTS);
    }
    expect(await foldedBy(() => api.get(path, deployer))).toBe(0);
  });

  it('leaves nothing behind that a later read could begin at', async () => {
    const deployer = await keyOf(`deployer:${name}`);
    await api.post(`/api/v1/db/${name}/state-views/counts/expire-snapshots`, undefined, deployer);
    expect(await foldedBy(() => api.get(path, { ...deployer, ...NO_CACHE }))).toBe(EVENTS);
    expect(await foldedBy(() => api.get(path, deployer))).toBe(EVENTS);
  });

  it.each([
    ['who may read and write', ['reader', 'writer']],
    ['who may deploy elsewhere', ['reader', 'deployer:other-*']],
  ])('is an ordinary read for %s', async (_who, roles) => {
    const key = await keyOf(...roles);
    const first = await api.get(path, key);
    const count = await foldedBy(async () => {
      const again = await api.get(path, { ...key, ...NO_CACHE, 'if-none-match': first.headers.get('etag') ?? '' });
      expect([again.status, again.headers.get('cache-control')]).toEqual([304, 'private, max-age=60']);
    });
    expect(count).toBe(0);
  });

  it('is not asked for by other words of the header', async () => {
    const deployer = await keyOf(`deployer:${name}`);
    for (const words of ['no-store', 'max-age=0', 'no-cache-please', 'x="no-cache"']) {
      const answer = await api.get(path, { ...deployer, 'cache-control': words });
      expect([words, answer.headers.get('etag')]).toEqual([words, expect.any(String)]);
    }
  });

  it('goes for the collection-style family, and for a view that has a presenter', async () => {
    const deployer = { ...(await keyOf(`deployer:${name}`)), ...NO_CACHE };
    const named = `/databases/${name}/state-views/counts`;
    const presented = path.replace('counts', 'shown');
    const etag = (await api.get(presented, AS_FIRST)).headers.get('etag') ?? '';
    for (const each of [named, presented]) {
      const count = await foldedBy(async () => {
        const answer = await api.get(each, { ...deployer, 'if-none-match': etag });
        const { headers } = answer;
        expect([each, answer.status, headers.get('cache-control'), headers.get('etag')]).toEqual([
          each,
          200,
          'no-store',
          null,
        ]);
      });
      expect([each, count]).toEqual([each, EVENTS]);
    }
  });

  it('is an ordinary read with authentication off', async () => {
    const plain = new HttpClient(open.server.http);
    const first = await plain.get(path);
    const again = await plain.get(path, { ...NO_CACHE, 'if-none-match': first.headers.get('etag') ?? '' });
    expect([again.status, again.headers.get('cache-control')]).toEqual([304, 'public, max-age=60']);
  });

  it('waits for an executor as any render does, and is refused when as many folds wait as may', {
    timeout: 60_000,
  }, async () => {
    // One fold of `loops` keeps the executor for longer than the test takes.
    const settings = ['--guest-executors=1', '--guest-cpu-ms=60000', '--guest-wall-ms=60000'];
    const busy = await startGuardedNode(...settings, '--guest-fuel=999999999999999');
    await busy.api.post('/api/v1/db', { database_name: name }, AS_FIRST);
    const commits = Array.from({ length: FOLDS_MAX }, (_, at) =>
      busy.api.post(`/api/v1/db/${name}`, { events: [cloudEvent(`${at}`)] }, AS_FIRST),
    );
    expect(new Set((await Promise.all(commits)).map(({ status }) => status))).toEqual(new Set([200]));
    const loops = await wat(viewText({ evolve: '(loop $l (br $l)) (i32.const 16)' }));
    for (const [state_view_name, wasm] of [
      ['loops', loops],
      ['counts', view],
    ] as const) {
      await publish(busy.server.http, 'state-views', { ...definition, state_view_name }, wasm);
    }
    const gone = new AbortController();
    // Those of one revision would wait for one fold.
    const refold = (which: string, revision: number): Promise<Answer> => {
      const target = `/api/v1/db/${name}/${revision}/state-views/${which}/v1`;
      return busy.api.send(target, { headers: { ...AS_FIRST, ...NO_CACHE }, signal: gone.signal });
    };
    const left = [refold('loops', 1)];
    const told = Promise.withResolvers<Answer>();
    for (let revision = 1; revision <= FOLDS_MAX; revision++) {
      const waiting = refold('counts', revision);
      void waiting.then(told.resolve, () => undefined);
      left.push(waiting);
    }
    const answer = await told.promise;
    expect(errorOf(answer, { status: 503, code: 'INTERNAL' }).details?.reason).toBe('Busy');
    expect([answer.headers.get('etag'), answer.headers.get('cache-control')]).toEqual([null, null]);
    gone.abort();
    expect(new Set((await Promise.allSettled(left)).map(({ status }) => status))).toContain('rejected');
  });
});
