// Goal: the routing table is the specification's, as far as this release goes. Method: the table as a list, compared.
import { describe, expect, it } from 'vitest';
import { allowedMethods, methodsByPath, ROUTES } from '../../../../src/transport/http/routes.ts';

const SPECIFIED = [
  'DELETE /api/v1/auth/keys/{key_id}',
  'DELETE /api/v1/auth/tokens/{token_id}',
  'DELETE /api/v1/db/{database}',
  'DELETE /databases/{database}',
  'DELETE /databases/{database}/state-views/{name}',
  'GET /',
  'GET /api/v1/auth/keys',
  'GET /api/v1/auth/keys/{key_id}',
  'GET /api/v1/auth/tokens',
  'GET /api/v1/auth/tokens/{token_id}',
  'GET /api/v1/databases/{database}/state-views/{name}/versions/{version}',
  'GET /api/v1/db/{database}/presenters',
  'GET /api/v1/db/{database}/presenters/{name}/v{version}',
  'GET /api/v1/db/{database}/state-changes',
  'GET /api/v1/db/{database}/state-views/{name}/v{version}/schema',
  'GET /api/v1/db/{database}/transaction/{transaction_id}',
  'GET /api/v1/db/{database}/{revision}/state-views/{name}/v{version}',
  'GET /api/v1/docs',
  'GET /api/v1/openapi.full.json',
  'GET /api/v1/openapi.json',
  'GET /api/v1/swagger-ui',
  'GET /assets/{file}',
  'GET /databases',
  'GET /databases/{database}',
  'GET /databases/{database}/events',
  'GET /databases/{database}/events/{revision}',
  'GET /databases/{database}/query-builder',
  'GET /databases/{database}/state-changes',
  'GET /databases/{database}/state-views',
  'GET /databases/{database}/state-views/{name}',
  'GET /db/{database}/presenters/{name}/v{version}',
  'GET /db/{database}/state-changes/{name}/v{version}',
  'GET /db/{database}/state-views/{name}/v{version}',
  'GET /db/{database}/{revision}',
  'GET /db/{database}/{revision}/event-types',
  'GET /db/{database}/{revision}/event-types/{event_type}',
  'GET /db/{database}/{revision}/events',
  'GET /db/{database}/{revision}/events/{event_revision}',
  'GET /db/{database}/{revision}/events/{stream}/{event_id}',
  'GET /db/{database}/{revision}/state-changes',
  'GET /db/{database}/{revision}/state-views',
  'GET /db/{database}/{revision}/streams',
  'GET /db/{database}/{revision}/streams/{stream}',
  'GET /db/{database}/{revision}/subjects',
  'GET /db/{database}/{revision}/subjects/{subject}',
  'GET /health',
  'GET /health/detailed',
  'POST /api/v1/auth/keys',
  'POST /api/v1/auth/keys/{key_id}/rotate',
  'POST /api/v1/auth/tokens',
  'POST /api/v1/databases/{database}',
  'POST /api/v1/databases/{database}/state-changes/{name}/versions/{version}',
  'POST /api/v1/db',
  'POST /api/v1/db/{database}',
  'POST /api/v1/db/{database}/async',
  'POST /api/v1/db/{database}/presenters',
  'POST /api/v1/db/{database}/state-changes',
  'POST /api/v1/db/{database}/state-changes/{name}/v{version}/execute',
  'POST /api/v1/db/{database}/state-views',
  'POST /api/v1/db/{database}/state-views/{name}/expire-snapshots',
  'POST /api/v1/db/{database}/{revision}/state-changes/{name}/v{version}',
  'POST /databases',
  'POST /databases/{database}/events',
  'POST /databases/{database}/query',
  'POST /databases/{database}/state-changes/{name}/process',
];

describe('routing table', () => {
  it('has every route once', () => {
    expect(ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(SPECIFIED);
  });

  it('lists the methods of a path with those that follow from them', () => {
    const methods = methodsByPath(ROUTES);
    expect(methods.get('/databases')).toBe('GET, HEAD, OPTIONS, POST');
    expect(methods.get('/api/v1/db/{database}')).toBe('DELETE, OPTIONS, POST');
  });

  it.each([
    ['/databases/shop', 'DELETE, GET, HEAD, OPTIONS'],
    ['/db/shop/7/events', 'GET, HEAD, OPTIONS'],
    ['/', 'GET, HEAD, OPTIONS'],
    // What is published there is listed elsewhere (SPEC-HTTP-R3).
    ['/api/v1/db/shop/state-views', 'OPTIONS, POST'],
  ])('knows what %s may be asked', (path, methods) => {
    expect(allowedMethods(path)).toBe(methods);
  });

  it.each(['/v1/db', '/databases/', '/db/shop', '/databases/a/b/c', '/db//7', '/v1/databases'])(
    'has no %s (SPEC-HTTP-R3)',
    (path) => {
      expect(allowedMethods(path)).toBeUndefined();
    },
  );
});
