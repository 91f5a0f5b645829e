// Every route accepts its own query parameters and refuses all others.
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/transport/http/routes.ts';
import { OF_CLIENTS } from '../../src/transport/own-headers.ts';
import { STYLE_PATH } from '../../src/ui/html/assets.ts';
import { errorOf, INVALID_ARGUMENT, q, type Sent, uniqueName } from '../support/http-client.ts';
import { createHistory } from '../support/http-history.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api } = await sharedHttpNode();
const name = uniqueName();
await createHistory(api, name);

const OTHER_ID = '0193a1b2-c3d4-7e5f-8a9b-100000000000';

/** A valid value for each parameter that some path accepts, and two parameters that none accepts. */
const VALUES: Readonly<Record<string, string>> = {
  q: q({}),
  limit: '2',
  direction: 'reverse',
  after: 'orders',
  prefix: 'o',
  index: '0',
  database_id: OTHER_ID,
  since: '0',
  transaction_id: OTHER_ID,
  unheard: '1',
  verbose: '',
};
const EVENTS = ['limit', 'direction', 'after'];
const NAMES = ['limit', 'prefix', 'after'];

const TAKES: Readonly<Record<string, readonly string[]>> = {
  'GET /': ['limit', 'after'],
  'GET /databases': ['limit', 'after'],
  'GET /livez': ['verbose'],
  'GET /readyz': ['verbose'],
  'GET /startupz': ['verbose'],
  'GET /databases/{database}/state-views': ['limit', 'after'],
  'GET /databases/{database}/state-changes': ['limit', 'after'],
  'GET /db/{database}/{revision}/state-views': ['limit', 'after'],
  'GET /db/{database}/{revision}/state-changes': ['limit', 'after'],
  'GET /api/v1/db/{database}/state-changes': ['limit', 'after'],
  'GET /api/v1/db/{database}/presenters': ['limit', 'after'],
  'GET /db/{database}/{revision}': ['since'],
  'GET /db/{database}/{revision}/events': ['q', ...EVENTS],
  'GET /db/{database}/{revision}/streams/{stream}': EVENTS,
  'GET /db/{database}/{revision}/subjects/{subject}': EVENTS,
  'GET /db/{database}/{revision}/event-types/{event_type}': EVENTS,
  'GET /databases/{database}/events': EVENTS,
  'GET /db/{database}/{revision}/streams': NAMES,
  'GET /db/{database}/{revision}/subjects': NAMES,
  'GET /db/{database}/{revision}/event-types': NAMES,
  'GET /db/{database}/{revision}/events/{event_revision}': ['index'],
  'GET /databases/{database}/events/{revision}': ['index'],
  'DELETE /api/v1/db/{database}': ['database_id'],
  'DELETE /databases/{database}': ['database_id'],
  'POST /api/v1/db/{database}/state-changes/{name}/v{version}/execute': ['dry_run'],
};

const PLACES: Readonly<Record<string, string>> = {
  database: name,
  revision: '5',
  file: STYLE_PATH.slice('/assets/'.length),
  event_revision: '1',
  event_id: '1.0',
  stream: 'orders',
  subject: 'ada',
  event_type: 'order.paid',
  transaction_id: OTHER_ID,
  key_id: '0123456789abcdef',
  token_id: '0123456789abcdef',
  name: 'none',
  version: '1',
};

const READING_POST = 'POST /databases/{database}/query';

/** The headers of Cairn that a route accepts beside `x-min-revision`, which all routes accept. */
const TAKES_HEADERS: Readonly<Record<string, readonly string[]>> = {
  'POST /api/v1/db/{database}': ['x-batch-id'],
  'POST /databases/{database}/events': ['x-batch-id'],
  'POST /api/v1/db/{database}/async': ['x-batch-id'],
  'POST /api/v1/db/{database}/{revision}/state-changes/{name}/v{version}': ['x-batch-id'],
  'POST /api/v1/databases/{database}/state-changes/{name}/versions/{version}': ['x-batch-id'],
  'POST /databases/{database}/state-changes/{name}/process': ['x-batch-id'],
  'POST /api/v1/db/{database}/state-changes/{name}/v{version}/execute': ['x-batch-id', 'x-last-seen-revision'],
};

/** A fault in parameters is answered before the body is read, so only the route that needs a body gets one. */
function sentTo(route: string): Sent {
  const [method = ''] = route.split(' ');
  return route === READING_POST ? { method, body: '{}' } : { method };
}

function pathOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_whole, place: string) => PLACES[place] ?? '');
}

