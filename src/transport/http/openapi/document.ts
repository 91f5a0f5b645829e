/**
 * OpenAPI 3.1 documents: one with schemas alone, as in the specification, and one with all routes, for tools that need
 * them.
 */
import type { Action, DocumentedRoute, FormField } from '#ui';
import { ACCESS_SCHEMAS } from './access-schemas.ts';
import { COMPONENT_SCHEMAS } from './component-schemas.ts';
import { DATABASE_SCHEMAS } from './database-schemas.ts';
import { EVENT_SCHEMAS } from './event-schemas.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { ANYTHING, list, ref, request, type Schema, text } from './schema.ts';

interface Route extends Pick<DocumentedRoute, 'method' | 'path' | 'parameters' | 'headers'> {
  readonly status?: number;
  readonly isForAnybody?: boolean;
  readonly isCounted?: unknown;
  readonly offered?: (params: Readonly<Record<string, string>>) => Action;
}

export const SCHEMAS: Readonly<Record<string, Schema>> = {
  ...DATABASE_SCHEMAS,
  ...EVENT_SCHEMAS,
  NewEvents: list(ref('NewEvent'), { minItems: 1, maxItems: 1000 }),
  ...COMPONENT_SCHEMAS,
  ...ACCESS_SCHEMAS,
  Command: { ...ANYTHING, description: 'The command, as the component reads it.' },
};

const INFO = {
  title: 'Cairn',
  description: 'An event database: CloudEvents in numbered revisions, State Views, State Changes.',
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
};

/** Headers of a refusal by the rate limit. Other replies have the first three, too. */
const RATE_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After'];

export function schemasDocument(version: string): object {
  return { openapi: '3.1.1', info: { ...INFO, version }, paths: {}, components: { schemas: SCHEMAS } };
}

export function fullDocument(version: string, routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  return {
    ...schemasDocument(version),
    paths,
    components: {
      schemas: SCHEMAS,
      responses: {
        Refused: { description: 'What went wrong.', content: json('Error') },
        TooManyRequests: {
          description: 'More requests than this client may make at this node.',
          headers: Object.fromEntries(RATE_HEADERS.map((name) => [name, { schema: { type: 'integer' } }])),
          content: json('Error'),
        },
      },
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
    },
    // A node without authentication needs none of them.
    security: [{}, { key: [] }, { bearer: [] }],
    tags: [...new Set(Object.values(OPERATIONS).map(({ tag }) => tag))].map((name) => ({ name })),
  };
}

/** The routes with their descriptions, for the page that shows them. */
export function documentedRoutes(routes: readonly Route[]): readonly DocumentedRoute[] {
  return routes.flatMap(({ method, path, parameters = [], headers = [] }) => {
    const operation = OPERATIONS[`${method} ${path}`];
    return operation === undefined ? [] : [{ ...operation, method, path, parameters, headers }];
  });
}

function operationOf(route: Route): object {
  const { method, path, parameters = [], headers = [], isForAnybody = false, isCounted, offered } = route;
  const { status = method === 'DELETE' ? 204 : 200 } = route;
  const operation = OPERATIONS[`${method} ${path}`];
  if (operation === undefined) return { responses: { default: { $ref: '#/components/responses/Refused' } } };
  const { summary, tag, body, redirects = false } = operation;
  const leads = offered === undefined ? operation.leads : 'leads to what was made, in answer to a form of a page';
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => parameter('path', name));
  const inQuery = parameters.map((name) => parameter('query', name));
  const inHeaders = ['x-min-revision', ...headers].map((name) => parameter('header', name));
  return {
    operationId: operationId(route),
    summary,
    tags: [tag],
    parameters: [...inPath, ...inQuery, ...inHeaders],
    ...bodies(route, body),
    responses: {
      [status]: { description: summary, ...answered(operation) },
      ...(leads !== undefined && { 303: { description: leads } }),
      ...(redirects && { 307: { description: 'leads to the URL that names the revision or the time' } }),
      ...((!isForAnybody || isCounted !== undefined) && { 429: { $ref: '#/components/responses/TooManyRequests' } }),
      default: { $ref: '#/components/responses/Refused' },
    },
  };
}

function bodies({ offered }: Route, body: Operation['body']): object {
  const form = offered === undefined ? {} : formContent(offered({}));
  const content = { ...contents(body ?? {}), ...form };
  return Object.keys(content).length === 0 ? {} : { requestBody: { content } };
}

/** Fields of a form of a page. A multipart form is the same as for other clients. */
function formContent({ form, contentType }: Action): object {
  if (form === undefined || contentType !== undefined) return {};
  const fields = Object.entries(form.fields).map(([name, { becomes }]) => [name, text(BECOMES[becomes])] as const);
  const schema = { ...request({}, Object.fromEntries(fields)), description: 'A form of a page that asks for HTML.' };
  return { 'application/x-www-form-urlencoded': { schema } };
}

const BECOMES: Readonly<Record<FormField['becomes'], string>> = {
  text: 'A member of the JSON.',
  json: 'A member of the JSON, in JSON.',
  body: 'The body, in JSON.',
  header: 'The header of this name.',
  file: 'A file.',
};

function answered({ answer, contentType }: Operation): object {
  if (answer !== undefined) return { content: json(answer) };
  return contentType === undefined ? {} : { content: { [contentType]: {} } };
}

function json(schema: string): object {
  return contents({ 'application/json': schema });
}

function contents(schemas: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema: ref(schema) }]));
}

/** Values of parameters are texts; error messages name the valid ones. */
function parameter(place: 'path' | 'query' | 'header', name: string): object {
  return { name, in: place, ...(place === 'path' && { required: true }), schema: text() };
}

function operationId({ method, path }: Route): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return [method.toLowerCase(), ...words].join('_');
}
