// Pages show the changes of a database and of a state between two revisions or versions, and link events to their
// causes.
import { describe, expect, it } from 'vitest';
import { linesView } from '../support/components/lines-view.ts';
import { SHOWING } from '../support/components/presenters.ts';
import { cloudEvent, errorOf, jsonOf, uniqueName } from '../support/http-client.ts';
import { createHistory } from '../support/http-history.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { readToonPage } from '../support/toon-pages.ts';
import { wat } from '../support/wasm/wat.ts';

const { api } = await sharedHttpNode();
const database = uniqueName();
await createHistory(api, database);
const HTML = { accept: 'text/html' };
const TEXT = { accept: 'text/plain' };

describe('SPEC-HTTP-CHANGES', () => {
  it('counts revisions, events and names between two revisions', async () => {
    expect(jsonOf(await api.get(`/db/${database}/5?since=2`))).toMatchObject({
      database,
      revision: 5,
      event_count: 10,
      since: 2,
      new_revisions: 3,
      new_events: 7,
      counted_events: 7,
      stream_count: 2,
      streams: [
        { name: 'orders', events: 6 },
        { name: 'carts', events: 1 },
      ],
      subjects: [
        { name: 'ada', events: 1 },
        { name: 'ada lovelace/1', events: 1 },
      ],
      event_types: [
        { name: 'order.shipped', events: 5 },
        { name: 'cart.emptied', events: 1 },
        { name: 'order.paid', events: 1 },
      ],
    });
  });

  it('never changes, and has its own tag', async () => {
    const tagOf = async (path: string): Promise<string> => (await api.get(path)).headers.get('etag') ?? '';
    const tags = await Promise.all(['?since=2', '?since=1', ''].map((rest) => tagOf(`/db/${database}/5${rest}`)));
    expect(new Set(tags).size).toBe(3);
    const again = await api.get(`/db/${database}/5?since=2`, { 'if-none-match': tags[0] ?? '' });
    expect(again.status).toBe(304);
    const latest = await api.get(`/db/${database}/latest?since=2`);
    expect([latest.status, latest.headers.get('location')]).toEqual([307, `/db/${database}/5?since=2`]);
  });

  it.each([
    ['4', /must not be after the revision, which is 3/],
    ['latest', /since/],
  ])('refuses since=%s', async (since, message) => {
    const answer = await api.get(`/db/${database}/3?since=${since}`);
    expect([answer.status, errorOf(answer).details?.field]).toEqual([400, 'since']);
    expect(errorOf(answer).message).toMatch(message);
  });

  it('links to the events and to other revisions, in text and on a page', async () => {
    const { summary, links } = readToonPage((await api.get(`/db/${database}/5?since=2`, TEXT)).text);
    expect(summary).toBe(`The database ${database} got 7 events between revision 2 and revision 5.`);
    expect(links).toMatchObject({
      new_events: `GET /db/${database}/5/events?start=3`,
      before: `GET /db/${database}/2`,
      changes_before: `GET /db/${database}/2?since=1`,
    });
    const { text } = await api.get(`/db/${database}/5?since=2`, HTML);
    expect(text).toContain(`href="/db/${database}/5/event-types/order.shipped"`);
    expect(text).toContain(`data-first="2" data-revision="5" data-path="/db/${database}/{revision}?since=2"`);
  });

  it('says how many events were counted, when not all were', async () => {
    const own = await api.created();
    const large = Array.from({ length: 10 }, (_, at) => cloudEvent(`${at}`, { data: 'x'.repeat(990_000) }));
    for (const event of large) await api.commit(own, event);
    const changes = jsonOf(await api.get(`/db/${own}/10?since=0`)) as { readonly counted_events: number };
    expect(changes).toMatchObject({ new_events: 10 });
    expect(changes.counted_events).toBeLessThan(10);
    const { text } = await api.get(`/db/${own}/10?since=0`, HTML);
    expect(text).toContain(`the names are those of the first ${changes.counted_events} of them`);
  });
});

