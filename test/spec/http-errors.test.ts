// Malformed raw HTTP requests, which ordinary clients do not send, get the specified status, code and error body (TH1).
import { describe, expect, it } from 'vitest';
import {
  cloudEvent,
  errorOf,
  type Failure,
  INVALID_ARGUMENT,
  NOT_FOUND,
  RESOURCE_EXHAUSTED,
  uniqueName,
} from '../support/http-client.ts';
import { exchange, parseReplies, type RawReply } from '../support/raw-http.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api, server } = await sharedHttpNode();

const CLOSE = 'Connection: close\r\n';
const HOST = 'Host: localhost\r\n';

async function raw(...parts: readonly (string | Uint8Array)[]): Promise<readonly RawReply[]> {
  return parseReplies(await exchange(api.address, ...parts));
}

function rawErrorOf(reply: RawReply | undefined): Failure {
  if (reply === undefined) throw new Error('no reply came');
  return errorOf({ status: reply.status, headers: new Headers([...reply.headers]), text: reply.body });
}

describe('SPEC-HTTP-ERRORS: unknown routes and methods', () => {
  const absent = ['/nothing', '/api/v1', '/v1/db', '/databases/', '//', '/Databases', '/db/shop', '/databases/a/b/c'];
  it.each([...absent, '/v1/databases/shop', '/api/v1/openapi', `/${'x'.repeat(60_000)}`])(
    'GET %.20s answers 404 NOT_FOUND, and cuts a long path short',
    async (path) => {
      const { message, details } = errorOf(await api.get(path), NOT_FOUND);
      expect(message.length).toBeLessThan(500);
      expect(details?.reason).not.toBe('MethodNotAllowed');
    },
  );

  it.each([
    ['PUT', '/databases', 'GET, HEAD, OPTIONS, POST'],
    ['PATCH', '/databases/shop', 'DELETE, GET, HEAD, OPTIONS'],
    ['POST', '/health', 'GET, HEAD, OPTIONS'],
    ['GET', '/api/v1/db', 'OPTIONS, POST'],
    ['GET', '/api/v1/db/shop', 'DELETE, OPTIONS, POST'],
    ['GET', '/api/v1/db/shop/state-views', 'OPTIONS, POST'],
    ['DELETE', '/db/shop/1', 'GET, HEAD, OPTIONS'],
    ['PROPFIND', '/', 'GET, HEAD, OPTIONS'],
    ['QUERY', '/databases/shop/query', 'OPTIONS, POST'],
  ])('%s %s answers 404 with the methods of the path', async (method, path, allow) => {
    const answer = await api.send(path, { method });
    const { details } = errorOf(answer, NOT_FOUND);
    expect(answer.headers.get('allow')).toBe(allow);
    expect(details?.reason).toBe('MethodNotAllowed');
  });

  it('names the prefixes of all paths and the page that describes them', async () => {
    const { message } = errorOf(await api.get('/nothing'), NOT_FOUND);
    const named = message.slice(message.indexOf(';')).match(/\/[\w/]+/g) ?? [];
    const { paths } = JSON.parse((await api.get('/api/v1/openapi.full.json')).text) as { readonly paths: object };
    const shown = Object.keys(paths).filter((path) => path !== '/' && !named.some((start) => path.startsWith(start)));
    expect(shown).toEqual([]);
    expect((await api.get(named.at(-1) ?? '')).status).toBe(200);
  });

  it('answers 404 to a body for an unknown route, with any content type', async () => {
    expect(errorOf(await api.post('/nothing', 'x', { 'content-type': ';;' }))).toMatchObject(NOT_FOUND);
    expect(errorOf(await api.post('/nothing', 'x'.repeat(2_000_000)))).toMatchObject(NOT_FOUND);
  });
});

