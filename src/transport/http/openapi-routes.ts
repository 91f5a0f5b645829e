/**
 * The documents of this interface, for programs and for people. The list of routes, which has these as well, is asked
 * for when it is there.
 */
import { fullDocument, schemasDocument } from './openapi/document.ts';
import { referencePage } from './openapi/reference-page.ts';
import { SWAGGER_HEADERS, swaggerPage } from './openapi/swagger-ui.ts';
import { PAGE_HEADERS } from './rendering/html/page.ts';
import { CATALOG_PATH } from './rendering/paths.ts';
import { type HttpReply, jsonReply } from './reply.ts';
import type { Route, RouteContext } from './route.ts';

const SCHEMAS_PATH = '/api/v1/openapi.json';
const FULL_PATH = '/api/v1/openapi.full.json';
const REFERENCE_PATH = '/api/v1/docs';
const SWAGGER_PATH = '/api/v1/swagger-ui';

const LINKS = {
  document: FULL_PATH,
  schemas: SCHEMAS_PATH,
  swagger_ui: SWAGGER_PATH,
  reference: REFERENCE_PATH,
  databases: CATALOG_PATH,
};

export function openApiRoutes(routes: () => readonly Route[]): readonly Route[] {
  const documents = new Map<string, string>();
  const remembered = (path: string, make: () => string): string => {
    const text = documents.get(path) ?? make();
    documents.set(path, text);
    return text;
  };
  const full = (_request: unknown, { service }: RouteContext): HttpReply => {
    const { version } = service.health();
    return jsonReply(
      200,
      remembered(FULL_PATH, () => JSON.stringify(fullDocument(version, routes()))),
    );
  };
  const schemas = (_request: unknown, { service }: RouteContext): HttpReply => {
    const { version } = service.health();
    return jsonReply(
      200,
      remembered(SCHEMAS_PATH, () => JSON.stringify(schemasDocument(version))),
    );
  };
  const reference = (): HttpReply =>
    page(
      remembered(REFERENCE_PATH, () => referencePage(routes(), { ...LINKS, reference: undefined })),
      PAGE_HEADERS,
    );
  const swagger = (): HttpReply => page(swaggerPage(FULL_PATH), SWAGGER_HEADERS);
  return [
    { method: 'GET', path: SCHEMAS_PATH, handle: schemas },
    { method: 'GET', path: FULL_PATH, handle: full },
    { method: 'GET', path: REFERENCE_PATH, handle: reference },
    { method: 'GET', path: SWAGGER_PATH, handle: swagger },
  ];
}

function page(body: string, headers: HttpReply['headers']): HttpReply {
  return { status: 200, headers, contentType: 'text/html; charset=utf-8', body };
}
