/** Follows all links of the pages of one rendering, and checks that an existing route answers each of them. */
import assert from 'node:assert/strict';
import type { Route } from '../../src/transport/http/route.ts';
import { ROUTES } from '../../src/transport/http/routes.ts';
import type { Answer, HttpClient } from './http-client.ts';
import { LAST_REVISION, TRANSACTION_ID } from './toon-node.ts';

/** Excludes reads that are not pages in every rendering. */
export function isPage({ path }: Route): boolean {
  return !NO_PAGES.some((pattern) => pattern.test(path));
}

const NO_PAGES = [
  /^\/(?:health|livez|readyz|startupz|assets|api\/v1\/auth)/,
  /\/(?:schema|query-builder|docs|swagger-ui|openapi\.json|openapi\.full\.json)$/,
  /^\/(?!db\/).*\/state-views\/\{(?:name|view_name)\}(?:\/v(?:ersions\/)?\{version\})?$/,
];

const patterns = ROUTES.map((route) => ({
  route,
  pattern: new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

export function routeOf(method: string, target: string): Route | undefined {
  const path = target.split('?', 1)[0] ?? '';
  return patterns.find(({ route, pattern }) => route.method === method && pattern.test(path))?.route;
}

/** The first page, and pages without incoming links: those of the other route family, and those addressed by an id. */
export function entriesOf(name: string): readonly string[] {
  return [
    '/',
    `/databases/${name}`,
    `/databases/${name}/events?limit=2`,
    `/databases/${name}/events/1?index=1`,
    `/databases/${name}/state-views`,
    `/databases/${name}/state-changes`,
    `/api/v1/db/${name}/state-changes`,
    `/api/v1/db/${name}/presenters/shows/v1`,
    `/api/v1/db/${name}/transaction/${TRANSACTION_ID}`,
    `/db/${name}/0`,
    `/db/${name}/${LAST_REVISION}/events/orders/text`,
    `/db/${name}/${LAST_REVISION}/events/6?index=1`,
    `/db/${name}/${LAST_REVISION}/events?limit=3`,
    `/db/${name}/${LAST_REVISION}/streams?limit=1`,
    ...['all', 'one', 'read', 'shown', 'timed'].map((view) => `/db/${name}/state-views/${view}/v1`),
  ];
}

interface Walk<Page> {
  readonly headers: Readonly<Record<string, string>>;
  /** Content type of every page. */
  readonly contentType: string;
  readonly read: (text: string) => Page;
  readonly linksOf: (page: Page) => readonly string[];
  /** True for links that may lead to a missing resource, such as a future revision. */
  readonly mayMiss?: (path: string) => boolean;
}

export class PageWalker<Page> {
  readonly #api: HttpClient;
  readonly #how: Walk<Page>;

  constructor(api: HttpClient, how: Walk<Page>) {
    this.#api = api;
    this.#how = how;
  }

  /** All pages by path. Other linked resources are requested too. */
  async walk(entries: readonly string[]): Promise<ReadonlyMap<string, Page>> {
    const pages = new Map<string, Page>();
    const seen = new Set<string>();
    const waiting = [...entries];
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      if (seen.has(path)) continue;
      seen.add(path);
      const page = await this.#visit(path);
      if (page === undefined) continue;
      pages.set(path, page);
      waiting.push(...this.#how.linksOf(page));
    }
    return pages;
  }

  async #visit(path: string): Promise<Page | undefined> {
    const { contentType, read, mayMiss } = this.#how;
    const answer = await this.#read(path);
    if (answer.status === 404 && mayMiss?.(path) === true) return undefined;
    assert.equal(answer.status, 200, `${path} is answered ${answer.status}: ${answer.text}`);
    const route = routeOf('GET', path);
    assert(route !== undefined, `no route reads ${path}`);
    if (!isPage(route)) return undefined;
    assert.equal(answer.headers.get('content-type'), contentType, path);
    return read(answer.text);
  }

  async #read(path: string): Promise<Answer> {
    const answer = await this.#api.get(path, this.#how.headers);
    return answer.status === 307 ? this.#read(answer.headers.get('location') ?? '') : answer;
  }
}
