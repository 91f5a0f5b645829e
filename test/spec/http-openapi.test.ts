// The OpenAPI documents are valid and match the routes, the answers of all reads, and docs/http.md.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../src/transport/http/openapi/operations.ts';
import { ROUTES } from '../../src/transport/http/routes.ts';
import { AS_FIRST, startGuardedNode } from '../support/guarded-node.ts';
import { jsonOf } from '../support/http-client.ts';
import { entriesOf, routeOf } from '../support/page-walker.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';
import { toonDatabase } from '../support/toon-node.ts';
import { linksOf, readToonPage } from '../support/toon-pages.ts';

const KEYS = '/api/v1/auth/keys';
const TOKENS = '/api/v1/auth/tokens';
const { api } = await sharedHttpNode();
const { name } = await toonDatabase(api);

interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const full = jsonOf(await api.get('/api/v1/openapi.full.json')) as Document;
const schemas = jsonOf(await api.get('/api/v1/openapi.json')) as Document;

function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const own = Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, closed(value)]));
  return 'properties' in own && !('additionalProperties' in own) ? { ...own, additionalProperties: false } : own;
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema({ $id: 'document', ...(closed({ components: full.components }) as object) });

function faultsOf(schema: string, value: unknown): readonly string[] {
  const validate = ajv.compile({ $ref: `document#/components/schemas/${schema}` });
  return validate(value)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** Limit of a test that reads all pages in turn, on a busy machine. */
const WALK_MS = 120_000;

describe('SPEC-HTTP-OPENAPI', () => {
  it('is a document of OpenAPI 3.1', async () => {
    for (const document of [full, schemas]) {
      const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
      expect([valid, errors]).toEqual([true, undefined]);
    }
    expect(full.openapi).toMatch(/^3\.1\./);
  });

  it('lists only schemas, or all routes, each once', () => {
    expect(schemas.paths).toEqual({});
    expect(schemas.components.schemas).toEqual(full.components.schemas);
    const listed = Object.entries(full.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const routes = ROUTES.map(({ method, path }) => `${method} ${path}`);
    expect(listed.toSorted()).toEqual(routes.toSorted());
    expect(Object.keys(OPERATIONS).toSorted()).toEqual(routes.toSorted());
    const ids = Object.values(full.paths).flatMap((each) => Object.values(each).map(({ operationId }) => operationId));
    expect(new Set(ids).size).toBe(routes.length);
  });

  it('describes the answer of every read', { timeout: WALK_MS }, async () => {
    const TEXT = { accept: 'text/plain' };
    const seen = new Set<string>();
    const waiting = [...entriesOf(name), '/databases', '/health/detailed'];
    const checked = new Set<string>();
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      if (seen.has(path)) continue;
      seen.add(path);
      const answer = await api.get(path);
      if (answer.status === 307) {
        waiting.push(answer.headers.get('location') ?? '');
        continue;
      }
      const route = routeOf('GET', path);
      const schema = OPERATIONS[`GET ${route?.path}`]?.answer;
      if (schema === undefined) continue;
      expect([path, faultsOf(schema, jsonOf(answer))]).toEqual([path, []]);
      checked.add(schema);
      if (schema !== 'Health') waiting.push(...linksOf(readToonPage((await api.get(path, TEXT)).text)));
    }
    // The test of keys and tokens below has authentication on.
    const walked = ROUTES.filter(({ method, path }) => method === 'GET' && !path.startsWith('/api/v1/auth/'));
    const read = walked.map(({ path }) => OPERATIONS[`GET ${path}`]?.answer);
    const told = [...new Set(read.filter((schema) => schema !== undefined))].filter((each) => !checked.has(each));
    expect(told).toEqual([]);
  });

  it('describes the answers about API keys and tokens', async () => {
    const { api: guarded } = await startGuardedNode();
    const post = async (path: string, body: object): Promise<{ readonly id: string }> =>
      jsonOf(await guarded.post(path, body, AS_FIRST)) as { readonly id: string };
    const get = async (path: string): Promise<unknown> => jsonOf(await guarded.get(path, AS_FIRST));
    const newKey = { name: 'x', roles: ['reader'], expires_at: '2999-01-01T00:00:00Z' };
    const newToken = { name: 'x', roles: ['reader'], expires_in_seconds: 60 };
    const [key, token] = [await post(KEYS, newKey), await post(TOKENS, newToken)];
    const rotated = await post(`${KEYS}/${key.id}/rotate`, { overlap_seconds: 1 });
    const said: readonly (readonly [schema: string, value: unknown])[] = [
      ['NewApiKey', newKey],
      ['IssuedApiKey', key],
      ['IssuedApiKey', rotated],
      ['ApiKey', await get(`${KEYS}/${key.id}`)],
      ['ApiKeyList', await get(KEYS)],
      ['Rotation', { overlap_seconds: 1 }],
      ['NewToken', newToken],
      ['IssuedToken', token],
      ['Token', await get(`${TOKENS}/${token.id}`)],
      ['TokenList', await get(TOKENS)],
    ];
    const found = said.map(([schema, value]) => [schema, faultsOf(schema, value)]);
    expect(found).toEqual(said.map(([schema]) => [schema, []]));
  });

  it('covers all requests and answers of docs/http.md', () => {
    const page = readFileSync(resolve(import.meta.dirname, '../../docs/http.md'), 'utf8');
    const examples = [...page.matchAll(/```http\n((?!HTTP)[\s\S]*?)\n```\n\n```http\nHTTP\/1.1 (\d+)([\s\S]*?)\n```/g)];
    const said = examples.flatMap(([, request = '', status = '', reply = '']) => {
      const [head = '', sent] = request.split('\n\n');
      const [method = '', target = ''] = (head.split('\n', 1)[0] ?? '').split(' ');
      const operation = OPERATIONS[`${method} ${routeOf(method, target)?.path}`];
      const [, answered] = reply.split('\n\n');
      const body = status === '400' ? undefined : operation?.body?.['application/json'];
      const answer = Number(status) < 300 ? operation?.answer : 'Error';
      return [
        { request, schema: body, text: sent },
        { request, schema: answer, text: answered },
      ];
    });
    const checked = said.flatMap(({ request, schema, text }) =>
      schema !== undefined && text?.startsWith('{') === true
        ? [{ request, faults: faultsOf(schema, JSON.parse(text)) }]
        : [],
    );
    expect(checked.filter(({ faults }) => faults.length > 0)).toEqual([]);
    expect(checked.length).toBeGreaterThan(30);
  });
});

describe('SPEC-HTTP-OPENAPI: pages', () => {
  it('show the document', async () => {
    const { text, headers } = await api.get('/api/v1/docs');
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    for (const path of Object.keys(full.paths)) expect(text).toContain(path);
    for (const schema of Object.keys(full.components.schemas)) expect(text).toContain(`id="schema-${schema}"`);
  });

  it('load the files of Swagger UI from this node', async () => {
    const { text } = await api.get('/api/v1/swagger-ui');
    const files = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file);
    expect(files).toHaveLength(4);
    for (const file of files) expect([file, (await api.get(file)).status]).toEqual([file, 200]);
    expect(text).toContain('/api/v1/openapi.full.json');
  });
});
