/**
 * Routes of the OpenAPI documents and the pages that show them. The list of routes contains these, so it is a function
 * that is called later.
 */
import { CATALOG_PATH, PAGE_HEADERS, renderReference, renderSwagger, SWAGGER_HEADERS } from '#ui';
import { documentedRoutes, fullDocument, SCHEMAS, schemasDocument } from './openapi/document.ts';
import { htmlReply, jsonReply } from './reply.ts';
import type { Handler, Route } from './route.ts';

const SCHEMAS_PATH = '/api/v1/openapi.json';
const FULL_PATH = '/api/v1/openapi.full.json';
const REFERENCE_PATH = '/api/v1/docs';
const SWAGGER_PATH = '/api/v1/swagger-ui';

const LINKS = { document: FULL_PATH, schemas: SCHEMAS_PATH, swagger_ui: SWAGGER_PATH, databases: CATALOG_PATH };

export function openApiRoutes(routes: () => readonly Route[]): readonly Route[] {
  const made = new Map<string, string>();
  const once = (path: string, make: () => string): string => {
    const text = made.get(path) ?? make();
    made.set(path, text);
    return text;
  };
  const json = (path: string, make: (version: string) => object): Handler => {
    return (_request, { service }) =>
      jsonReply(
        200,
        once(path, () => JSON.stringify(make(service.health().version))),
      );
  };
  const reference = (): string =>
    renderReference({ routes: documentedRoutes(routes()), schemas: SCHEMAS, links: LINKS });
  return [
    { method: 'GET', path: SCHEMAS_PATH, handle: json(SCHEMAS_PATH, schemasDocument) },
    { method: 'GET', path: FULL_PATH, handle: json(FULL_PATH, (version) => fullDocument(version, routes())) },
    {
      method: 'GET',
      path: REFERENCE_PATH,
      handle: () => htmlReply(200, once(REFERENCE_PATH, reference), PAGE_HEADERS),
    },
    { method: 'GET', path: SWAGGER_PATH, handle: () => htmlReply(200, renderSwagger(FULL_PATH), SWAGGER_HEADERS) },
  ];
}
