// A crawl over all HTML pages (TH13): links are answered, read routes have pages, forms name existing routes, and data
// is escaped.
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/transport/http/routes.ts';
import { type HtmlPage, readHtmlPage } from '../support/html-pages.ts';
import { cloudEvent, errorOf } from '../support/http-client.ts';
import { entriesOf, isPage, PageWalker, routeOf } from '../support/page-walker.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { LAST_REVISION, toonDatabase } from '../support/toon-node.ts';

const { api } = await sharedHttpNode();
const { name } = await toonDatabase(api);
const latest = Number((await api.get(`/databases/${name}`)).headers.get('x-revision'));

const HTML = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const AT = `/db/${name}/${LAST_REVISION}`;

/** True for pages that link to the next revision, which may not exist yet. */
const isElsewhen = (path: string): boolean =>
  new RegExp(`^/db/${name}/(?:\\d+(?:[/?]|$)|state-views/.*[?&]revision=\\d)`).test(path);
const walker = new PageWalker<HtmlPage>(api, {
  headers: HTML,
  contentType: 'text/html; charset=utf-8',
  read: readHtmlPage,
  linksOf: ({ links }) => links,
  mayMiss: isElsewhen,
});
const pages = await walker.walk(entriesOf(name));

describe('SPEC-HTTP-HTML: links and forms', () => {
  it('lead through every read route, each of which is answered', () => {
    const visited = new Set([...pages.keys()].map((path) => routeOf('GET', path)?.path));
    const all = ROUTES.filter((route) => route.method === 'GET' && isPage(route)).map(({ path }) => path);
    expect(all.filter((path) => !visited.has(path))).toEqual([]);
    expect(pages.size).toBeGreaterThan(60);
  });

  it('lead to existing pages, except for revisions that do not exist yet', async () => {
    for (const path of new Set([...pages.values()].flatMap(({ links }) => links))) {
      const [, revision] = /^\/db\/[^/]+\/(?:(?=\d)|state-views\/.*[?&]revision=)(\d+)/.exec(path) ?? [];
      if (revision === undefined || Number(revision) > latest) continue;
      const { status } = await api.get(path, HTML);
      const isListOfOne = /^\/db\/[^/]+\/\d+\/(?:streams|subjects|event-types)\/./.test(path);
      const isAnswered = status === 200 || (status === 404 && isListOfOne);
      expect([path, status, isAnswered]).toEqual([path, status, true]);
    }
  });

  it('name existing routes', () => {
    const requests = new Set([...pages.values()].flatMap((page) => page.requests));
    const unknown = [...requests].filter((request) => {
      const [method = '', target = ''] = request.split(' ');
      return routeOf(method, target) === undefined;
    });
    expect(unknown).toEqual([]);
    expect(requests.size).toBeGreaterThan(10);
  });

  it('have a page for errors, with a link back', async () => {
    for (const path of [`${AT}0`, '/db/none/1', '/nowhere', `${AT}/events?limit=0`]) {
      const answer = await api.get(path, HTML);
      const page = readHtmlPage(answer.text);
      const { message } = errorOf(await api.get(path));
      const told = [path, answer.status >= 400, page.title, page.links];
      expect(told).toEqual([path, true, 'That did not work', expect.arrayContaining(['/'])]);
      expect(page.text).toContain(message.replaceAll('"', '&quot;').replaceAll("'", '&#39;'));
    }
  });
});

describe('SPEC-HTTP-HTML: a revision that does not exist yet', () => {
  it.each([
    [`/db/${name}/${latest + 1}`, `/db/${name}/${latest}`],
    [`/db/${name}/9007199254740993?since=1`, `/db/${name}/${latest}?since=1`],
    [
      `/db/${name}/${latest + 1}/events?limit=2&start=${latest + 1}`,
      `/db/${name}/${latest}/events?limit=2&start=${latest + 1}`,
    ],
    [
      `/db/${name}/state-views/read/v1?other_revision=0&revision=${latest + 1}`,
      `/db/${name}/state-views/read/v1?other_revision=0&revision=${latest}`,
    ],
  ])('has a page that links to the same page at the latest revision: %s', async (path, before) => {
    const { status, text } = await api.get(path, HTML);
    const { links } = readHtmlPage(text);
    expect([status, links]).toEqual([404, expect.arrayContaining([before, `/db/${name}/latest`])]);
    expect(text).toMatch(/<p class="summary">Revision \d+ is not there yet: /);
    expect((await api.get(before, HTML)).status).toBe(200);
  });

  it('is not reported for a missing event of an existing revision', async () => {
    const { status, text } = await api.get(`/db/${name}/1/events/2?index=0`, HTML);
    expect([status, text.includes('not there yet')]).toEqual([404, false]);
  });
});

