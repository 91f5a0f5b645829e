// TOON pages: content negotiation, the data of the JSON (TH12), list sizes, tags (ETags) and errors.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, cloudEvent, errorOf, jsonOf, q, uniqueName } from '../support/http-client.ts';
import type { EventPage } from '../support/http-history.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { createToonDatabase, LAST_REVISION, TIMED, toonDatabase } from '../support/toon-node.ts';
import { bare, linksOf, readToonPage, undone } from '../support/toon-pages.ts';

const { api } = await sharedHttpNode();
const { name, components } = await toonDatabase(api);

const TEXT = { accept: 'text/plain' };
const AT = `/db/${name}/${LAST_REVISION}`;
const TOON_TYPE = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

async function toon(path: string): Promise<Answer> {
  const answer = await api.get(path, TEXT);
  expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 200, TOON_TYPE]);
  return answer;
}

describe('SPEC-HTTP-ACCEPT', () => {
  it.each([
    ['text/plain', TOON_TYPE],
    ['text/html, text/plain', TOON_TYPE],
    ['text/plain, application/json', JSON_TYPE],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html; charset=utf-8'],
    ['image/png', JSON_TYPE],
    ['application/json;q=0', JSON_TYPE],
    [';;,', JSON_TYPE],
    ['', JSON_TYPE],
  ])('%j gives %s', async (accept, type) => {
    for (const path of ['/', AT, `${AT}/events`]) {
      const { status, headers } = await api.get(path, { accept });
      const told = [status, headers.get('content-type'), headers.get('vary')];
      expect([path, ...told]).toEqual([path, 200, type, 'accept']);
    }
  });

  it('leaves a rendered State View and its schema their own content types', async () => {
    const view = `/api/v1/db/${name}/${LAST_REVISION}/state-views/all/v1`;
    expect((await api.get(view, TEXT)).headers.get('content-type')).toBe('application/x-count');
    const schema = `/api/v1/db/${name}/state-views/all/v1/schema`;
    expect((await api.get(schema, TEXT)).headers.get('content-type')).toBe('application/schema+json');
  });
});

it('SPEC-HTTP-TOON: a query by its body has the data of its JSON, and a link to the next page', async () => {
  const body = { selectors: [{ stream: 'orders' }], limit: 3 };
  const answer = await api.post(`/databases/${name}/query`, body, TEXT);
  const page = readToonPage(answer.text);
  const json = jsonOf(await api.post(`/databases/${name}/query`, body)) as EventPage;
  expect(bare(undone(page.data))).toEqual(bare(json));
  const next = readToonPage((await toon(page.links['next']?.slice('GET '.length) ?? '')).text);
  const second = await api.post(`/databases/${name}/query`, { ...body, after: json.next_cursor });
  expect(next.data).toMatchObject({ events: (jsonOf(second) as EventPage).events.map(({ id }) => ({ id })) });
});

