// Goal: events are found and shown as the specification says, in both route families: queries, pages, single events,
// streams, subjects, event types and their listings. Method: a real node with one database of five transactions.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  cloudEvent,
  errorOf,
  HttpClient,
  INVALID_ARGUMENT,
  jsonOf,
  NOT_FOUND,
  q,
  uniqueName,
} from '../support/http-client.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let api: HttpClient;
let databaseId: string;
const name = uniqueName();

interface EventJson {
  readonly id: string;
  readonly revision: number;
  readonly index: number;
  readonly recordedtime: string;
}

interface Page {
  readonly revision?: number;
  readonly events: readonly EventJson[];
  readonly has_more: boolean;
  readonly next?: string;
  readonly next_cursor?: string;
}

const ids = (answer: Answer): readonly string[] => (jsonOf(answer) as Page).events.map(({ id }) => id);

/** Revision, then events: ids tell where they are. */
const HISTORY: readonly (readonly object[])[] = [
  [cloudEvent('1.0', { subject: 'ada', time: '2024-01-05T00:00:00Z' }), cloudEvent('1.1', { subject: 'bob' })],
  [cloudEvent('2.0', { source: '/db/shop/streams/carts', type: 'cart.filled', time: '2024-01-01T00:00:00Z' })],
  [cloudEvent('3.0', { type: 'order.paid', subject: 'ada', time: '2024-01-03T00:00:00+02:00' })],
  [
    cloudEvent('4.0', {
      source: 'carts',
      type: 'cart.emptied',
      subject: 'ada lovelace/1',
      time: '2024-01-02T00:00:00Z',
    }),
  ],
  [0, 1, 2, 3, 4].map((index) => cloudEvent(`5.${index}`, { type: 'order.shipped', data: { index } })),
];
const IN_ORDER = ['1.0', '1.1', '2.0', '3.0', '4.0', '5.0', '5.1', '5.2', '5.3', '5.4'];

