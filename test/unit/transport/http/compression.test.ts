// Goal: answers are compressed once for clients that accept it, their headers match those of HEAD and 304, and their
// memory is counted. Method: routes with various answers.
import { hash } from 'node:crypto';
import { request as send } from 'node:http';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { createByteBudgets } from '#transport';
import { gzipWish } from '../../../../src/transport/http/compression.ts';
import type { HttpReply } from '../../../../src/transport/http/reply.ts';
import type { Route } from '../../../../src/transport/http/route.ts';
import { until } from '../../../support/budget-time.ts';
import { type HttpWorld, startHttpWorld } from '../../../support/http-world.ts';
import { ask, type Undecoded } from '../../../support/undecoded-http.ts';

const MIN = 1_024;
const TEXT = JSON.stringify({ text: 'what an event says '.repeat(200) });
const NOISE = JSON.stringify(Array.from({ length: 100 }, (_, n) => hash('sha256', String(n), 'base64')).join(''));
const GZIP = { 'accept-encoding': 'gzip' };
const ONLY = { 'accept-encoding': 'gzip, identity;q=0' };

function route(name: string, answer: () => HttpReply): Route {
  return { method: 'GET', path: `/${name}`, handle: answer };
}

function json(status: number, body: string | Buffer, headers: HttpReply['headers'] = {}): HttpReply {
  return { status, headers, contentType: 'application/json; charset=utf-8', body };
}

const ROUTES: readonly Route[] = [
  route('text', () => json(200, TEXT)),
  route('bytes', () => ({ status: 200, headers: {}, contentType: 'text/plain', body: Buffer.from(TEXT) })),
  route('short', () => json(200, '{}')),
  route('edge', () => json(200, 'x'.repeat(MIN))),
  route('below', () => json(200, 'x'.repeat(MIN - 1))),
  route('noise', () => json(200, NOISE)),
  route('image', () => ({ status: 200, headers: {}, contentType: 'image/png', body: TEXT })),
  route('strong', () => json(200, TEXT, { etag: '"a"' })),
  route('weak', () => json(200, TEXT, { etag: 'W/"a"', vary: 'accept' })),
  route('secret', () => json(200, TEXT, { 'cache-control': 'no-store' })),
  route('encoded', () => json(200, TEXT, { 'content-encoding': 'br' })),
  route('streamed', () => ({
    status: 200,
    headers: {},
    contentType: 'text/plain',
    stream: Readable.from([Buffer.from(TEXT)]),
  })),
  route('unchanged', () => ({ status: 304, headers: { etag: 'W/"a"', vary: 'accept' } })),
  route('failed', () => json(500, TEXT)),
];

test.each([
  ['accepted', 'gzip | GZip | x-gzip | deflate, gzip, br, zstd | * | gzip;q=0.1 | gzip; q = 0.5 | , ,;, gzip'],
  ['accepted', 'identity;q=0.5, gzip;q=0.5 | identity;q=0.5, gzip'],
  ['refused', 'br | gzip;q=0 | gzip;q=0.000 | gzip;q=0, * | *;q=0 | identity | identity, gzip;q=0.5 | identity;q=0'],
  ['refused', 'gzip;q=0.5, *;q=1 | gzip;q=2 | gzip;q=0.1234 | gzip;level=1'],
  ['required', 'gzip, identity;q=0 | gzip;q=0.5, *;q=0 | *, identity;q=0'],
])('gzip is %s by Accept-Encoding %s', (wish, headers) => {
  for (const header of headers.split(' | ')) expect([header, gzipWish(header)]).toEqual([header, wish]);
  expect([gzipWish(undefined), gzipWish('')]).toEqual(['refused', 'refused']);
});

let world: HttpWorld;

beforeAll(async () => {
  world = await startHttpWorld({ routes: ROUTES, gzipBytesMin: MIN });
});

afterAll(() => world[Symbol.asyncDispose]());

it.each(['text', 'bytes', 'edge', 'weak', 'failed'])(
  'an answer /%s is compressed for clients that accept it',
  async (path) => {
    const plain = await ask(world.server.address, `/${path}`);
    const packed = await ask(world.server.address, `/${path}`, GZIP);
    expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).toEqual([undefined, 'gzip']);
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    expect(packed.headers['content-length']).toBe(String(packed.bytes.length));
    const rest = ({
      headers: { 'content-encoding': _e, 'content-length': _l, date: _d, ...others },
    }: Undecoded): object => others;
    expect([packed.status, rest(packed)]).toEqual([plain.status, rest(plain)]);
    expect(plain.headers.vary?.split(', ')).toContain('accept-encoding');
    const head = await ask(world.server.address, `/${path}`, GZIP, { method: 'HEAD' });
    const { date: _h, ...ofHead } = head.headers;
    const { date: _g, ...ofGet } = packed.headers;
    expect([head.status, ofHead, head.bytes.length]).toEqual([packed.status, ofGet, 0]);
  },
);

it.each(['short', 'below', 'noise'])(
  'an answer /%s is not worth compressing, except for clients that accept nothing else',
  async (path) => {
    const plain = await ask(world.server.address, `/${path}`, GZIP);
    expect([plain.headers['content-encoding'], plain.headers.vary]).toEqual([undefined, 'accept-encoding']);
    const packed = await ask(world.server.address, `/${path}`, ONLY);
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
  },
);

it.each(['image', 'strong', 'secret', 'encoded', 'streamed'])(
  'an answer /%s is unchanged for all clients',
  async (path) => {
    const answer = await ask(world.server.address, `/${path}`, ONLY);
    expect(answer.bytes.toString()).toBe(TEXT);
    const told = [answer.headers['content-encoding'], answer.headers.vary];
    expect(told).toEqual([path === 'encoded' ? 'br' : undefined, undefined]);
  },
);

describe('answers that are being compressed', () => {
  const LONG = JSON.stringify({ text: 'what an event says, again and again '.repeat(60_000) });
  const long = route('long', () => json(200, Buffer.from(LONG)));

  it('are limited to two at a time, and others are sent uncompressed', async () => {
    await using own = await startHttpWorld({ routes: [long], gzipBytesMin: MIN });
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(own.server.address, '/long', GZIP)));
    const packed = answers.filter(({ headers }) => headers['content-encoding'] === 'gzip');
    expect(packed.length).toBeGreaterThanOrEqual(2);
    for (const { bytes } of packed) expect(gunzipSync(bytes).length).toBe(LONG.length);
    for (const { bytes } of answers.filter((answer) => !packed.includes(answer)))
      expect(bytes.length).toBe(LONG.length);
  });

  it('are counted during the compression, and release their memory when the client leaves', async () => {
    const budgets = createByteBudgets({ requestBytesMax: 2 ** 30, unsentBytesMax: 2 ** 30 });
    await using own = await startHttpWorld({ routes: [long], gzipBytesMin: MIN, budgets });
    for (let n = 0; n < 4; n++) {
      const outgoing = send(`${own.server.address}/long`, { headers: GZIP, agent: false }).on('error', () => undefined);
      outgoing.end();
      await until(() => budgets.unsent.used >= LONG.length);
      outgoing.destroy();
      await until(() => budgets.unsent.used === 0);
    }
    const { bytes } = await ask(own.server.address, '/long', GZIP);
    expect(gunzipSync(bytes).length).toBe(LONG.length);
    await until(() => budgets.unsent.used === 0);
    expect(own.fatal).toEqual([]);
    expect(own.logged).toEqual([]);
  });
});
