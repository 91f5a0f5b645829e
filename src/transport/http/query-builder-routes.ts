/**
 * The query builder: a page with a form, always HTML. With the fields of its form the route redirects to the events of
 * the query.
 */

import { describeFault } from '#model';
import type { DatabaseDescription } from '#service';
import { belowDatabase, PAGE_HEADERS, queryBuilderPage } from '#ui';
import { BUILDER_PARAMETERS, builtQuery } from './built-query.ts';
import { type HttpReply, scopeHeaders } from './reply.ts';
import type { HttpRequest } from './request.ts';
import type { Route, RouteContext } from './route.ts';

export const QUERY_BUILDER_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/databases/{database}/query-builder',
    parameters: BUILDER_PARAMETERS,
    handle: readBuilder,
  },
];

async function readBuilder(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const database = await service.databaseAt({ ...request.read(), at: 'latest' });
  const fields = request.query();
  if (!BUILDER_PARAMETERS.some((name) => fields.get(name) !== undefined)) {
    return builderReply(database, 200, queryBuilderPage(database));
  }
  const built = builtQuery(fields);
  if (built.kind === 'query') {
    const location = `${belowDatabase(database, 'events')}?q=${built.q}`;
    return { status: 303, headers: { ...scopeHeaders(database), location, 'cache-control': 'no-store' } };
  }
  // Clients without pages get an error in JSON or TOON.
  if (request.rendering()?.hasForms !== true) throw built.error;
  const values = Object.fromEntries(BUILDER_PARAMETERS.map((name) => [name, fields.get(name) ?? '']));
  const faults = Object.fromEntries(built.faults.violations.map((each) => [each.field, describeFault(each)]));
  return builderReply(database, 400, queryBuilderPage(database, { values, faults }));
}

function builderReply(database: DatabaseDescription, status: number, body: string): HttpReply {
  const headers = { ...scopeHeaders(database), ...PAGE_HEADERS };
  return { status, headers, contentType: 'text/html; charset=utf-8', body };
}
