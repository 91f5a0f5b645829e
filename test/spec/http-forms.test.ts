// HTML forms have the same effect as JSON requests, commit once, and show faults at their fields (TH15). Forms of other
// origins are refused (TH14).
import { describe, expect, it } from 'vitest';
import { BROWSER, FORM_TYPE, FROM_HERE, sendForm, shownForm, valuesOf } from '../support/forms.ts';
import {
  type Answer,
  cloudEvent,
  errorOf,
  HttpClient,
  INVALID_ARGUMENT,
  jsonOf,
  uniqueName,
} from '../support/http-client.ts';
import { exchange, parseReplies } from '../support/raw-http.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { LAST_REVISION, toonDatabase } from '../support/toon-node.ts';
import { startTwoNodes } from '../support/two-nodes.ts';

const { api } = await sharedHttpNode();
const { name, components } = await toonDatabase(api);

const EVENT = cloudEvent('a', { data: { n: 12345678901234567890n.toString() } });
const EVENTS = JSON.stringify([EVENT]);
const RUN = `/api/v1/db/${name}/latest/state-changes/decides/v1`;
const EXECUTE = `/api/v1/db/${name}/state-changes/decides/v1/execute`;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const transact = (own: string, fields: Readonly<Record<string, string>>): Promise<Answer> =>
  sendForm(api, `/api/v1/db/${own}`, fields);
const placeOf = ({ status, headers }: Answer): unknown => [status, headers.get('location')];

describe('SPEC-HTTP-FORMS: a database', () => {
  it('is created, and shown', async () => {
    const own = uniqueName();
    const answer = await sendForm(api, '/api/v1/db', { database_name: own });
    expect(placeOf(answer)).toEqual([303, `/db/${own}/latest`]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await api.latestRevision(own)).toBe(0);
    const again = await sendForm(api, '/api/v1/db', { database_name: own });
    expect([again.status, shownForm(again).values]).toEqual([409, { database_name: own }]);
  });

  it.each(['', 'Not A Name', '"><script>'])('named %j is refused, at the field', async (database_name) => {
    const answer = await sendForm(api, '/api/v1/db', { database_name });
    const { title, summary, values, faults } = shownForm(answer);
    const { message } = errorOf(await api.post('/api/v1/db', database_name === '' ? {} : { database_name }));
    expect([answer.status, title, summary]).toEqual([400, 'That did not work', `The request failed: ${message}`]);
    expect([values, faults.length, answer.headers.has('cache-control')]).toEqual([{ database_name }, 1, false]);
  });
});

