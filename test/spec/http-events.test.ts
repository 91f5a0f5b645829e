// Queries, the log, pages, single events and listings over HTTP. The reference model compares random queries.
import { describe, expect, it } from 'vitest';
import {
  type Answer,
  cloudEvent,
  errorOf,
  INVALID_ARGUMENT,
  jsonOf,
  NOT_FOUND,
  q,
  uniqueName,
} from '../support/http-client.ts';
import { createHistory, type EventPage, IN_ORDER, idsOf } from '../support/http-history.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api } = await sharedHttpNode();
const name = uniqueName();

const databaseId = await createHistory(api, name);

function query(question: unknown, revision: number = 5): Promise<Answer> {
  return api.get(`/db/${name}/${revision}/events?q=${q(question)}`);
}

describe('SPEC-HTTP-R2: GET /db/{database}/{revision}/events?q=', () => {
  it('reports the cut that it applied', async () => {
    const answer = await query({ range: { effectiveTime: { endAt: '2024-01-03T02:00:00.50+02:00' } } });
    expect(answer.headers.get('x-effective-time-end-at')).toBe('2024-01-03T00:00:00.5Z');
    expect(jsonOf(answer)).toMatchObject({ effective_time_end_at: '2024-01-03T00:00:00.5Z' });
  });

  it('with endAtNow redirects to the query with the current time', async () => {
    const answer = await query({
      selector: { equals: { stream: 'carts' } },
      range: { effectiveTime: { endAtNow: true } },
    });
    expect(answer.status).toBe(307);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-database-id')).toBe(databaseId);
    const followed = await api.get(answer.headers.get('location') ?? '');
    expect(idsOf(followed)).toEqual(['2.0', '4.0']);
    const cut = followed.headers.get('x-effective-time-end-at') ?? '';
    expect(cut).toBe(answer.headers.get('x-effective-time-end-at'));
    expect(Math.abs(Date.parse(cut) - Date.now())).toBeLessThan(60_000);
  });

  it.each(['', 'e30=', '*', 'e3', 'e30%3D', 'eyJkaXJlY3Rpb24iOiJGT1JXQVJEIn0=', '+/+/'])(
    'answers 400 to q=%s',
    async (text) => {
      expect(errorOf(await api.get(`/db/${name}/5/events?q=${text}`))).toMatchObject(INVALID_ARGUMENT);
    },
  );

  it('takes the largest allowed selector', async () => {
    const selectors = Array.from({ length: 250 }, (_, n) => ({ equals: { stream: String(n).padEnd(255, 'x') } }));
    expect(await query({ selector: { or: selectors } })).toMatchObject({ status: 200 });
  });
});

it('SPEC-HTTP-COLLECTION-QUERY: POST /databases/{database_name}/query answers 404 for a missing database, and 400 to a malformed body', async () => {
  expect(errorOf(await api.post('/databases/missing/query', {}))).toMatchObject(NOT_FOUND);
  expect(errorOf(await api.post(`/databases/${name}/query`, []))).toMatchObject(INVALID_ARGUMENT);
});

it('SPEC-HTTP-COLLECTION-LOG: GET /databases/{database_name}/events: gives the log, with a cursor for the next page', async () => {
  const first = await api.get(`/databases/${name}/events?limit=4`);
  expect(idsOf(first)).toEqual(IN_ORDER.slice(0, 4));
  const { has_more, next_cursor } = jsonOf(first) as EventPage;
  expect(has_more).toBe(true);
  const rest = await api.get(`/databases/${name}/events?after=${next_cursor}`);
  expect(idsOf(rest)).toEqual(IN_ORDER.slice(4));
  expect(jsonOf(rest) as EventPage).not.toHaveProperty('next_cursor');
  expect(idsOf(await api.get(/<(.*)>/.exec(first.headers.get('link') ?? '')?.[1] ?? ''))).toEqual(IN_ORDER.slice(4, 8));
});

it('SPEC-LIMITS-PAGE: pages hold 100 events by default, and at most 1,000', async () => {
  const own = await api.created();
  await api.commit(own, ...Array.from({ length: 1000 }, (_, n) => cloudEvent(`a${n}`)));
  await api.commit(own, cloudEvent('last'));
  for (const path of [`/db/${own}/2/events`, `/databases/${own}/events`]) {
    const page = jsonOf(await api.get(path)) as EventPage;
    expect([page.events.length, page.has_more]).toEqual([100, true]);
  }
  const largest = jsonOf(await api.get(`/databases/${own}/events?limit=1000`)) as EventPage;
  expect([largest.events.length, largest.has_more]).toEqual([1000, true]);
});