describe('SPEC-HTTP-HTML: an error', () => {
  it('has its JSON collapsed, below its message', async () => {
    const { text } = await api.get('/nowhere', HTML);
    expect(text).toMatch(
      /<details class="action"><summary>The error in JSON<\/summary><dl class="members">[^]*NOT_FOUND/,
    );
    expect(text.indexOf('class="summary"')).toBeLessThan(text.indexOf('The error in JSON'));
  });

  it('about an invalid revision links to the latest', async () => {
    const { status, text } = await api.get(`/db/${name}/newest/events`, HTML);
    expect([status, readHtmlPage(text).links]).toEqual([400, expect.arrayContaining([`/db/${name}/latest`])]);
    expect(readHtmlPage((await api.get(`/db/${MARKED}/newest/events`, HTML)).text).links).toEqual(['/', '/']);
  });
});

const MARKED = '%22%3E%3Cb%3E';

it.each([
  [`${AT}/events?limit=2`, 'filter'],
  [`${AT}/streams?limit=1`, 'find'],
  [`/databases/${name}/events?limit=2`, 'page'],
])('SPEC-HTTP-HTML: a list has filters above it, and page links above and below it: %s', async (path, action) => {
  const { text } = await api.get(path, HTML);
  const order = [...text.matchAll(/<summary><span class="name">(\w+)|<(table)>|<a href="[^"]*">(next)<\/a>/g)];
  const names = order.map(([, ...found]) => found.find((each) => each !== undefined));
  expect(names.slice(0, 4)).toEqual(['next', action, 'table', 'next']);
  expect(names.lastIndexOf(action)).toBe(1);
});

describe('SPEC-HTTP-HTML: the resources of a page', () => {
  it('come from this node only, and none is inline', async () => {
    for (const path of ['/', AT, `${AT}/events`, '/nowhere']) {
      const { headers, text } = await api.get(path, HTML);
      const given = headers.get('content-security-policy');
      expect(given).toMatch(/^default-src 'none'; style-src 'self'; script-src 'self'/);
      const heard = [headers.get('x-content-type-options'), headers.get('referrer-policy')];
      expect(heard).toEqual(['nosniff', 'same-origin']);
      expect(text).not.toMatch(/<script(?![^>]* src="\/)|<style| style="| on\w+="|(?:src|href|action)="(?!\/(?!\/)|#)/);
    }
  });

  it('are cached for ever when their name has a hash', async () => {
    const { text } = await api.get('/', HTML);
    const files = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file = '']) => file);
    expect(files).toHaveLength(5);
    for (const file of files) {
      const { status, headers } = await api.get(file);
      expect([file, status, headers.get('cache-control')]).toEqual([file, 200, 'public, max-age=31536000, immutable']);
    }
    expect((await api.get('/assets/cairn-old.css')).status).toBe(404);
  });
});

const MARKUP = '<script>alert(1)</script><img src=x onerror="alert(2)">\'"&amp;';

it('SPEC-HTTP-HTML: user data is escaped everywhere', async () => {
  const own = await api.created();
  const data = { [MARKUP]: MARKUP, long: MARKUP.repeat(1000) };
  const source = `/${encodeURIComponent(MARKUP)}`;
  const marked = cloudEvent('a', { id: MARKUP, type: MARKUP, subject: MARKUP, source, odd: MARKUP, data });
  await api.commit(own, marked, cloudEvent('b', { datacontenttype: 'text/html', data: MARKUP }));
  const lists = ['events', 'streams', 'subjects', 'event-types', 'events/1?index=0', 'events/1?index=1'];
  for (const list of [...lists, `event-types/${encodeURIComponent(MARKUP)}`]) {
    const { status, text } = await api.get(`/db/${own}/1/${list}`, HTML);
    expect([list, status]).toEqual([list, 200]);
    expect(text).toContain('alert(1)');
    expect(text).not.toMatch(/<script>|<img|alert\(2\)"/);
  }
  const missing = await api.get(`/db/${own}/1/subjects/${encodeURIComponent(`${MARKUP}!`)}`, HTML);
  expect([missing.status, /<script>|<img/.test(missing.text)]).toEqual([404, false]);
});

it('SPEC-HTTP-HTML: forms that read redirect to the URL without the empty fields', async () => {
  const answer = await api.get(`${AT}/events?stream=&type=order.placed&limit=`, HTML);
  const seen = [answer.status, answer.headers.get('location'), answer.headers.get('cache-control')];
  expect(seen).toEqual([307, `${AT}/events?type=order.placed`, 'no-store']);
  expect((await api.get(`${AT}/events?stream=`, HTML)).headers.get('location')).toBe(`${AT}/events`);
  expect((await api.get(`${AT}/events?limit=`)).status).toBe(400);
});

it.each([
  ['stream=', 'stream'],
  ['type=%00', 'type'],
  ['start=-1', 'start'],
  ['start=4&end=3', 'end'],
  ['end=1e3', 'end'],
  ['type=a&q=e30', 'type'],
])('SPEC-HTTP-FILTERS refuse %s', async (query, field) => {
  const answer = await api.get(`${AT}/events?${query}`);
  expect([answer.status, errorOf(answer).details?.field]).toEqual([400, field]);
});
