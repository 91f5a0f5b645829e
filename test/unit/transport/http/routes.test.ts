// Goal: the routing table is the specification's, as far as this release goes. Method: the table as a list, compared.
import { describe, expect, it } from 'vitest';
import { allowedMethods, methodsByPath, ROUTES } from '../../../../src/transport/http/routes.ts';

const SPECIFIED = [
  'DELETE /api/v1/db/{database}',
  'DELETE /databases/{database}',
  'GET /',
  'GET /api/v1/db/{database}/transaction/{transaction_id}',
  'GET /databases',
  'GET /databases/{database}',
  'GET /databases/{database}/events',
  'GET /databases/{database}/events/{revision}',
  'GET /db/{database}/{revision}',
  'GET /db/{database}/{revision}/event-types',
  'GET /db/{database}/{revision}/event-types/{event_type}',
  'GET /db/{database}/{revision}/events',
  'GET /db/{database}/{revision}/events/{event_revision}',
  'GET /db/{database}/{revision}/events/{stream}/{event_id}',
  'GET /db/{database}/{revision}/streams',
  'GET /db/{database}/{revision}/streams/{stream}',
  'GET /db/{database}/{revision}/subjects',
  'GET /db/{database}/{revision}/subjects/{subject}',
  'GET /health',
  'GET /health/detailed',
  'POST /api/v1/databases/{database}',
  'POST /api/v1/db',
  'POST /api/v1/db/{database}',
  'POST /api/v1/db/{database}/async',
  'POST /databases',
  'POST /databases/{database}/events',
  'POST /databases/{database}/query',
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
  ])('knows what %s may be asked', (path, methods) => {
    expect(allowedMethods(path)).toBe(methods);
  });

  it.each(['/v1/db', '/databases/', '/db/shop', '/databases/a/b/c', '/db//7', '/api/v1/db/shop/state-views'])(
    'has no %s (SPEC-HTTP-R3)',
    (path) => {
      expect(allowedMethods(path)).toBeUndefined();
    },
  );
});