describe('SPEC-HTTP-FORMS: a transaction', () => {
  it('is committed once, with the values of its fields, and shown', async () => {
    const own = await api.created();
    const page = await api.get(`/databases/${own}`, BROWSER);
    expect(page.headers.get('cache-control')).toBe('no-store');
    const { transaction_id = '' } = valuesOf(page, 'transact');
    expect(transaction_id).toMatch(UUID);
    const conditions = JSON.stringify([{ min_revision: { revision: 0 } }]);
    const fields = { events: EVENTS.replace('{', '{\r\n'), conditions, commit_message: 'von Käthe', transaction_id };
    const place = `/api/v1/db/${own}/transaction/${transaction_id}`;
    expect(placeOf(await transact(own, fields))).toEqual([303, place]);
    const wanted = { transaction: { revision: 1, commit_message: 'von Käthe' }, events: [EVENT] };
    expect(jsonOf(await api.get(place))).toMatchObject(wanted);
    expect((await api.get(place, BROWSER)).text).toContain('von Käthe');
  });

  it('that is sent twice is committed once, and its form comes back with another id', async () => {
    const own = await api.created();
    const transaction_id = crypto.randomUUID();
    await transact(own, { events: EVENTS, transaction_id });
    const events = JSON.stringify([cloudEvent('b')]);
    const again = await transact(own, { events, transaction_id });
    const { title, summary, values } = shownForm(again);
    expect([again.status, title]).toEqual([200, 'Sent before']);
    expect(summary).toContain('committed as revision 1. Nothing more was committed');
    expect(await api.latestRevision(own)).toBe(1);
    expect([values['events'], values['transaction_id'] === transaction_id]).toEqual([events, false]);
    expect((await transact(own, values)).status).toBe(303);
    expect(await api.latestRevision(own)).toBe(2);
  });

  it('without an id is not committed, and its form comes back with one', async () => {
    const own = await api.created();
    const answer = await transact(own, { events: EVENTS, transaction_id: '' });
    const { title, values } = shownForm(answer);
    expect([answer.status, title, await api.latestRevision(own)]).toEqual([200, 'Not sent yet', 0]);
    expect([values['events'], UUID.test(values['transaction_id'] ?? '')]).toEqual([EVENTS, true]);
    expect((await transact(own, values)).status).toBe(303);
  });

  it('has no id on a page that may be cached, and its own id on every other page', async () => {
    const own = await api.created();
    const at = await api.get(`/db/${own}/0`, BROWSER);
    const told = [valuesOf(at, 'transact')['transaction_id'], at.headers.get('cache-control')];
    expect(told).toEqual(['', 'public, max-age=60']);
    for (const path of [`/databases/${own}`, `/db/${name}/state-changes/decides/v1`]) {
      const pages = await Promise.all([api.get(path, BROWSER), api.get(path, BROWSER)]);
      const ids = pages.map(({ text }) => text.match(/value="[0-9a-f-]{36}"/)?.[0]);
      expect([path, ids[0] === ids[1], ids.includes(undefined)]).toEqual([path, false, false]);
      for (const { headers } of pages) expect(headers.get('cache-control')).toBe('no-store');
      expect((await api.get(path)).headers.has('cache-control')).toBe(false);
    }
  });

  it.each([
    ['events', '[{"id":"a"}]', /^events at \[0\]\.specversion is required.*; at \[0\]\.source is/],
    ['events', '[], "conditions": []', /^events must be JSON: .*line 1, column 3/],
    ['events', '', /^events must have at least one event/],
    ['conditions', '[{"min_revision":{}}]', /^conditions at \[0\]/],
    ['transaction_id', 'no UUID', /^transaction id must be .*; found "no UUID"/],
    ['commit_message', 'x'.repeat(65_537), /^commit message must/],
  ])('is refused for a fault in %s (%#)', async (field, value, fault) => {
    const fields: Readonly<Record<string, string>> = {
      events: EVENTS,
      transaction_id: crypto.randomUUID(),
      [field]: value,
    };
    const own = await api.created();
    const answer = await transact(own, fields);
    const { values, faults } = shownForm(answer);
    expect([answer.status, faults]).toEqual([400, [expect.stringMatching(fault)]]);
    expect(values).toEqual({ conditions: '', commit_message: '', ...fields });
    expect(await api.latestRevision(own)).toBe(0);
  });

  it('whose condition does not hold, or whose database is missing, keeps its typed values', async () => {
    const own = await api.created();
    const fields = {
      events: EVENTS,
      conditions: '[{"min_revision":{"revision":7}}]',
      commit_message: '',
      transaction_id: crypto.randomUUID(),
    };
    for (const [database, status] of [
      [own, 409],
      ['nobody', 404],
    ] as const) {
      const answer = await transact(database, fields);
      expect([answer.status, shownForm(answer).values]).toEqual([status, fields]);
      expect(answer.headers.has('cache-control')).toBe(false);
    }
  });
});

describe('SPEC-HTTP-FORMS: components', () => {
  it('only decide in a dry run, without an id', async () => {
    for (const [path, fields] of [
      [RUN, { body: '{}', 'x-batch-id': '' }],
      [EXECUTE, { method: 'POST', path: '/x', body: '{"a":1}', 'x-batch-id': '', 'x-last-seen-revision': '' }],
    ] as const) {
      const answer = await sendForm(api, `${path}?dry_run=true`, fields);
      const { title, summary, values } = shownForm(answer);
      expect([path, answer.status, title, summary]).toEqual([
        path,
        200,
        'Dry run',
        `As of revision ${LAST_REVISION} 0 events would be committed; nothing has been.`,
      ]);
      expect(values).toEqual({ ...fields, 'x-batch-id': expect.stringMatching(UUID) });
      expect(answer.text).toContain(`action="${path}"`);
      const run = await sendForm(api, path, values);
      expect([run.status, shownForm(run).title]).toEqual([200, 'Nothing to commit']);
    }
  });

  it.each([
    [RUN, { 'x-batch-id': 'no UUID' }, /^x-batch-id must/],
    [EXECUTE, { path: 'no path' }, /^path must/],
    [EXECUTE, { body: '{' }, /^body must be JSON/],
    [EXECUTE, { 'x-last-seen-revision': '-1' }, /^x-last-seen-revision must/],
  ])('name the fault of a command: %s %j', async (path, wrong, fault) => {
    const answer = await sendForm(api, path, { 'x-batch-id': crypto.randomUUID(), ...wrong });
    const { values, faults } = shownForm(answer);
    expect([answer.status, values]).toEqual([400, expect.objectContaining(wrong)]);
    expect(faults[0]).toMatch(fault);
  });

  it('are published, and redirect to their version', async () => {
    const own = await api.created();
    const sent = (metadata: object): Promise<Answer> =>
      api.publish(`${own}/state-changes`, metadata, components.change, FROM_HERE);
    const metadata = { state_change_name: 'own' };
    const place = `/db/${own}/state-changes/own/v1`;
    for (let n = 0; n < 2; n++) expect(placeOf(await sent(metadata))).toEqual([303, place]);
    const refused = await sent({});
    const { title, summary } = shownForm(refused);
    expect([refused.status, title, summary.includes('state_change_name')]).toEqual([400, 'That did not work', true]);
  });
});

