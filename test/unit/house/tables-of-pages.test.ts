// Goal: tables in the docs name each item of the code once. Method: each table is compared with the code.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { FAULT_CODES, REFUSAL_CODES } from '#wasm';
import { EventStoreService } from '../../../proto/gen/cairn/v1/event_store.ts';
import { LIMIT_TABLES, NOT_MET } from '../../../scripts/support/limits-reference.ts';
import { WAYS, WITHOUT_RIGHT } from '../../../scripts/support/permissions-reference.ts';
import * as model from '../../../src/model/limits.ts';
import { SERVICE_LIMITS } from '../../../src/service/limits.ts';
import { ADMIN_METHODS } from '../../../src/transport/admin-messages.ts';
import { GRPC_LIMITS } from '../../../src/transport/grpc/limits.ts';
import { HEAD_LIMITS } from '../../../src/transport/grpc/wire/request-headers.ts';
import * as http from '../../../src/transport/http/limits.ts';
import { ROUTES } from '../../../src/transport/http/routes.ts';

const page = (name: string): string => readFileSync(resolve(import.meta.dirname, '../../../docs', name), 'utf8');
const [, interfaces = ''] = page('grpc.md').split('## What each interface has');
const cells = [...interfaces.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
const codesOf = (title: string): readonly string[] => {
  const [, section = ''] = page('components.md').split(`\n## ${title}\n`);
  return [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `([A-Z]\w+)` \|/gm)].map(([, code = '']) => code);
};
const routes = ROUTES.map(({ method, path }) => `${method} ${path}`);
const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const calls = Object.values(EventStoreService).map(({ path }) => nameOf(path));
const adminCalls = Object.values(ADMIN_METHODS).map(nameOf);
const ways = Object.values(WAYS);
const limits = [model, http, SERVICE_LIMITS, GRPC_LIMITS, HEAD_LIMITS].flatMap((each) => Object.keys(each));
const shown = LIMIT_TABLES.flatMap(({ rows }) => rows.flatMap(({ names }) => names));

it.each<[string, readonly string[], readonly string[]]>([
  ['routes of docs/grpc.md', cells.filter((text) => /^(?:GET|POST|DELETE) [^?]+$/.test(text)), routes],
  ['calls of docs/grpc.md', cells.filter((text) => /^[A-Z][a-z]+[A-Za-z]+$/.test(text)), calls],
  ['routes of docs/security.md', [...ways.flatMap((way) => way.http), ...WITHOUT_RIGHT], routes],
  ['calls of docs/security.md', ways.flatMap((way) => way.grpc), [...calls, ...adminCalls]],
  ['limits of docs/limits.md, with those that no client meets', [...shown, ...Object.keys(NOT_MET)], limits],
  ['refusals of docs/components.md', codesOf('Refusals'), REFUSAL_CODES],
  ['faults of docs/components.md', codesOf('Faults'), FAULT_CODES],
])('the %s equal those of the code', (_what, listed, known) => {
  expect(listed.toSorted()).toEqual(known.toSorted());
});