describe('SPEC-LIMITS-PAGE: pages of TOON', () => {
  const own = uniqueName();
  const transactionId = '0b5c1f0e-3a44-4d1c-9a55-0d9be1f2a004';

  beforeAll(async () => {
    await api.create(own);
    const events = Array.from({ length: 1000 }, (_, n) => cloudEvent(`a${n}`, { subject: `s${n}` }));
    await api.post(`/api/v1/db/${own}`, { transaction_id: transactionId, events });
  });

  async function walked(start: string, list: string, key: string): Promise<readonly [number[], string[]]> {
    const sizes: number[] = [];
    const names: string[] = [];
    for (let path: string | undefined = start; path !== undefined; ) {
      const { data, links } = readToonPage((await toon(path)).text);
      const rows = (data as Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>)[list] ?? [];
      sizes.push(rows.length);
      names.push(...rows.map((row) => row[key] ?? ''));
      path = (links['next'] ?? links['next_events'])?.slice('GET '.length);
    }
    return [sizes, names];
  }

  it.each([
    ['/events', 50],
    [`/events?q=${q({ limit: 900 })}`, 250],
  ])('%s have %i events, and links lead through all', async (path, size) => {
    const [sizes, ids] = await walked(`/db/${own}/1${path}`, 'events', 'id');
    expect([sizes[0], sizes.length]).toEqual([size, Math.ceil(1000 / size)]);
    expect(ids).toEqual(Array.from({ length: 1000 }, (_, n) => `a${n}`));
  });

  it('of names have 50, and links lead through all', async () => {
    const [sizes, names] = await walked(`/db/${own}/1/subjects`, 'subjects', 'name');
    expect([sizes[0], sizes.length, new Set(names).size]).toEqual([50, 20, 1000]);
  });

  it('of a transaction have its first events, and link to the others', async () => {
    const [sizes, ids] = await walked(`/api/v1/db/${own}/transaction/${transactionId}`, 'events', 'id');
    expect([sizes[0], ids.length]).toEqual([50, 1000]);
    expect(ids).toEqual(Array.from({ length: 1000 }, (_, n) => `a${n}`));
    const page = readToonPage((await toon(`/api/v1/db/${own}/transaction/${transactionId}`)).text);
    expect(page.data).toMatchObject({ transaction: { event_count: 1000 }, event_id_mappings: { length: 50 } });
  });

  it('end early when events are large, with at least one', async () => {
    const large = await api.created();
    for (let n = 0; n < 3; n++) await api.commit(large, cloudEvent(`${n}`, { data: 'x'.repeat(40_000) }));
    await api.commit(large, cloudEvent('3', { data: 'x'.repeat(900_000) }));
    const [sizes, ids] = await walked(`/db/${large}/4/events`, 'events', 'id');
    expect([sizes, ids]).toEqual([
      [1, 1, 1, 1],
      ['0', '1', '2', '3'],
    ]);
  });

  it.each([
    [`/db/${name}/6/state-views`, 'state_views', ['all', 'one', 'read', 'shown', 'timed', 'timed']],
    [`/databases/${name}/state-views`, 'state_views', ['all', 'one', 'read', 'shown', 'timed']],
    [`/api/v1/db/${name}/presenters`, undefined, ['shows']],
  ])('of components continue after a name or version, as JSON with a limit does: %s', async (path, list, wanted) => {
    await api.publish(`${name}/state-views`, { ...TIMED, description: 'another' }, components.view);
    for (const [size, headers] of [1, 2].flatMap((each) => [TEXT, {}].map((one) => [each, one] as const))) {
      const names: string[] = [];
      for (let next: string | undefined = `${path}?limit=${size}`; next !== undefined; ) {
        const answer = await api.get(next, headers);
        const data = headers === TEXT ? readToonPage(answer.text).data : jsonOf(answer);
        const rows = list === undefined ? data : (data as Readonly<Record<string, unknown>>)[list];
        const shown = (rows as readonly { readonly name: string }[]).map((row) => row.name);
        expect(shown.length).toBeLessThanOrEqual(size);
        names.push(...shown);
        next = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
      }
      expect(names).toEqual(wanted);
    }
  });

  it('of a database have the first State Views, and link to all', async () => {
    const many = await api.created();
    for (let n = 0; n < 52; n++) {
      const metadata = { ...TIMED, state_view_name: `v${String(n).padStart(2, '0')}` };
      await api.publish(`${many}/state-views`, metadata, components.view);
    }
    const page = readToonPage((await toon(`/databases/${many}`)).text);
    expect(page.data).toMatchObject({ state_views: { length: 50 } });
    expect(jsonOf(await api.get(`/databases/${many}`))).toMatchObject({ state_views: { length: 52 } });
    const [sizes] = await walked(page.links['all_state_views']?.slice('GET '.length) ?? '', 'state_views', 'name');
    expect(sizes).toEqual([50, 2]);
  });

  it('of databases continue after a name, as JSON with a limit does', async () => {
    const all = (jsonOf(await api.get('/')) as { readonly databases: readonly string[] }).databases;
    for (const headers of [TEXT, {}]) {
      const first = await api.get('/?limit=1', headers);
      expect(first.headers.get('link')).toBe(`</?limit=1&after=${all[0]}>; rel="next"`);
      expect(first.text).toContain(all[0]);
      expect(first.text).not.toContain(all[1]);
      expect((await api.get(`/databases?after=${all[0]}&limit=1`, headers)).text).toContain(all[1]);
    }
  });
});

