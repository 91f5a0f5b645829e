// Goal: the table of docs/security.md has every route and every call, each at one operation.
// Method: the routing table and the service of gRPC against it.
import { expect, test } from 'vitest';
import { WAYS, WITHOUT_RIGHT } from '../../../scripts/support/permissions-reference.ts';
import { EventStoreService } from '../../../src/transport/grpc/gen/cairn/v1/event_store.ts';
import { ROUTES } from '../../../src/transport/http/routes.ts';

test('every route stands in the table, once', () => {
  const listed = [...Object.values(WAYS).flatMap(({ http }) => http), ...WITHOUT_RIGHT];
  expect(listed.toSorted()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted());
});

test('every call stands in the table, once', () => {
  const listed = Object.values(WAYS).flatMap(({ grpc }) => grpc);
  const calls = Object.values(EventStoreService).map(({ path }) => path.replace('/cairn.v1.EventStore/', ''));
  expect(listed.toSorted()).toEqual(calls.toSorted());
});
