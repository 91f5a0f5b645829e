/** The page on which a query is put together. It is one of HTML, whatever is accepted: there is nothing else in it. */
import { PAGE_HEADERS } from './rendering/html/page.ts';
import { queryBuilderPage } from './rendering/html/query-builder.ts';
import { type HttpReply, scopeHeaders } from './reply.ts';
import type { HttpRequest } from './request.ts';
import type { Route, RouteContext } from './route.ts';

export const QUERY_BUILDER_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/databases/{database}/query-builder', handle: readBuilder },
];

async function readBuilder(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const database = await service.databaseAt({ ...request.read(), at: 'latest' });
  return {
    status: 200,
    headers: { ...scopeHeaders(database), ...PAGE_HEADERS },
    contentType: 'text/html; charset=utf-8',
    body: queryBuilderPage(database),
  };
}
