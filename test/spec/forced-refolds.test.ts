// A read by a deployer with `Cache-Control: no-cache` folds a State View from the first event and stores nothing.
import { describe, expect, it } from 'vitest';
import { SHOWING } from '../support/components/presenters.ts';
import { hashingView } from '../support/components/views.ts';
import { eventually } from '../support/eventually.ts';
import { AS_FIRST, issueKey, startGuardedNode } from '../support/guarded-node.ts';
import { cloudEvent, HttpClient, uniqueName } from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { wat } from '../support/wasm/wat.ts';

const EVENTS = 130;
const FOLDED = /^cairn_stateview_events_folded_total\{by="reads"\} (\d+)$/m;
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
const shows = { presenter_name: 'shows', content_types: ['text/plain'] };
await api.publish(`${name}/presenters`, shows, presenter, AS_FIRST);
const definition = { content_type: 'application/x-count', query_temporality: 'revision', event_selector: {} };
for (const client of [api, open.api]) {
  await client.publish(`${name}/state-views`, { ...definition, state_view_name: 'counts' }, view, AS_FIRST);
}
const shown = { ...definition, state_view_name: 'shown', presenter: 'shows' };
await api.publish(`${name}/state-views`, shown, view, AS_FIRST);

const path = `/api/v1/db/${name}/1/state-views/counts/v1`;

async function foldedBy(ask: () => Promise<unknown>): Promise<number> {
  const before = await foldedUntilNow();
  await ask();
  return (await foldedUntilNow()) - before;
}

let refusals = 0;

/** Metrics may be a second old. Once they count a refusal that was made now, they count all folds before it, too. */
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
  it('folds from the first event, answers 200 for any If-None-Match, and is not cached', async () => {
    const { headers: deployer } = await issueKey(api, `deployer:${name}`);
    await api.post(`/api/v1/db/${name}/state-views/counts/expire-snapshots`, undefined, deployer);
    const count = await foldedBy(async () => {
      const kept = await api.get(path, deployer);
      for (const held of [kept.headers.get('etag') ?? '', '*']) {
        const anew = await api.get(path, { ...deployer, ...NO_CACHE, 'if-none-match': held });
        expect([anew.status, anew.text]).toEqual([200, kept.text]);
        expect(anew.headers.get('cache-control')).toBe('no-store');
        expect(anew.headers.get('etag')).toBeNull();
        const seen = [anew.headers.get('x-revision'), anew.headers.get('content-type')];
        expect(seen).toEqual(['1', 'application/x-count']);
      }
      expect((await api.get(path, deployer)).text).toBe(kept.text);
    });
    expect(count).toBe(3 * EVENTS);
  });

  it('stores no snapshot for later reads', async () => {
    const { headers: deployer } = await issueKey(api, `deployer:${name}`);
    await api.post(`/api/v1/db/${name}/state-views/counts/expire-snapshots`, undefined, deployer);
    const count = await foldedBy(async () => {
      await api.get(path, { ...deployer, ...NO_CACHE });
      await api.get(path, deployer);
    });
    expect(count).toBe(2 * EVENTS);
  });

  it.each([
    ['who may read and write', ['reader', 'writer']],
    ['who may deploy elsewhere', ['reader', 'deployer:other-*']],
  ])('is an ordinary read for %s', async (_who, roles) => {
    const key = (await issueKey(api, ...roles)).headers;
    const first = await api.get(path, key);
    const again = await api.get(path, { ...key, ...NO_CACHE, 'if-none-match': first.headers.get('etag') ?? '' });
    expect([again.status, again.headers.get('cache-control')]).toEqual([304, 'private, max-age=60']);
  });

  it('is not triggered by other directives of the header', async () => {
    const { headers: deployer } = await issueKey(api, `deployer:${name}`);
    for (const words of ['no-store', 'max-age=0', 'no-cache-please', 'x="no-cache"']) {
      const answer = await api.get(path, { ...deployer, 'cache-control': words });
      expect([words, answer.headers.get('etag')]).toEqual([words, expect.any(String)]);
    }
  });

  it('works in the collection-style family, and for a view with a presenter', async () => {
    const deployer = { ...(await issueKey(api, `deployer:${name}`)).headers, ...NO_CACHE };
    const presented = path.replace('counts', 'shown');
    const etag = (await api.get(presented, AS_FIRST)).headers.get('etag') ?? '';
    const count = await foldedBy(async () => {
      for (const each of [`/databases/${name}/state-views/counts`, presented]) {
        const { status, headers } = await api.get(each, { ...deployer, 'if-none-match': etag });
        const told = [status, headers.get('cache-control'), headers.get('etag')];
        expect([each, told]).toEqual([each, [200, 'no-store', null]]);
      }
    });
    expect(count).toBe(2 * EVENTS);
  });

  it('is an ordinary read with authentication off', async () => {
    const plain = new HttpClient(open.server.http);
    const first = await plain.get(path);
    const again = await plain.get(path, { ...NO_CACHE, 'if-none-match': first.headers.get('etag') ?? '' });
    expect([again.status, again.headers.get('cache-control')]).toEqual([304, 'public, max-age=60']);
  });
});
