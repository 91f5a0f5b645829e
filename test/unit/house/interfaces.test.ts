// Goal: the table of what each interface has names everything that there is, once. Method: docs/grpc.md against the
// routing table and the definition of the service.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { EventStoreService } from '../../../src/transport/grpc/gen/cairn/v1/event_store.ts';
import { ROUTES } from '../../../src/transport/http/routes.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../../docs/grpc.md'), 'utf8');
const [, table = ''] = page.split('## What each interface has');
const cells = [...table.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);

it('every route of HTTP stands in it once', () => {
  const routes = cells.filter((text) => /^(?:GET|POST|DELETE) [^?]+$/.test(text));
  expect(routes.toSorted()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted());
});

it('every method of gRPC stands in it once', () => {
  const methods = Object.values(EventStoreService).map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  const named = cells.filter((text) => /^[A-Z][a-z]+[A-Za-z]+$/.test(text));
  expect(named.toSorted()).toEqual(methods.toSorted());
});
