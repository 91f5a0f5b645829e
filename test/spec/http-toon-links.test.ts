// A crawl over all TOON pages (TH12): links are answered, data equals that of JSON, and routes accept the offered
// actions.
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/transport/http/routes.ts';
import { cloudEvent, errorOf, jsonOf } from '../support/http-client.ts';
import { entriesOf, isPage, PageWalker, routeOf } from '../support/page-walker.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { LAST_REVISION, toonDatabase } from '../support/toon-node.ts';
import { bare, linksOf, readToonPage, type ToonAction, type ToonPage, undone } from '../support/toon-pages.ts';

const { api } = await sharedHttpNode();
const { name } = await toonDatabase(api);

const TEXT = { accept: 'text/plain' };
const reading = { headers: TEXT, contentType: 'text/plain; charset=utf-8', read: readToonPage, linksOf };
const walker = new PageWalker<ToonPage>(api, reading);

const pages = await walker.walk(entriesOf(name));

it('SPEC-HTTP-TOON: pages have the data of their JSON, and the tags and lengths of their HEAD', async () => {
  for (const [path, { data, summary }] of pages) {
    const [head, got] = [await api.send(path, { method: 'HEAD', headers: TEXT }), await api.get(path, TEXT)];
    const json = await api.get(got.headers.get('location') ?? path);
    expect([path, bare(undone(data))]).toEqual([path, bare(jsonOf(json))]);
    expect(summary).toMatch(/\w.*\.$/);
    for (const header of ['content-type', 'content-length', 'etag', 'vary', 'x-revision']) {
      expect([path, header, head.headers.get(header)]).toEqual([path, header, got.headers.get(header)]);
    }
  }
});

describe('SPEC-HTTP-TOON: links', () => {
  it('lead through every read route, each of which is answered', () => {
    const visited = new Set([...pages.keys()].map((path) => routeOf('GET', path)?.path));
    const all = ROUTES.filter((route) => route.method === 'GET' && isPage(route)).map(({ path }) => path);
    expect(all.filter((path) => !visited.has(path))).toEqual([]);
    expect(pages.size).toBeGreaterThan(60);
  });

  it('lead from the first page to the database, and from there to its contents', () => {
    const page = pages.get(`/db/${name}/${LAST_REVISION}`);
    const wanted = ['events', 'streams', 'subjects', 'event_types', 'state_views', 'state_changes'];
    expect(Object.keys(page?.links ?? {})).toEqual(expect.arrayContaining(wanted));
    expect(page?.actions).toMatchObject({ transact: { request: `POST /api/v1/db/${name}` } });
    expect(page?.summary).toContain(`The database ${name} at revision ${LAST_REVISION} has 13 events`);
  });
});

/** Limit of a test that reads all pages in turn, on a busy machine. */
const WALK_MS = 120_000;

/** Characters that are special in a path, in a query string, in TOON or in JavaScript, and ordinary ones. */
const ODD =
  '% %2F ü 😀 " \' < ? # & + ; : , --- Links: .. . ... __proto__ - [1] {a} true 05 1e5 \\ \\n \u00a0x * ~ @ = $1 | a/b';

it('SPEC-HTTP-TOON: links with odd names lead to the objects of these names', { timeout: WALK_MS }, async () => {
  const own = await api.created();
  const names = [...ODD.split(' '), 'a b', ' x'];
  const events = names.map((odd, at) => {
    const source = `/${encodeURIComponent(odd)}`;
    return cloudEvent(`${odd}${at}`, { source, type: odd, subject: odd, odd, data: { [odd]: odd } });
  });
  await api.commit(own, ...events);
  const lists = ['streams', 'subjects', 'event-types', 'events'].map((list) => `/db/${own}/1/${list}?limit=1`);
  const walked = await walker.walk([...lists, ...names.map((_, at) => `/db/${own}/1/events/1?index=${at}`)]);
  for (const [at, odd] of names.entries()) {
    const page = walked.get(`/db/${own}/1/events/1?index=${at}`);
    expect(page?.data).toMatchObject({ odd, type: odd, subject: odd, data: { [odd]: odd } });
    const links = ['stream', 'subject', 'event_type'].map((link) => page?.links[link]?.slice('GET '.length) ?? '');
    for (const link of links) {
      expect([link, walked.get(link)?.data]).toMatchObject([link, { events: [{ odd, subject: odd, type: odd }] }]);
    }
  }
});

interface Offered {
  readonly name: string;
  readonly path: string;
  readonly action: ToonAction;
}

const offered: readonly Offered[] = [
  ...new Map(
    [...pages].flatMap(([path, { actions }]) =>
      Object.entries(actions).map(([each, action]) => [
        `${each} ${action.request}`,
        { name: each, path, action } satisfies Offered,
      ]),
    ),
  ).values(),
];

function requestOf({ action }: Offered): readonly [method: string, target: string] {
  const [method = '', target = ''] = action.request.split(' ');
  return [method, target];
}

describe('SPEC-HTTP-TOON: actions', () => {
  it('name routes, with parameters and headers that these take', async () => {
    for (const each of offered) {
      const [method, target] = requestOf(each);
      const route = routeOf(method, target);
      expect([each, route]).toEqual([each, expect.anything()]);
      const known = (parameter: string): boolean =>
        route?.takesAnyParameter === true || (route?.parameters ?? []).includes(parameter);
      expect([each.name, Object.keys(each.action.query ?? {}).filter((one) => !known(one))]).toEqual([each.name, []]);
      const headers = Object.keys(each.action.headers ?? {});
      expect(headers.filter((one) => !['x-batch-id', 'x-last-seen-revision'].includes(one))).toEqual([]);
    }
  });

  it('name the accepted members of bodies, and no other', async () => {
    const bodies = offered.flatMap((each) => {
      const { body, content_type: type } = each.action;
      return typeof body === 'object' && type === undefined ? [{ each, members: Object.keys(body) }] : [];
    });
    const told = new Set(bodies.map(({ each }) => each.name));
    expect(told).toEqual(new Set(['create_database', 'transact', 'execute_command']));
    for (const { each, members } of bodies) {
      const [method, target] = requestOf(each);
      const body = Object.fromEntries([...members, 'unheard_of'].map((member) => [member, null]));
      const { details } = errorOf(await api.send(target, { method, body: JSON.stringify(body) }));
      const unknown = details?.violations?.filter(({ description }) => description.startsWith('is unknown'));
      expect([each.name, unknown?.map(({ field }) => field)]).toEqual([each.name, ['unheard_of']]);
    }
  });
});
