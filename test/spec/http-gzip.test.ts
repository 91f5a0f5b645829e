// Goal: a node that is told to compresses pages of each rendering for clients that accept gzip; tags, and what caches
// are told, are right for both forms, and what another node has compressed passes as it is.
// Method: two real nodes, of which one holds the database; a client that decodes nothing.
import { once } from 'node:events';
import { type IncomingMessage, request as send } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { cloudEvent, HttpClient } from '../support/http-client.ts';
import { startTwoNodes } from '../support/two-nodes.ts';

const { holder, other } = await startTwoNodes('shop', '--http-gzip-bytes=1KiB');
const PAGE = '/db/shop/1/events';
const TYPES = ['application/json', 'text/html', 'text/plain'];

beforeAll(async () => {
  const events = Array.from({ length: 40 }, (_, n) =>
    cloudEvent(`e-${n}`, { data: { note: 'what an event says', n } }),
  );
  await new HttpClient(holder.http).commit('shop', ...events);
}, 60_000);

interface Bare {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
}

async function ask(
  address: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  { method = 'GET', body = '' } = {},
): Promise<Bare> {
  const outgoing = send(`${address}${path}`, { method, headers, agent: false }).end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(pieces) };
}

describe.each([
  ['the node that holds the database', holder.http],
  ['another node', other.http],
])('SPEC-HTTP-GZIP at %s', (_which, address) => {
  it.each(TYPES)('a page of %s has two forms with one tag', async (accept) => {
    const plain = await ask(address, PAGE, { accept });
    const packed = await ask(address, PAGE, { accept, 'accept-encoding': 'gzip, br' });
    expect([plain.status, plain.headers['content-encoding']]).toEqual([200, undefined]);
    expect([packed.status, packed.headers['content-encoding']]).toEqual([200, 'gzip']);
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    expect(packed.headers.etag).toMatch(/^W\/".+"$/);
    expect([packed.headers.etag, packed.headers.vary]).toEqual([plain.headers.etag, plain.headers.vary]);
    expect(plain.headers.vary).toBe('accept, accept-encoding');
    expect(plain.headers['content-type']).toBe(packed.headers['content-type']);
    for (const encodings of ['identity', 'gzip']) {
      const known = { accept, 'accept-encoding': encodings, 'if-none-match': packed.headers.etag ?? '' };
      const { status, headers, bytes } = await ask(address, PAGE, known);
      expect([status, headers.etag, headers.vary]).toEqual([304, packed.headers.etag, packed.headers.vary]);
      expect([headers['content-encoding'], bytes.length]).toEqual([undefined, 0]);
    }
    const head = await ask(address, PAGE, { accept, 'accept-encoding': 'gzip' }, { method: 'HEAD' });
    expect([head.headers['content-encoding'], head.headers['content-length'], head.headers.etag]).toEqual([
      'gzip',
      packed.headers['content-length'],
      packed.headers.etag,
    ]);
  });

  it('whoever takes nothing that there is gets the answer as it is', async () => {
    const { status, headers, bytes } = await ask(address, PAGE, { 'accept-encoding': 'br, identity;q=0' });
    expect([status, headers['content-encoding']]).toEqual([200, undefined]);
    expect(JSON.parse(bytes.toString())).toMatchObject({ events: expect.any(Array) });
  });

  it('writes and refusals have the same choice, and the status that they have', async () => {
    const only = { 'accept-encoding': 'gzip, identity;q=0', 'content-type': 'application/json' };
    const body = JSON.stringify({ events: [cloudEvent('later')] });
    const written = await ask(address, '/databases/shop/events', only, { method: 'POST', body });
    expect([written.status, written.headers['content-encoding']]).toEqual([200, 'gzip']);
    expect(JSON.parse(gunzipSync(written.bytes).toString())).toMatchObject({ events_count: 1 });
    const refused = await ask(address, '/db/absent/1', only);
    expect([refused.status, refused.headers['content-encoding']]).toEqual([404, 'gzip']);
    expect(gunzipSync(refused.bytes).toString()).toContain('NOT_FOUND');
  });
});
