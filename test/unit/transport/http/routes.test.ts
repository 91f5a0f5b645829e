// The methods of paths; that every route is there and described is shown by test/spec/http-openapi.test.ts.
import { expect, it } from 'vitest';
import { allowedMethods, methodsByPath, ROUTES } from '../../../../src/transport/http/routes.ts';

it('routing table lists the methods of a path with those that follow from them', () => {
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
])('routing table knows what %s may be asked', (path, methods) => {
  expect(allowedMethods(path)).toBe(methods);
});

it.each(['/v1/db', '/databases/', '/db/shop', '/databases/a/b/c', '/db//7', '/v1/databases/shop', '/api/v1/openapi'])(
  'routing table has no %s (SPEC-HTTP-R3)',
  (path) => {
    expect(allowedMethods(path)).toBeUndefined();
  },
);