describe('SPEC-HTTP-ERRORS: malformed requests', () => {
  it.each([
    ['Host', `GET /health HTTP/1.1\r\n${HOST}${HOST}\r\n`],
    ['x-batch-id', `POST /api/v1/db/a HTTP/1.1\r\n${HOST}X-Batch-Id: 1\r\nx-batch-id: 1\r\nContent-Length: 0\r\n\r\n`],
    ['x-min-revision', `GET /databases HTTP/1.1\r\n${HOST}x-min-revision: 1\r\nX-Min-Revision: 1\r\n\r\n`],
    ['Content-Type', `POST /databases HTTP/1.1\r\n${HOST}Content-Type: a/b\r\ncontent-type: a/b\r\n\r\n`],
  ])('says that %s must be sent once', async (name, bytes) => {
    const [reply] = await raw(bytes);
    expect(rawErrorOf(reply).message).toContain(`${name} must be sent once`);
  });

  it.each(['a.b-c_d', 'a:', '127.0.0.1:80', '[::1]', '[2001:db8::1]:8080', 'caf%C3%A9', ''])(
    'do not include a Host %j',
    async (host) => {
      const [reply] = await raw(`GET /health HTTP/1.1\r\nHost: ${host}\r\n${CLOSE}\r\n`);
      expect(reply?.status).toBe(200);
    },
  );

  it.each(['/db/%zz/1', '/db/%ff/1', '/%', '/db/shop/1/streams/%C3', '/db/shop/1/streams?prefix=%ED%A0%80'])(
    'GET %s answers 400',
    async (path) => {
      const [reply] = await raw(`GET ${path} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);
      expect(rawErrorOf(reply)).toMatchObject(INVALID_ARGUMENT);
    },
  );

  it('with an invalid x-min-revision answer 400, and with one above every database 404', async () => {
    const name = await api.created();
    for (const value of ['x', '-1', '1.5', '', '01', '18446744073709551616']) {
      const answer = await api.get(`/databases/${name}`, { 'x-min-revision': value });
      expect(errorOf(answer, INVALID_ARGUMENT).details?.field).toBe('x-min-revision');
    }
    const beyond = await api.get(`/databases/${name}`, { 'x-min-revision': '18446744073709551615' });
    expect(errorOf(beyond, NOT_FOUND).details?.reason).toBe('RevisionNotFound');
  });

  const TLS = new Uint8Array([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);
  const get = (target: string, version = '1.1'): string => `GET ${target} HTTP/${version}\r\n${HOST}\r\n`;
  const hosted = (host: string): string => `GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const headed = (...lines: readonly string[]): string =>
    `POST /databases HTTP/1.1\r\n${HOST}${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

  const MALFORMED: readonly (readonly [what: string, bytes: string | Uint8Array, expected?: string | RegExp])[] = [
    ['no method', 'hello\r\n\r\n', 'well-formed HTTP/1.1: invalid method encountered; found "hello"'],
    ['an unknown method', `FETCH / HTTP/1.1\r\n${HOST}\r\n`],
    ['TLS', TLS, String.raw`this port speaks, and this begins TLS; found "\u0016\u0003\u0001`],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'speaks, and this begins HTTP/2; found "PRI * HTTP/2.0"'],
    ['HTTP/3.0', get('/', '3.0'), 'HTTP/1.1: invalid http version; found "GET / HTTP/3.0"'],
    ['a null byte in the path', get('/\0')],
    ['a null byte in a header', headed('X: \0')],
    ['a header without a colon', headed('no colon'), 'invalid header token; found "no colon"'],
    [
      'a control character in a long header',
      headed(`X: \x01${'x'.repeat(10_000)}`),
      /invalid header value char; found "X: \\u0001x{50,60}.+ \(\d+ characters\)"$/,
    ],
    ['a folded header', headed('X: a', ' b')],
    ['a negative length', headed('Content-Length: -1')],
    ['two lengths', `${headed('Content-Length: 1', 'Content-Length: 2')}{}`],
    ['a length and chunks', `${headed('Content-Length: 3', 'Transfer-Encoding: chunked')}0\r\n\r\n`],
    ['an unknown transfer encoding', headed('Transfer-Encoding: rot13')],
    ['compressed chunks', `${headed('Transfer-Encoding: gzip, chunked')}0\r\n\r\n`],
    ['chunks over HTTP/1.0', `${headed('Transfer-Encoding: chunked').replace('1.1', '1.0')}0\r\n\r\n`],
    ['headers beyond the limit', headed(`X: ${'x'.repeat(140_000)}`)],
    ['a path beyond the limit', get(`/${'x'.repeat(140_000)}`)],
    ['two Hosts', headed('Host: b')],
    ['a Host that is a list', hosted('a, b')],
    ['a Host with a path', hosted('a/b')],
    ['a Host whose bracket stays open', hosted('[::1')],
    ['a Host whose port is none', hosted('x:99999999')],
    ['a Host of a port alone', hosted(':80')],
    ['a URL without host as target', get('http:///health')],
    ['a URL with a user as target', get('http://u@a/health')],
    ['the target *', get('*')],
    ['a fragment', get('/health#x')],
    ['a target of another scheme', get('ftp://a/health')],
  ];
  const malformed = MALFORMED.map(([what, bytes, expected = /./]) => ({ what, bytes, expected }));

  it.each(malformed)('with $what answer 400 with the reason, and end the connection (RFC 9112)', async (each) => {
    const { bytes, expected } = each;
    const [reply, ...more] = await raw(bytes);
    const { message } = rawErrorOf(reply);
    expect(rawErrorOf(reply)).toMatchObject(INVALID_ARGUMENT);
    expect(message).toMatch(expected);
    expect(message).not.toContain('Parse Error');
    expect(message.length).toBeLessThan(250);
    expect(reply?.headers.get('connection')).toBe('close');
    expect(more).toEqual([]);
  });

  it('with too many headers answer 400 with the limits', async () => {
    const request = (count: number): string => {
      const others = Array.from({ length: count - 2 }, (_, n) => `x${n}: 1\r\n`).join('');
      return `GET /health HTTP/1.1\r\n${HOST}Connection: close\r\n${others}\r\n`;
    };
    const [accepted] = parseReplies(await exchange(server.http, request(1_000)));
    expect(accepted?.status).toBe(200);
    const [refused] = parseReplies(await exchange(server.http, request(1_001)));
    expect(refused?.status).toBe(400);
    const limits = 'headers must be at most 1000, and at most 131072 bytes, request line included';
    expect(refused?.body).toContain(limits);
    // With Host and Connection, the thousandth of the other headers is above the limit.
    expect(refused?.body).toMatch(/there are more, from \\"x99\d\\" on/);
    const long = `GET /health HTTP/1.1\r\n${HOST}long: ${'x'.repeat(140_000)}\r\n\r\n`;
    const [tooLong] = parseReplies(await exchange(server.http, long));
    expect(tooLong?.body).toContain(limits);
  });

  it('may name the server in their target, as for a proxy', async () => {
    const name = await api.created();
    const target = `http://localhost:3000/db/${name}/cached`;
    const [reply] = await raw(`GET ${target} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);
    expect(reply?.headers.get('location')).toBe(`/db/${name}/0`);
    for (const [root, status] of [
      ['http://a', 200],
      ['HTTP://a?limit=1', 200],
      ['http://a//', 404],
    ] as const) {
      expect(await raw(`GET ${root} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)).toMatchObject([{ status }]);
    }
  });

  it('may be OPTIONS *', async () => {
    const [reply] = await raw(`OPTIONS * HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);
    expect(reply?.status).toBe(204);
    expect(reply?.headers.get('allow')).toBe('DELETE, GET, HEAD, OPTIONS, POST');
  });

  it('without Host answer 400 over HTTP/1.1, and are served over HTTP/1.0', async () => {
    expect(rawErrorOf((await raw(`GET /health HTTP/1.1\r\n${CLOSE}\r\n`))[0])).toMatchObject(INVALID_ARGUMENT);
    expect(await raw('GET /health HTTP/1.0\r\n\r\n')).toMatchObject([{ status: 200, body: 'OK' }]);
  });

  it('with an unknown Expect answer 400', async () => {
    const [reply] = await raw(`POST /databases HTTP/1.1\r\n${HOST}Expect: tea\r\nContent-Length: 2\r\n\r\n{}`);
    expect(reply?.status).toBe(400);
    expect(reply?.body).toContain('"code":"INVALID_ARGUMENT"');
  });

  it('that ask for a tunnel answer 404', async () => {
    expect(rawErrorOf((await raw(`CONNECT localhost:443 HTTP/1.1\r\n${HOST}\r\n`))[0])).toMatchObject(NOT_FOUND);
  });

  it('with Upgrade are answered without an upgrade', async () => {
    const [reply] = await raw(`GET /health HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    expect(reply).toMatchObject({ status: 200, body: 'OK' });
  });

  it('with a malformed chunk answer 400', async () => {
    const head = `POST /databases HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect(rawErrorOf((await raw(`${head}zz\r\n{}`))[0])).toMatchObject(INVALID_ARGUMENT);
    expect(rawErrorOf((await raw(`${head}2\r\n{}\r\n`, 'zz\r\n'))[0])).toMatchObject(INVALID_ARGUMENT);
  });

  it('with a body beyond the limit answer 413, announced or not', async () => {
    const head = `POST /databases HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`;
    expect(rawErrorOf((await raw(`${head}Content-Length: 99999999\r\n\r\n`))[0])).toMatchObject(RESOURCE_EXHAUSTED);
    const chunk = `${(700_000).toString(16)}\r\n${' '.repeat(700_000)}\r\n`;
    const [chunked] = await raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk}`);
    expect(rawErrorOf(chunked)).toMatchObject(RESOURCE_EXHAUSTED);
  });

  it('do not disturb the request before them, which is answered first (TH9)', async () => {
    const name = uniqueName();
    const body = JSON.stringify({ name });
    const create = `POST /databases HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const [created, refused] = await raw(`${create}GARBAGE\r\n\r\n`);
    expect(created?.status).toBe(201);
    expect(rawErrorOf(refused)).toMatchObject(INVALID_ARGUMENT);
    expect(await api.get(`/databases/${name}`)).toMatchObject({ status: 200 });
  });
});

describe('SPEC-HTTP-ERRORS: values in messages', () => {
  const BEYOND = '18446744073709551614';
  const CROSSED = `{"revision_range":{"start":${BEYOND},"end":9007199254740993}}`;
  const events = JSON.stringify([cloudEvent('e')]);

  it('a revision above 2^53 is quoted as it was sent', async () => {
    const name = await api.created();
    const condition = `{"events":${events},"conditions":[{"min":{"revision":${BEYOND}}}]}`;
    for (const [answer, message] of [
      [await api.get(`/db/${name}/${BEYOND}`), `has no revision ${BEYOND}; its latest is 0`],
      [await api.get(`/databases/${name}`, { 'x-min-revision': BEYOND }), `has no revision ${BEYOND}; its latest is 0`],
      [await api.post(`/api/v1/db/${name}`, condition), `MinRevision needs revision exactly ${BEYOND}`],
      [await api.post(`/databases/${name}/query`, CROSSED), `found ${BEYOND} to 9007199254740993`],
    ] as const) {
      expect(errorOf(answer).message).toContain(message);
    }
  });

  it('are escaped when they are not printable, and cut', async () => {
    const name = await api.created();
    const odd = `\u001b[2J\u202e${'x'.repeat(100)}`;
    const { message } = errorOf(
      await api.post(`/api/v1/db/${name}`, `{"events":[${JSON.stringify(cloudEvent(odd))}]}`),
    );
    expect(message).toContain(`found "\\u001b[2J\\u202e${'x'.repeat(59)}… (105 characters)"`);
  });
});