describe('SPEC-HTTP-STATE-PAGE', async () => {
  const shop = await api.created();
  const VIEW = { content_type: 'text/plain', query_temporality: 'revision', event_selector: {} };
  const published = async (metadata: object, line: string): Promise<void> => {
    const component = await linesView({ first: 'begin\n', line, last: 'end' });
    expect(await api.publish(`${shop}/state-views`, { ...VIEW, ...metadata }, component)).toMatchObject({
      status: 201,
    });
  };
  await published({ state_view_name: 'lines' }, 'one\n');
  await published({ state_view_name: 'lines' }, 'two\n');
  await published({ state_view_name: 'binary', content_type: 'application/x-bytes' }, 'one\n');
  await published({ state_view_name: 'long' }, `${'x'.repeat(255)}\n`);
  await published(
    { state_view_name: 'timed', query_temporality: 'effective_timestamp', content_type: 'application/json' },
    '1\n',
  );
  const bySubject = { type: 'equals', attr: { subject: { parameter: 'account' } } };
  await published({ state_view_name: 'one', event_selector: bySubject }, 'one\n');
  const shows = { presenter_name: 'shows', content_types: ['text/csv'] };
  await api.publish(`${shop}/presenters`, shows, await wat(SHOWING));
  await published({ state_view_name: 'shown', presenter: 'shows' }, 'one\n');
  for (const [at, subject] of ['ada', 'bob', 'ada'].entries()) {
    await api.commit(shop, cloudEvent(`${at}`, { subject, time: `2024-01-0${at + 1}T00:00:00Z` }));
  }
  const pathOf = (view: string, query: string, version = 1): string =>
    `/db/${shop}/state-views/${view}/v${version}?${query}`;
  const read = async (view: string, query: string, version = 1): Promise<unknown> =>
    jsonOf(await api.get(pathOf(view, query, version)));

  it('shows the state at a revision', async () => {
    const shown = { state_revision: 2, state: 'begin\none\none\nend', name: 'lines', version: 1 };
    expect(await read('lines', 'revision=2')).toMatchObject(shown);
    expect(await read('lines', 'revision=latest', 2)).toMatchObject({ state_revision: 3, version: 2 });
    expect(await read('lines', '')).not.toHaveProperty('state');
  });

  it('shows the difference from another revision, and from another version', async () => {
    expect(await read('lines', 'revision=3&other_revision=1')).toMatchObject({
      other_version: 1,
      other_revision: 1,
      difference: '@@ -1,3 +1,5 @@\n begin\n one\n+one\n+one\n end',
    });
    const wanted = { other_version: 1, other_revision: 1, difference: '@@ -1,3 +1,3 @@\n begin\n-one\n+two\n end' };
    expect(await read('lines', 'revision=1&other_version=1', 2)).toMatchObject(wanted);
    expect(await read('lines', 'revision=3&other_revision=3')).toMatchObject({ difference: '' });
  });

  it('takes the parameters of the view, and one cut for both sides', async () => {
    const expected = { state: 'begin\none\none\nend', difference: expect.stringContaining('+one') };
    expect(await read('one', 'revision=3&subject.account=ada&other_revision=2')).toMatchObject(expected);
    const cut = '2024-01-02T00:00:00Z';
    const whole = { effective_time_end_at: cut, state: 'begin\n1\n1\nend' };
    expect(await read('timed', `revision=3&effective_time_end_at=${cut}`)).toMatchObject(whole);
    expect(await read('timed', 'revision=3&effective_time_end_at=now')).toMatchObject({
      state: 'begin\n1\n1\n1\nend',
    });
  });

  it.each([
    ['lines', 'revision=1&other_revision=4', 404, /no revision 4/],
    ['lines', 'revision=1&other_version=9', 404, /version/],
    ['lines', 'other_revision=1', 400, /revision/],
    ['one', 'revision=1', 400, /subject\.account/],
    ['timed', 'revision=1', 400, /effective_time_end_at/],
    ['binary', 'revision=1', 400, /is application\/x-bytes: a page shows text and JSON/],
    ['shown', 'revision=1', 400, /is shown by a presenter/],
  ])('refuses of %s %s', async (view, query, status, message) => {
    const answer = await api.get(pathOf(view, query));
    expect([answer.status, errorOf(answer).message]).toEqual([status, expect.stringMatching(message)]);
  });

  it('does not show a long state', async () => {
    await api.commit(shop, ...Array.from({ length: 300 }, (_, at) => cloudEvent(`many${at}`)));
    const answer = await api.get(pathOf('long', 'revision=4'));
    const told = [answer.status, errorOf(answer).message];
    expect(told).toEqual([413, expect.stringMatching(/its render has all of them/)]);
  });

  it('is a page with links to other revisions, and with added and removed lines', async () => {
    const { text } = await api.get(pathOf('lines', 'revision=2&other_revision=1', 2), HTML);
    expect(text).toContain(`data-path="/db/${shop}/state-views/lines/v2?revision={revision}"`);
    expect(text).toContain('<ins>+two\n</ins>');
    expect(text).toContain(`href="/api/v1/db/${shop}/2/state-views/lines/v2"`);
    const plain = await api.get(pathOf('one', 'revision=2&subject.account=a'), TEXT);
    expect(readToonPage(plain.text).links).toMatchObject({
      rendered: `GET /api/v1/db/${shop}/2/state-views/one/v1?subject.account=a`,
      last_change: `GET /db/${shop}/state-views/one/v1?revision=2&other_revision=1&subject.account=a`,
    });
  });
});