describe('SPEC-HTTP-FORMS: a request', () => {
  it('is a form when its route offers one and it asks for a page', async () => {
    const own = await api.created();
    const fields = { events: EVENTS, transaction_id: crypto.randomUUID() };
    for (const accept of ['application/json', '*/*', 'text/plain', 'application/json, text/html;q=0.5']) {
      const answer = await sendForm(api, `/api/v1/db/${own}`, fields, { ...FROM_HERE, accept });
      expect(errorOf(answer, INVALID_ARGUMENT).details?.field).toBe('Content-Type');
    }
    for (const path of ['/databases', `/databases/${own}/events`, `/api/v1/db/${own}/async`]) {
      expect(errorOf(await sendForm(api, path, fields), INVALID_ARGUMENT).details?.field).toBe('Content-Type');
    }
    const parts = await sendForm(api, `/api/v1/db/${own}/presenters`, { metadata: '{}' });
    expect(errorOf(parts, INVALID_ARGUMENT).details?.field).toBe('Content-Type');
    const json = await api.post(`/api/v1/db/${own}`, { events: [EVENT] }, FROM_HERE);
    expect([json.status, jsonOf(json)]).toMatchObject([200, { transaction: { revision: 1 } }]);
  });

  it('with another content type is passed to the command unchanged', async () => {
    const { 'sec-fetch-site': _site, ...elsewhere } = FROM_HERE;
    const sent = await sendForm(api, RUN, 'a=%', { ...elsewhere, accept: '*/*' });
    expect([sent.status, jsonOf(sent)]).toMatchObject([200, { revision: LAST_REVISION }]);
  });
});

it('SPEC-HTTP-FORMS: a node without a copy relays a form to a node that answers it as its own', async () => {
  const { other } = await startTwoNodes('held');
  const away = new HttpClient(other.http);
  const fields = { events: EVENTS, conditions: '', commit_message: '', transaction_id: crypto.randomUUID() };
  const path = '/api/v1/db/held';
  const place = `${path}/transaction/${fields.transaction_id}`;
  expect(placeOf(await sendForm(away, path, fields))).toEqual([303, place]);
  expect((await away.get(place, BROWSER)).status).toBe(200);
  expect(shownForm(await sendForm(away, path, fields)).title).toBe('Sent before');
  const wrong = { ...fields, events: '{', transaction_id: crypto.randomUUID() };
  const answer = await sendForm(away, path, wrong);
  expect([answer.status, shownForm(answer).values]).toEqual([400, wrong]);
  const foreign = await sendForm(away, path, wrong, { ...BROWSER, origin: 'https://evil.example' });
  expect(foreign.status).toBe(403);
  expect(await away.latestRevision('held')).toBe(1);
});

