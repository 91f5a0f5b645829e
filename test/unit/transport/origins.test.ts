// Goal: a request is accepted by its origin and host, depending on the address of the node and the allowed origins.
// Method: a table.
import { expect, it } from 'vitest';
import { type AllowedOrigins, Origins } from '../../../src/transport/origins.ts';

type Row = [listens: string, host: string | undefined, origin: string | undefined, said: RegExp, site?: string];
const FINE = /^fine$/;
const HERE = '127.0.0.1';

const ANY_ORIGIN: readonly Row[] = [
  [HERE, 'localhost:3001', undefined, FINE],
  ['::1', '[::1]:3001', 'http://[::1]:5173', FINE],
  [HERE, '127.0.0.1:3001', 'http://localhost:5173', FINE],
  [HERE, HERE, 'https://shop.example', /Invalid Origin "https:\/\/shop.example"/],
  // A foreign name that resolves to this node: DNS rebinding.
  [HERE, 'evil.example:3001', undefined, /Invalid Host "evil.example:3001"/],
  [HERE, 'evil.example', 'http://evil.example', /Invalid Host/],
  [HERE, undefined, undefined, FINE],
  [HERE, undefined, 'http://evil.example', /Invalid Origin/],
  [HERE, '', undefined, /Invalid Host/],
  [HERE, '127.evil.example', undefined, /Invalid Host/],
  ['127.0.0.2', 'evil.example', undefined, /Invalid Host/],
  ['0.0.0.0', 'backend', 'https://shop.example', FINE, 'same-origin'],
  [HERE, 'evil.example', 'http://evil.example', /Invalid Host/, 'same-origin'],
  ['127.0.0.2', '127.0.0.2:3001', undefined, FINE],
  [HERE, 'localhost@evil.example', undefined, /Invalid Host/],
  ['0.0.0.0', 'node.example:3001', 'https://node.example', FINE],
  ['0.0.0.0', 'node.example:3001', 'http://localhost:5173', FINE],
  ['0.0.0.0', 'node.example:3001', 'https://other.example', /Invalid Origin/],
  ['0.0.0.0', undefined, undefined, FINE],
];
const NAMED_ORIGIN: readonly Row[] = [
  [HERE, HERE, 'https://shop.example', FINE],
  [HERE, HERE, 'https://shop.example.evil', /Invalid Origin/],
  [HERE, HERE, 'null', /Invalid Origin/],
  [HERE, 'shop.example', undefined, FINE],
];

it.each<[AllowedOrigins, ...Row]>([
  ...ANY_ORIGIN.map((row): [AllowedOrigins, ...Row] => ['*', ...row]),
  ...NAMED_ORIGIN.map((row): [AllowedOrigins, ...Row] => [['https://shop.example'], ...row]),
])('with origins %j at %s a request to %s from %s is %s', (allowed, ...row) => {
  const [listens, host, origin, said, site] = row;
  const origins = new Origins({ host: listens, allowed });
  const headers = { host, origin, ...(site !== undefined && { 'sec-fetch-site': site }) };
  expect(origins.faultIn(headers) ?? 'fine').toMatch(said);
  expect(origins.headersFor(headers)['access-control-allow-origin']).toBe(origin);
});