const idOf = (revision: number): string => `0193a1b2-c3d4-7e5f-8a9b-${String(revision).padStart(12, '0')}`;

interface Said {
  readonly causation_id?: string;
  readonly correlation_id?: string;
}

async function databaseOf(all: readonly Said[]): Promise<string> {
  const name = await api.created();
  for (const [at, said] of all.entries()) {
    const transaction = { ...said, transaction_id: idOf(at + 1), events: [cloudEvent(`${at}`)] };
    const { status } = await api.post(`/api/v1/db/${name}`, transaction);
    expect(status).toBe(200);
  }
  return name;
}

async function linksOf(path: string): Promise<Readonly<Record<string, string>>> {
  const answer = await api.get(path, TEXT);
  expect(answer.status).toBe(200);
  return readToonPage(answer.text).links;
}

describe('SPEC-HTTP-CAUSES', () => {
  it('links from an event to its transaction and to its causes', async () => {
    const last = { causation_id: idOf(2).toUpperCase(), correlation_id: 'c' };
    const name = await databaseOf([{}, { causation_id: idOf(1) }, {}, last]);
    const path = (revision: number): string => `GET /api/v1/db/${name}/transaction/${idOf(revision)}`;
    const chain = { transaction: path(4), caused_by: path(2), caused_by_2_back: path(1) };
    expect(await linksOf(`/db/${name}/4/events/4?index=0`)).toMatchObject(chain);
    expect(await linksOf(`/db/${name}/4/events/1?index=0`)).not.toHaveProperty('caused_by');
    const { text } = await api.get(`/db/${name}/4/events/4`, HTML);
    expect(text).toContain(`<a href="/api/v1/db/${name}/transaction/${idOf(2)}">caused by</a>`);
    expect(text).toContain('with the correlation id &quot;c&quot;');
  });

  it.each<[string, readonly Said[]]>([
    ['what is no transaction of the database', [{ causation_id: idOf(9) }]],
    ['what is no id', [{ causation_id: 'an event' }]],
    ['itself', [{ causation_id: idOf(1) }]],
    ['what was committed later', [{ causation_id: idOf(2) }, {}]],
  ])('links to no cause that is %s', async (_what, all) => {
    const name = await databaseOf(all);
    expect(await linksOf(`/db/${name}/1/events/1?index=0`)).not.toHaveProperty('caused_by');
    expect(await linksOf(`/api/v1/db/${name}/transaction/${idOf(1)}`)).not.toHaveProperty('caused_by');
  });

  it('shows at most eight causes', async () => {
    const chain = Array.from({ length: 10 }, (_, at) => (at === 0 ? {} : { causation_id: idOf(at) }));
    const name = await databaseOf(chain);
    const back = Object.keys(await linksOf(`/db/${name}/10/events/10`)).filter((each) => each.startsWith('caused_by'));
    expect(back).toHaveLength(8);
  });
});