describe('SPEC-HTTP-FORMS: hostile forms', () => {
  const manyFields = Array.from({ length: 5000 }, (_, at) => `f${at}=1`).join('&');
  const deep = `${'['.repeat(2000)}${']'.repeat(2000)}`;

  it.each([
    ['half of a percent encoding', 'events=%4', 'must have percent encodings of UTF-8'],
    ['raw bytes that are no UTF-8', Buffer.from('a=\xff', 'latin1'), 'must be fields in UTF-8'],
    ['a field nobody knows', 'event=[]', 'event is no field of this form: it has events, conditions'],
    ['a field of every object', '__proto__=1', '__proto__ is no field of this form'],
    ['thousands of fields', manyFields, 'must have at most 32 fields'],
    ['thousands of one field', 'events=1&'.repeat(5000), 'events must be given once'],
    ['a depth that nobody needs', `events=${encodeURIComponent(deep)}`, 'events must be JSON'],
  ])('with %s are refused with the fault', async (_what, body, message) => {
    const own = await api.created();
    const answer = await sendForm(api, `/api/v1/db/${own}`, body);
    const { title, summary } = shownForm(answer);
    expect([answer.status, title, summary]).toEqual([400, 'That did not work', expect.stringContaining(message)]);
    expect(await api.latestRevision(own)).toBe(0);
  });

  it('in another charset, or compressed, are refused', async () => {
    const fields = { events: EVENTS, transaction_id: crypto.randomUUID() };
    for (const [headers, field] of [
      [{ 'content-type': `${FORM_TYPE['content-type']}; charset=iso-8859-1` }, 'Content-Type'],
      [{ 'content-encoding': 'gzip' }, 'Content-Encoding'],
    ] as const) {
      const answer = await sendForm(api, `/api/v1/db/${name}`, fields, { ...FROM_HERE, ...headers });
      expect([answer.status, shownForm(answer).summary]).toEqual([400, expect.stringContaining(`${field} must`)]);
    }
    const utf8 = { ...FROM_HERE, 'content-type': `${FORM_TYPE['content-type']}; charset=UTF-8` };
    expect((await sendForm(api, `/api/v1/db/${await api.created()}`, fields, utf8)).status).toBe(303);
  });

  it('above 256 KiB are refused, with or without a length, and smaller ones are accepted', async () => {
    const own = await api.created();
    const filler = 'x'.repeat(262_144 - 400);
    const fields = { events: JSON.stringify([cloudEvent('a', { data: filler })]), transaction_id: crypto.randomUUID() };
    expect((await transact(own, fields)).status).toBe(303);
    const long = await transact(own, { ...fields, commit_message: 'x'.repeat(400) });
    expect([long.status, shownForm(long).summary]).toEqual([413, expect.stringContaining('at most 262144 bytes')]);
    const lines = Object.entries({ ...FROM_HERE, ...FORM_TYPE, host: new URL(api.address).host, connection: 'close' });
    const head = `POST /api/v1/db/${own} HTTP/1.1\r\n${lines.map(([key, value]) => `${key}: ${value}\r\n`).join('')}`;
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`.repeat(5);
    const chunked = `${head}transfer-encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`;
    const [reply] = parseReplies(await exchange(api.address, chunked));
    expect([reply?.status, reply?.body.includes('That did not work')]).toEqual([413, true]);
    expect(await api.latestRevision(own)).toBe(1);
  });
});

describe('SPEC-HTTP-FORMS: the query builder', () => {
  const builder = `/databases/${name}/query-builder`;
  const asked = async (query: string, headers = BROWSER): Promise<Answer> => api.get(`${builder}?${query}`, headers);
  const qOf = (answer: Answer): unknown => {
    const [path, text = ''] = answer.headers.get('location')?.split('?q=') ?? [];
    expect([answer.status, path]).toEqual([303, `/db/${name}/${LAST_REVISION}/events`]);
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  };

  it.each([
    ['attribute1=subject&value1=ada', { selector: { equals: { subject: { hasValue: true, value: 'ada' } } } }],
    [
      'join=or&attribute2=eventType&operator2=startsWith&value2=a.&value5=b',
      { selector: { or: [{ startsWith: { eventType: 'a.' } }, { equals: { stream: 'b' } }] } },
    ],
    [
      'start=2&from=2026-01-01T00:00:00Z&limit=3&direction=REVERSE',
      {
        range: { revision: { startAt: '2' }, effectiveTime: { startAt: '2026-01-01T00:00:00Z', endAtNow: true } },
        limit: '3',
        direction: 'REVERSE',
      },
    ],
  ])('redirects from %s to the events', async (query, expected) => {
    const answer = await asked(query, { accept: '*/*' });
    expect(qOf(answer)).toMatchObject(expected);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const found = await api.get(answer.headers.get('location') ?? '');
    expect([200, 307]).toContain(found.status);
  });

  it.each([
    ['attribute3=source&operator3=startsWith&value3=a', 'value3', /must|unknown/],
    ['attribute1=nothing&value1=a', 'attribute1', /must be one of stream, eventType/],
    ['start=4&end=3', 'end', /must/],
    ['from=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z', 'until', /must/],
    ['limit=0', 'limit', /must/],
  ])('shows the fault of %s at the field', async (query, field, fault) => {
    const answer = await asked(query);
    const faults = [...answer.text.matchAll(/<strong class="fault" id="([^"]*)-fault">([^<]*)</g)];
    expect([answer.status, faults.map(([, id]) => id)]).toEqual([400, [field]]);
    expect(faults[0]?.[2]?.replaceAll('&quot;', '"')).toMatch(fault);
    const typed = `name="${field}" value="${new URLSearchParams(query).get(field)}"`;
    expect(answer.text.includes(typed)).toBe(/^(?:value|start|end|from|until|limit)/.test(field));
    const { details } = errorOf(await asked(query, { accept: 'application/json' }), INVALID_ARGUMENT);
    expect(details?.field).toBe(field);
  });

  it('redirects without the empty fields', async () => {
    const answer = await asked('value1=orders&start=&end=');
    expect(placeOf(answer)).toEqual([307, `${builder}?value1=orders`]);
    expect((await api.get(builder, BROWSER)).status).toBe(200);
  });
});