it('SPEC-LIMITS-PAGE: pages of large events end early, and the next page continues', async () => {
  const own = await api.created();
  const data = 'x'.repeat(900_000);
  for (let n = 1; n <= 12; n++) await api.commit(own, cloudEvent(`${n}`, { data }));
  const seen: string[] = [];
  const sizes: number[] = [];
  for (let path: string | undefined = `/db/${own}/12/events`; path !== undefined; ) {
    const page: EventPage = jsonOf(await api.get(path)) as EventPage;
    seen.push(...page.events.map(({ id }) => id));
    sizes.push(page.events.length);
    path = page.next;
  }
  expect(seen).toEqual(Array.from({ length: 12 }, (_, n) => String(n + 1)));
  expect(sizes).toEqual([9, 3]);
});

describe('SPEC-HTTP-SINGLE-EVENT', () => {
  it('can be read by index, and the last one has no link to a next one', async () => {
    const path = `/databases/${name}/events/5`;
    const third = await api.get(`${path}?index=3`);
    expect(jsonOf(third)).toMatchObject({ id: '5.3', index: 3 });
    expect(third.headers.get('link')).toBe(`<${path}?index=4>; rel="next"`);
    expect((await api.get(`${path}?index=4`)).headers.get('link')).toBeNull();
  });

  it.each(['x', '-1', '5?index=1e1', '18446744073709551616', 'latest'])('%s is malformed: 400', async (which) => {
    expect(errorOf(await api.get(`/databases/${name}/events/${which}`))).toMatchObject(INVALID_ARGUMENT);
  });
});

describe('SPEC-HTTP-SINGLE-STREAM, SUBJECT and EVENT-TYPE', () => {
  it('pages by links, and ends after its last event, also at an earlier revision', async () => {
    const { next } = jsonOf(await api.get(`/db/${name}/5/streams/carts?limit=1`)) as EventPage;
    expect(idsOf(await api.get(next ?? ''))).toEqual(['4.0']);
    expect(jsonOf(await api.get(next?.replace('/5/', '/2/') ?? ''))).toMatchObject({ events: [], has_more: false });
  });

  it.each(['streams/orders', 'subjects/s', 'event-types/order.placed', 'events'])(
    'refuses the cursor of a database that was re-created: %s (TH8)',
    async (list) => {
      const own = await api.created();
      const two = [cloudEvent('a', { subject: 's' }), cloudEvent('b', { subject: 's' })];
      await api.commit(own, ...two);
      const { next = '' } = jsonOf(await api.get(`/db/${own}/1/${list}?limit=1`)) as EventPage;
      const { next_cursor } = jsonOf(await api.get(`/databases/${own}/events?limit=1`)) as EventPage;
      const log = `/databases/${own}/events?after=${next_cursor}`;
      expect([idsOf(await api.get(next)), idsOf(await api.get(log))]).toEqual([['b'], ['b']]);
      await api.delete(`/databases/${own}`);
      await api.create(own);
      const refused = [await api.get(log)];
      await api.commit(own, ...two);
      refused.push(await api.get(log), await api.get(next));
      for (const answer of refused) {
        expect(errorOf(answer, NOT_FOUND).message).toContain('The cursor is not of the database that is now called');
      }
    },
  );

  it.each(['streams/%00', `subjects/${'s'.repeat(256)}`, 'streams/%20', 'streams/orders?after=1'])(
    '%s is malformed: 400',
    async (path) => {
      expect(errorOf(await api.get(`/db/${name}/5/${path}`))).toMatchObject(INVALID_ARGUMENT);
    },
  );
});

describe('SPEC-HTTP-LISTINGS: streams, subjects and event types at a revision', () => {
  it('are filtered by prefix, and paged by links', async () => {
    const prefixed = jsonOf(await api.get(`/db/${name}/5/event-types?prefix=order.&limit=2`)) as EventPage;
    const names = ['order.paid', 'order.placed'].map((each) => ({ name: each }));
    expect(prefixed).toMatchObject({ event_types: names, has_more: true });
    const rest = jsonOf(await api.get(prefixed.next ?? ''));
    expect(rest).toMatchObject({ event_types: [{ name: 'order.shipped' }], has_more: false });
  });

  it.each(['limit=0', 'limit=1001', 'prefix=%00', `prefix=${'p'.repeat(256)}`, 'after=%00'])(
    'answer 400 to ?%s',
    async (parameters) => {
      expect(errorOf(await api.get(`/db/${name}/5/streams?${parameters}`))).toMatchObject(INVALID_ARGUMENT);
    },
  );
});
