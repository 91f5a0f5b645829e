/** The routing table: all routes of both families, and the methods of a path. */
import { ASSET_ROUTES } from './asset-routes.ts';
import { AUTH_ROUTES } from './auth-routes.ts';
import { COLLECTION_QUERY_ROUTES } from './collection-query-routes.ts';
import { COMMAND_ROUTES } from './command-routes.ts';
import { DATABASE_ROUTES } from './database-routes.ts';
import { HEALTH_ROUTES } from './health-routes.ts';
import { LISTING_ROUTES } from './listing-routes.ts';
import { openApiRoutes } from './openapi-routes.ts';
import { PUBLISH_ROUTES } from './publish-routes.ts';
import { QUERY_BUILDER_ROUTES } from './query-builder-routes.ts';
import type { Route } from './route.ts';
import { SCOPED_QUERY_ROUTES } from './scoped-query-routes.ts';
import { SINGLE_EVENT_ROUTES } from './single-event-routes.ts';
import { STATE_VIEW_ROUTES } from './state-view-routes.ts';
import { TRANSACT_ROUTES } from './transact-routes.ts';
import { VERSION_ROUTES } from './version-routes.ts';

export const ROUTES: readonly Route[] = [
  ...HEALTH_ROUTES,
  ...ASSET_ROUTES,
  ...DATABASE_ROUTES,
  ...TRANSACT_ROUTES,
  ...SCOPED_QUERY_ROUTES,
  ...COLLECTION_QUERY_ROUTES,
  ...QUERY_BUILDER_ROUTES,
  ...SINGLE_EVENT_ROUTES,
  ...LISTING_ROUTES,
  ...PUBLISH_ROUTES,
  ...VERSION_ROUTES,
  ...STATE_VIEW_ROUTES,
  ...COMMAND_ROUTES,
  ...AUTH_ROUTES,
  ...openApiRoutes(() => ROUTES),
];

/** The value of `Allow` by path. */
export function methodsByPath(routes: readonly Route[]): ReadonlyMap<string, string> {
  const methods = new Map<string, readonly string[]>();
  for (const { method, path } of routes) {
    const answered = method === 'GET' ? ['GET', 'HEAD'] : [method];
    methods.set(path, [...(methods.get(path) ?? []), ...answered]);
  }
  return new Map([...methods].map(([path, list]) => [path, [...list, 'OPTIONS'].toSorted().join(', ')]));
}

export const SERVER_METHODS: string = [...new Set(['HEAD', 'OPTIONS', ...ROUTES.map(({ method }) => method)])]
  .toSorted()
  .join(', ');

const PATTERNS: readonly { readonly pattern: RegExp; readonly methods: string }[] = [...methodsByPath(ROUTES)].map(
  ([path, methods]) => ({ pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`), methods }),
);

/** Methods of a requested path; undefined when no route has it. */
export function allowedMethods(path: string): string | undefined {
  return PATTERNS.find(({ pattern }) => pattern.test(path))?.methods;
}