describe('SPEC-HTTP-R6: pages of either rendering', () => {
  const FIXED = ['', '/events?limit=1', '/events/1', '/streams', '/streams/orders', '/state-views'];

  it.each(FIXED)('%j at a number have their own tags, and are 304 for them', async (path) => {
    const tags: string[] = [];
    for (const accept of ['application/json', 'text/plain']) {
      const { headers } = await api.get(`${AT}${path}`, { accept });
      const etag = headers.get('etag') ?? '';
      expect(headers.get('cache-control')).toBe('public, max-age=60');
      tags.push(etag);
      const kept = await api.get(`${AT}${path}`, { accept, 'if-none-match': `"other", ${etag}` });
      const told = [kept.status, kept.text, kept.headers.get('etag'), kept.headers.get('vary')];
      expect(told).toEqual([304, '', etag, 'accept']);
      expect((await api.get(`${AT}${path}`, { accept, 'if-none-match': '*' })).status).toBe(304);
      const known = await api.get(`${AT}${path}`, { accept, authorization: 'x' });
      expect(known.headers.get('cache-control')).toMatch(/^private/);
    }
    expect(new Set(tags).size).toBe(2);
    const other = { accept: 'text/plain', 'if-none-match': tags[0] ?? '' };
    expect((await api.get(`${AT}${path}`, other)).status).toBe(200);
  });

  it('have no tag where the path names no number, or nothing is found', async () => {
    for (const path of [`/databases/${name}`, '/', `/db/${name}/state-views/all/v1`]) {
      const { headers } = await api.get(path, TEXT);
      expect([headers.get('etag'), headers.get('cache-control'), headers.get('vary')]).toEqual([null, null, 'accept']);
    }
    const absent = await api.get(`${AT}/streams/none`, { 'if-none-match': '*' });
    expect([absent.status, absent.headers.get('etag'), absent.headers.get('cache-control')]).toEqual([404, null, null]);
  });

  it('have another tag when the list at the number has changed', async () => {
    const own = uniqueName();
    await createToonDatabase(api, own, components);
    const tag = async (): Promise<unknown> => (await api.get(`/db/${own}/6/state-views`, TEXT)).headers.get('etag');
    const before = await tag();
    expect(await tag()).toBe(before);
    await api.delete(`/databases/${own}/state-views/timed`);
    expect(await tag()).not.toBe(before);
  });
});

describe('SPEC-HTTP-TOON: errors', () => {
  it.each([
    `/db/${name}/99`,
    '/db/none/latest',
    `${AT}/streams/none`,
    `${AT}/events?q=x`,
    `/api/v1/db/${name}/${LAST_REVISION}/state-views/one/v1`,
    '/nothing',
    '/%ff',
  ])('of %s say the same as in JSON, with links to continue', async (path) => {
    const [text, json] = [await api.get(path, TEXT), await api.get(path)];
    expect([text.headers.get('content-type'), text.headers.get('vary')]).toEqual([TOON_TYPE, 'accept']);
    const page = readToonPage(text.text);
    const { status, ...error } = errorOf(json);
    expect([text.status, undone(page.data)]).toEqual([status, { error }]);
    expect(page.summary).toContain(error.message.slice(0, 20));
    for (const link of linksOf(page)) expect([200, 307]).toContain((await api.get(link, TEXT)).status);
    expect(['etag', 'cache-control'].filter((header) => text.headers.has(header))).toEqual([]);
  });

  it('of writes are JSON, and of a query by its body TOON', async () => {
    expect(errorOf(await api.post(`/api/v1/db/${name}`, {}, TEXT)).status).toBe(400);
    expect(errorOf(await api.send('/databases/none', { method: 'DELETE', headers: TEXT })).status).toBe(404);
    const { status, text } = await api.post(`/databases/${name}/query`, { limit: 0 }, TEXT);
    const error = { code: 'INVALID_ARGUMENT' };
    expect([status, readToonPage(text).data]).toMatchObject([400, { error }]);
  });
});