beforeAll(async () => {
  server = await startTestServer();
  api = new HttpClient(server.http);
  databaseId = await api.create(name);
  for (const events of HISTORY) await api.commit(name, ...events);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

function query(question: unknown, revision: number = 5): Promise<Answer> {
  return api.get(`/db/${name}/${revision}/events?q=${q(question)}`);
}

function search(body: unknown): Promise<Answer> {
  return api.post(`/databases/${name}/query`, body);
}

describe('SPEC-HTTP-R2: GET /db/{database}/{revision}/events?q=', () => {
  it('answers all events up to the revision without q', async () => {
    const answer = await api.get(`/db/${name}/3/events`);
    expect(ids(answer)).toEqual(IN_ORDER.slice(0, 4));
    expect(jsonOf(answer)).toMatchObject({ database: name, revision: 3, has_more: false });
    expect(answer.headers.get('x-database-id')).toBe(databaseId);
    expect(answer.headers.get('x-revision')).toBe('3');
    expect(answer.headers.get('link')).toBeNull();
  });

  it.each([
    [{}, IN_ORDER],
    [{ selector: { equals: { stream: 'carts' } } }, ['2.0', '4.0']],
    [{ selector: { equals: { eventType: 'order.paid' } } }, ['3.0']],
    [{ selector: { equals: { subject: { hasValue: true, value: 'ada' } } } }, ['1.0', '3.0']],
    [{ selector: { equals: { subject: { value: 'ada' } } } }, ['2.0', '5.0', '5.1', '5.2', '5.3', '5.4']],
    [{ selector: { startsWith: { eventType: 'cart.' } } }, ['2.0', '4.0']],
    [{ selector: { startsWith: { subject: 'ada' } } }, ['1.0', '3.0', '4.0']],
    [
      { selector: { or: [{ equals: { eventType: 'cart.filled' } }, { equals: { eventType: 'order.paid' } }] } },
      ['2.0', '3.0'],
    ],
    [
      {
        selector: {
          and: [{ equals: { stream: 'orders' } }, { equals: { subject: { hasValue: true, value: 'ada' } } }],
        },
      },
      ['1.0', '3.0'],
    ],
    [{ direction: 'REVERSE', limit: 3 }, ['5.4', '5.3', '5.2']],
    [{ range: { revision: { startAt: 2, endAt: 4 } } }, ['2.0', '3.0', '4.0']],
    [{ range: { revision: { startAt: 9 } } }, []],
    [{ range: { revision: 9 } }, []],
    [{ selector: { equals: { stream: 'none' } } }, []],
    [{ range: { effectiveTime: { endAt: '2024-01-03T00:00:00Z' } } }, ['2.0', '4.0', '3.0']],
    [
      { range: { effectiveTime: { startAt: '2024-01-02T00:00:00Z', endAt: '2024-01-05T00:00:00Z' } } },
      ['4.0', '3.0', '1.0'],
    ],
    [
      { range: { effectiveTime: { endAt: '2024-01-05T00:00:00Z' } }, direction: 'REVERSE' },
      ['1.0', '3.0', '4.0', '2.0'],
    ],
  ])('answers %j', async (question, expected) => {
    expect(ids(await query(question))).toEqual(expected);
  });

  it('never shows an event above the revision', async () => {
    expect(ids(await query({ direction: 'REVERSE' }, 2))).toEqual(['2.0', '1.1', '1.0']);
    expect(ids(await query({ range: { effectiveTime: { endAt: '2030-01-01T00:00:00Z' } } }, 2))).toEqual([
      '2.0',
      '1.0',
      '1.1',
    ]);
  });

  it.each([{ limit: 3 }, { limit: 3, direction: 'REVERSE' }, { limit: 1, selector: { equals: { stream: 'orders' } } }])(
    'pages of %j by their links give the whole answer',
    async (question) => {
      const seen: string[] = [];
      let path: string | undefined = `/db/${name}/5/events?q=${q(question)}`;
      while (path !== undefined) {
        const answer = await api.get(path);
        const { has_more, next, events } = jsonOf(answer) as Page;
        expect(has_more).toBe(next !== undefined);
        expect(answer.headers.get('link')).toBe(next === undefined ? null : `<${next}>; rel="next"`);
        seen.push(...events.map(({ id }) => id));
        path = next;
      }
      const { limit: _limit, ...whole } = question;
      expect(seen).toEqual(ids(await query(whole)));
    },
  );

  it('pages along effective time by their links', async () => {
    const range = { effectiveTime: { endAt: '2024-01-05T00:00:00Z' } };
    const first = jsonOf(await query({ limit: 2, range })) as Page;
    expect(first.events.map(({ id }) => id)).toEqual(['2.0', '4.0']);
    expect(ids(await api.get(first.next ?? ''))).toEqual(['3.0', '1.0']);
  });

  it('reports the cut that it applied', async () => {
    const answer = await query({ range: { effectiveTime: { endAt: '2024-01-03T02:00:00.50+02:00' } } });
    expect(answer.headers.get('x-effective-time-end-at')).toBe('2024-01-03T00:00:00.5Z');
    expect(jsonOf(answer)).toMatchObject({ effective_time_end_at: '2024-01-03T00:00:00.5Z' });
  });

  it('with endAtNow redirects to the query that names the time', async () => {
    const answer = await query({
      selector: { equals: { stream: 'carts' } },
      range: { effectiveTime: { endAtNow: true } },
    });
    expect(answer.status).toBe(307);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-database-id')).toBe(databaseId);
    const followed = await api.get(answer.headers.get('location') ?? '');
    expect(ids(followed)).toEqual(['2.0', '4.0']);
    const cut = followed.headers.get('x-effective-time-end-at') ?? '';
    expect(cut).toBe(answer.headers.get('x-effective-time-end-at'));
    expect(Math.abs(Date.parse(cut) - Date.now())).toBeLessThan(60_000);
  });

  it.each([
    ['with both cuts', { range: { effectiveTime: { endAt: '2024-01-01T00:00:00Z', endAtNow: true } } }],
    ['with neither cut', { range: { effectiveTime: { startAt: '2024-01-01T00:00:00Z' } } }],
    ['with endAtNow: false', { range: { effectiveTime: { endAtNow: false } } }],
    ['with a time that is none', { range: { effectiveTime: { endAt: '2024-01-01' } } }],
    ['with a crossed range', { range: { revision: { startAt: 4, endAt: 2 } } }],
    ['with an unknown direction', { direction: 'UP' }],
    ['with an unknown member', { selectors: [] }],
    ['with an unknown attribute', { selector: { equals: { colour: 'red' } } }],
    ['with a limit of 0', { limit: 0 }],
    ['with a limit beyond a page', { limit: 1001 }],
    ['that is an array', []],
    ['that is null', null],
    ['that is no JSON', '{"selector":'],
  ])('answers 400 to a query %s', async (_what, question) => {
    const { details } = errorOf(await query(question), INVALID_ARGUMENT);
    expect(details?.field).toMatch(/^q/);
  });

  it.each(['', 'e30=', '*', 'e3', 'e30%3D', 'eyJkaXJlY3Rpb24iOiJGT1JXQVJEIn0=', '+/+/'])(
    'answers 400 to q=%s',
    async (text) => {
      expect(errorOf(await api.get(`/db/${name}/5/events?q=${text}`))).toMatchObject(INVALID_ARGUMENT);
    },
  );

  it('takes the largest selector there is', async () => {
    const selectors = Array.from({ length: 250 }, (_, n) => ({ equals: { stream: String(n).padEnd(255, 'x') } }));
    expect(await query({ selector: { or: selectors } })).toMatchObject({ status: 200 });
  });

  it('answers 404 beyond the revision and in a missing database', async () => {
    expect(errorOf(await query({}, 6), NOT_FOUND).details?.reason).toBe('RevisionNotFound');
    expect(errorOf(await api.get('/db/missing/0/events'))).toMatchObject(NOT_FOUND);
  });
});

describe('SPEC-HTTP-COLLECTION-QUERY: POST /databases/{database_name}/query', () => {
  it.each([
    [{}, IN_ORDER],
    [{ selectors: [] }, IN_ORDER],
    [{ selectors: [{ stream: 'carts' }] }, ['2.0', '4.0']],
    [{ selectors: [{ event_type: 'order.paid' }, { event_type: 'cart.filled' }] }, ['2.0', '3.0']],
    [{ selectors: [{ stream: 'orders', subject: 'ada' }] }, ['1.0', '3.0']],
    [{ selectors: [{ source: '/db/shop/streams/carts' }] }, ['2.0']],
    [{ revision_range: { start: 2, end: 3 } }, ['2.0', '3.0']],
    [{ effective_time_range: { start: '2024-01-01T00:00:00Z', end: '2024-01-02T12:00:00Z' } }, ['2.0', '4.0']],
    [{ direction: 'reverse', limit: 2 }, ['5.4', '5.3']],
    [{ after: { revision: 5, index: 2 } }, ['5.3', '5.4']],
  ])('answers %j', async (body, expected) => {
    expect(ids(await search(body))).toEqual(expected);
  });

  it('gives every event its revision, index and recordedtime', async () => {
    const { events } = jsonOf(await search({ revision_range: { start: 5, end: 5 } })) as Page;
    expect(events.map(({ revision, index }) => [revision, index])).toEqual([0, 1, 2, 3, 4].map((index) => [5, index]));
    expect(new Set(events.map(({ recordedtime }) => recordedtime)).size).toBe(1);
  });

  it('pages by next_cursor at the revision of the first page (TH8)', async () => {
    const own = uniqueName();
    await api.create(own);
    for (let n = 1; n <= 5; n++) await api.commit(own, cloudEvent(`${n}`, { time: `2024-01-0${9 - n}T00:00:00Z` }));
    for (const body of [{ limit: 2 }, { limit: 2, effective_time_range: {} }, { limit: 2, direction: 'reverse' }]) {
      const first = jsonOf(await api.post(`/databases/${own}/query`, body)) as Page;
      expect(first).toMatchObject({ has_more: true, next_cursor: expect.any(String) });
      const latest = await api.commit(own, cloudEvent('late', { time: '2000-01-01T00:00:00Z' }));
      const second = await api.post(`/databases/${own}/query`, { ...body, after: first.next_cursor });
      expect(second.headers.get('x-revision')).toBe(String(latest - 1));
      const all = jsonOf(
        await api.post(`/databases/${own}/query`, { ...body, limit: 1000, revision_range: { end: latest - 1 } }),
      ) as Page;
      const two = [...first.events, ...(jsonOf(second) as Page).events].map(({ id, revision }) => [id, revision]);
      expect(two).toEqual(all.events.slice(0, 4).map(({ id, revision }) => [id, revision]));
    }
  });

  it.each([
    [{ limit: 1001 }],
    [{ limit: 0 }],
    [{ limit: '5x' }],
    [{ revision_range: { start: 3, end: 2 } }],
    [{ revision_range: 3 }],
    [{ effective_time_range: { start: 'x' } }],
    [{ direction: 'sideways' }],
    [{ selectors: { stream: 'a' } }],
    [{ selectors: [{ stream: '' }] }],
    [{ selector: {} }],
    [{ after: 'no cursor' }],
    [[]],
  ])('answers 400 to %j', async (body) => {
    expect(errorOf(await search(body))).toMatchObject(INVALID_ARGUMENT);
  });

  it('answers 404 in a missing database', async () => {
    expect(errorOf(await api.post('/databases/missing/query', {}))).toMatchObject(NOT_FOUND);
  });
});

describe('SPEC-HTTP-COLLECTION-LOG: GET /databases/{database_name}/events', () => {
  it('gives the log, with a cursor when there is more', async () => {
    const first = await api.get(`/databases/${name}/events?limit=4`);
    expect(ids(first)).toEqual(IN_ORDER.slice(0, 4));
    const { has_more, next_cursor } = jsonOf(first) as Page;
    expect(has_more).toBe(true);
    const rest = await api.get(`/databases/${name}/events?after=${next_cursor}`);
    expect(ids(rest)).toEqual(IN_ORDER.slice(4));
    expect(jsonOf(rest) as Page).not.toHaveProperty('next_cursor');
    expect(ids(await api.get(/<(.*)>/.exec(first.headers.get('link') ?? '')?.[1] ?? ''))).toEqual(IN_ORDER.slice(4, 8));
  });

  it('goes on inside a transaction', async () => {
    const first = jsonOf(await api.get(`/databases/${name}/events?limit=7`)) as Page;
    expect(ids(await api.get(`/databases/${name}/events?after=${first.next_cursor}`))).toEqual(['5.2', '5.3', '5.4']);
  });

  it('takes a revision as after', async () => {
    expect(ids(await api.get(`/databases/${name}/events?after=3`))).toEqual(IN_ORDER.slice(4));
    expect(ids(await api.get(`/databases/${name}/events?after=5`))).toEqual([]);
    expect(ids(await api.get(`/databases/${name}/events?after=900`))).toEqual([]);
  });

  it('refuses the cursor of a database that was re-created', async () => {
    const own = uniqueName();
    await api.create(own);
    await api.commit(own, cloudEvent('a'), cloudEvent('b'));
    const { next_cursor } = jsonOf(await api.get(`/databases/${own}/events?limit=1`)) as Page;
    await api.delete(`/databases/${own}`);
    await api.create(own);
    await api.commit(own, cloudEvent('c'), cloudEvent('d'));
    expect(errorOf(await api.get(`/databases/${own}/events?after=${next_cursor}`))).toMatchObject(NOT_FOUND);
  });

  it.each([
    'limit=0',
    'limit=1001',
    'limit=x',
    'limit=',
    'limit=1&limit=2',
    'after=-1',
    'after=1.5',
    'after=',
    'after=%ff',
  ])('answers 400 to ?%s', async (parameters) => {
    expect(errorOf(await api.get(`/databases/${name}/events?${parameters}`))).toMatchObject(INVALID_ARGUMENT);
  });
});

describe('SPEC-LIMITS-PAGE: pages', () => {
  it('hold 100 events unless told otherwise, and at most 1,000', async () => {
    const own = uniqueName();
    await api.create(own);
    await api.commit(own, ...Array.from({ length: 1000 }, (_, n) => cloudEvent(`a${n}`)));
    await api.commit(own, cloudEvent('last'));
    for (const path of [`/db/${own}/2/events`, `/databases/${own}/events`]) {
      const page = jsonOf(await api.get(path)) as Page;
      expect([page.events.length, page.has_more]).toEqual([100, true]);
    }
    const largest = jsonOf(await api.get(`/databases/${own}/events?limit=1000`)) as Page;
    expect([largest.events.length, largest.has_more]).toEqual([1000, true]);
  });
});

describe('SPEC-LIMITS-PAGE: pages of large events', () => {
  it('end early, and the next one goes on', async () => {
    const own = uniqueName();
    await api.create(own);
    const data = 'x'.repeat(900_000);
    for (let n = 1; n <= 12; n++) await api.commit(own, cloudEvent(`${n}`, { data }));
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let path: string | undefined = `/db/${own}/12/events`; path !== undefined; ) {
      const page: Page = jsonOf(await api.get(path)) as Page;
      seen.push(...page.events.map(({ id }) => id));
      sizes.push(page.events.length);
      path = page.next;
    }
    expect(seen).toEqual(Array.from({ length: 12 }, (_, n) => String(n + 1)));
    expect(sizes).toEqual([9, 3]);
  });
});

describe('SPEC-HTTP-SINGLE-EVENT', () => {
  it.each([`/databases/${name}/events/5`, `/db/${name}/5/events/5`])(
    '%s is the event at index 0, linked to the next',
    async (path) => {
      const answer = await api.get(path);
      expect(jsonOf(answer)).toMatchObject({ id: '5.0', revision: 5, index: 0, data: { index: 0 } });
      expect(answer.headers.get('link')).toBe(`<${path}?index=1>; rel="next"`);
      expect(answer.headers.get('x-revision')).toBe('5');
      expect(answer.headers.get('x-database-id')).toBe(databaseId);
    },
  );

  it('with index is another one, and the last has no link', async () => {
    const path = `/databases/${name}/events/5`;
    const third = await api.get(`${path}?index=3`);
    expect(jsonOf(third)).toMatchObject({ id: '5.3', index: 3 });
    expect(third.headers.get('link')).toBe(`<${path}?index=4>; rel="next"`);
    expect((await api.get(`${path}?index=4`)).headers.get('link')).toBeNull();
    expect((await api.get(`/databases/${name}/events/2`)).headers.get('link')).toBeNull();
  });

  it('is read at the latest revision in one family and at the revision of the path in the other', async () => {
    expect((await api.get(`/databases/${name}/events/2`)).headers.get('x-revision')).toBe('5');
    expect((await api.get(`/db/${name}/3/events/2`)).headers.get('x-revision')).toBe('3');
    expect(errorOf(await api.get(`/db/${name}/3/events/4`))).toMatchObject(NOT_FOUND);
  });

  it('is found by stream and stored id', async () => {
    expect(jsonOf(await api.get(`/db/${name}/5/events/carts/4.0`))).toMatchObject({ id: '4.0', revision: 4, index: 0 });
    expect(errorOf(await api.get(`/db/${name}/3/events/carts/4.0`))).toMatchObject(NOT_FOUND);
    expect(errorOf(await api.get(`/db/${name}/5/events/orders/4.0`))).toMatchObject(NOT_FOUND);
  });

  it('is found by ids that need encoding, and by the id that it was given instead of a taken one', async () => {
    const own = uniqueName();
    await api.create(own);
    await api.commit(
      own,
      cloudEvent('a/b ü%'),
      cloudEvent('a/b ü%'),
      cloudEvent('x'.repeat(255)),
      cloudEvent('x'.repeat(255)),
    );
    expect(jsonOf(await api.get(`/db/${own}/1/events/orders/a%2Fb%20%C3%BC%25`))).toMatchObject({ index: 0 });
    expect(jsonOf(await api.get(`/db/${own}/1/events/orders/a%2Fb%20%C3%BC%25~1.1`))).toMatchObject({ index: 1 });
    expect(jsonOf(await api.get(`/db/${own}/1/events/orders/${'x'.repeat(255)}~1.3`))).toMatchObject({ index: 3 });
  });

  it.each(['0', '6', '9007199254740991', '5?index=5', '5?index=999', '1?index=2'])(
    '%s is not there: 404',
    async (which) => {
      expect(errorOf(await api.get(`/databases/${name}/events/${which}`))).toMatchObject(NOT_FOUND);
    },
  );

  it.each(['x', '-1', '5?index=-1', '5?index=x', '5?index=1e1', '9007199254740992', 'latest'])(
    '%s is malformed: 400',
    async (which) => {
      expect(errorOf(await api.get(`/databases/${name}/events/${which}`))).toMatchObject(INVALID_ARGUMENT);
    },
  );
});

describe('SPEC-HTTP-SINGLE-STREAM, SUBJECT and EVENT-TYPE', () => {
  it.each([
    ['streams/carts', { stream: 'carts' }, ['2.0', '4.0']],
    ['subjects/ada', { subject: 'ada' }, ['1.0', '3.0']],
    ['subjects/ada%20lovelace%2F1', { subject: 'ada lovelace/1' }, ['4.0']],
    ['event-types/order.placed', { event_type: 'order.placed' }, ['1.0', '1.1']],
    ['streams/orders?direction=reverse&limit=2', { stream: 'orders', has_more: true }, ['5.4', '5.3']],
  ])('%s has its events', async (path, members, expected) => {
    const answer = await api.get(`/db/${name}/5/${path}`);
    expect(jsonOf(answer)).toMatchObject({ database: name, revision: 5, ...members });
    expect(ids(answer)).toEqual(expected);
  });

  it('pages by links', async () => {
    const first = jsonOf(await api.get(`/db/${name}/5/streams/orders?limit=6`)) as Page;
    const second = jsonOf(await api.get(first.next ?? '')) as Page;
    expect([...first.events, ...second.events].map(({ id }) => id)).toEqual(
      IN_ORDER.filter((id) => !['2.0', '4.0'].includes(id)),
    );
    expect(second).toMatchObject({ has_more: false });
  });

  it.each(['streams/none', 'subjects/none', 'event-types/none', 'streams/order'])('%s has none: 404', async (path) => {
    expect(errorOf(await api.get(`/db/${name}/5/${path}`))).toMatchObject(NOT_FOUND);
  });

  it('is not there before its first event', async () => {
    expect(errorOf(await api.get(`/db/${name}/1/streams/carts`))).toMatchObject(NOT_FOUND);
    expect(ids(await api.get(`/db/${name}/2/streams/carts`))).toEqual(['2.0']);
  });

  it.each([
    'streams/%00',
    `subjects/${'s'.repeat(256)}`,
    'streams/%20',
    'streams/a?direction=up',
    'streams/orders?after=1',
  ])('%s is malformed: 400', async (path) => {
    expect(errorOf(await api.get(`/db/${name}/5/${path}`))).toMatchObject(INVALID_ARGUMENT);
  });
});

describe('SPEC-HTTP-LISTINGS: streams, subjects and event types at a revision', () => {
  interface Listing {
    readonly streams?: readonly Named[];
    readonly subjects?: readonly Named[];
    readonly event_types?: readonly Named[];
    readonly has_more: boolean;
    readonly next?: string;
  }
  interface Named {
    readonly name: string;
    readonly first_revision: number;
  }

  it('name what had an event by then, in order', async () => {
    const streams = await api.get(`/db/${name}/5/streams`);
    expect(jsonOf(streams)).toEqual({
      database: name,
      revision: 5,
      streams: [
        { name: 'carts', first_revision: 2 },
        { name: 'orders', first_revision: 1 },
      ],
      has_more: false,
    });
    expect(streams.headers.get('x-revision')).toBe('5');
    expect((jsonOf(await api.get(`/db/${name}/1/streams`)) as Listing).streams).toEqual([
      { name: 'orders', first_revision: 1 },
    ]);
    expect((jsonOf(await api.get(`/db/${name}/0/streams`)) as Listing).streams).toEqual([]);
    const subjects = (jsonOf(await api.get(`/db/${name}/5/subjects`)) as Listing).subjects;
    expect(subjects?.map((entry) => entry.name)).toEqual(['ada', 'ada lovelace/1', 'bob']);
    const types = (jsonOf(await api.get(`/db/${name}/3/event-types`)) as Listing).event_types;
    expect(types?.map((entry) => entry.name)).toEqual(['cart.filled', 'order.paid', 'order.placed']);
  });

  it('are cut by prefix, and paged by links', async () => {
    const prefixed = jsonOf(await api.get(`/db/${name}/5/event-types?prefix=order.&limit=2`)) as Listing;
    expect(prefixed.event_types?.map((entry) => entry.name)).toEqual(['order.paid', 'order.placed']);
    expect(prefixed.has_more).toBe(true);
    const rest = jsonOf(await api.get(prefixed.next ?? '')) as Listing;
    expect(rest.event_types?.map((entry) => entry.name)).toEqual(['order.shipped']);
    expect(rest).toMatchObject({ has_more: false });
  });

  it.each(['limit=0', 'limit=1001', 'prefix=%00', `prefix=${'p'.repeat(256)}`, 'after=%00'])(
    'answer 400 to ?%s',
    async (parameters) => {
      expect(errorOf(await api.get(`/db/${name}/5/streams?${parameters}`))).toMatchObject(INVALID_ARGUMENT);
    },
  );

  it('answer 404 beyond the revision', async () => {
    expect(errorOf(await api.get(`/db/${name}/6/streams`))).toMatchObject(NOT_FOUND);
  });
});