const OWN = ROUTES.filter(
  ({ path, takesAnyParameter }) => takesAnyParameter !== true && !path.endsWith('/query-builder'),
);

describe('SPEC-HTTP-PARAMETERS', () => {
  it.each(OWN)('$method $path accepts its own parameters, and refuses every other one', async ({ method, path }) => {
    const route = `${method} ${path}`;
    const taken = TAKES[route] ?? [];
    for (const [parameter, value] of Object.entries(VALUES).filter(([each]) => !taken.includes(each))) {
      const answer = await api.send(`${pathOf(path)}?${parameter}=${value}`, sentTo(route));
      const { message, details } = errorOf(answer, INVALID_ARGUMENT);
      expect(details?.field).toBe(parameter);
      expect(message).toContain(`${parameter} is no query parameter of this path`);
    }
    const isDeletion = method === 'DELETE';
    const at = isDeletion ? pathOf(path).replace(name, uniqueName()) : pathOf(path);
    for (const parameter of taken.filter((each) => each !== 'after' && each in VALUES)) {
      const { status } = await api.send(`${at}?${parameter}=${VALUES[parameter]}`, sentTo(route));
      expect([parameter, status]).toEqual([parameter, isDeletion ? 204 : 200]);
    }
  });

  it.each(ROUTES)('$method $path refuses every header of Cairn that it does not take', async ({ method, path }) => {
    const route = `${method} ${path}`;
    const taken = ['x-min-revision', ...(TAKES_HEADERS[route] ?? [])];
    for (const header of OF_CLIENTS.filter((each) => !taken.includes(each))) {
      const sent = sentTo(route);
      const answer = await api.send(pathOf(path), { ...sent, headers: { ...sent.headers, [header]: '1' } });
      expect(errorOf(answer, INVALID_ARGUMENT).message).toContain(`${header} is not taken here; taken are x-min-rev`);
    }
  });

  it.each([
    ['event_type=order.placed', 'event_type is no query parameter of this path: use type; it takes q'],
    ['eventType=order.placed', 'eventType is no query parameter of this path: use type; it takes q'],
    ['lmit=1', 'lmit is no query parameter of this path: use limit; it takes q'],
    ['cursor=1.0', 'cursor is no query parameter of this path: use after; it takes q'],
    ['at=1', 'at is no query parameter of this path: it takes q'],
  ])('?%s is refused, with the nearest name', async (search, said) => {
    const answer = await api.get(`/db/${name}/5/events?${search}`);
    expect(errorOf(answer, INVALID_ARGUMENT).message).toContain(said);
  });

  it.each([
    ['x-min-revison', 'use x-min-revision'],
    ['X-Last-Seen-Revison', 'use x-last-seen-revision'],
    ['x-cairn-trace', 'use x-batch-id, x-last-seen-revision, x-min-revision, x-require-leader'],
  ])(
    'the header %s, which looks like one of Cairn, is refused, and headers of others are not',
    async (header, said) => {
      const answer = await api.get(`/db/${name}/5/events`, { [header]: '1' });
      expect(errorOf(answer, INVALID_ARGUMENT).message).toContain(`${header.toLowerCase()} is unknown: ${said}`);
      for (const other of ['x-request-id', 'x-forwarded-for', 'x-apikey', 'traceparent']) {
        expect((await api.get(`/db/${name}/5/events`, { [other]: '1' })).status).toBe(200);
      }
    },
  );

  it('q contains a whole query: other parameters of a query are refused with it', async () => {
    for (const beside of ['limit=1', 'direction=reverse', 'after=1']) {
      const answer = await api.get(`/db/${name}/5/events?q=${q({ limit: 2 })}&${beside}`);
      const { message, details } = errorOf(answer, INVALID_ARGUMENT);
      expect(details?.field).toBe(beside.split('=')[0]);
      expect(message).toContain('must be inside q');
    }
  });

  it('a transaction with its id in the wrong place is not committed', async () => {
    const before = await api.latestRevision(name);
    const body = { events: [{ id: 'x', source: 'orders', specversion: '1.0', type: 'order.placed' }] };
    for (const path of [`/api/v1/db/${name}`, `/databases/${name}/events`, `/api/v1/db/${name}/async`]) {
      const { message } = errorOf(await api.post(`${path}?transaction_id=${OTHER_ID}`, body), INVALID_ARGUMENT);
      expect(message).toContain('in the body');
    }
    expect(await api.latestRevision(name)).toBe(before);
  });
});
