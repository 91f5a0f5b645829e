// Goal: the metrics port answers only scrapes and probes, and many requests cost one rendering. Method: the real server
// with fetch and plain sockets; a collector counts renderings.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createMetrics, type MetricsServer, silentLogger, startMetricsServer } from '#observability';

type Times = Pick<Parameters<typeof startMetricsServer>[0], 'keptMs' | 'connectionMs' | 'connectionsMax'>;

let server: MetricsServer | undefined;
/** Fault of the check of readiness. */
let fault: string | undefined;
afterEach(async () => {
  fault = undefined;
  await server?.close();
});

interface Started {
  readonly url: string;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly renderings: () => number;
  readonly open: () => Socket;
}

async function start(times: Times = {}): Promise<Started> {
  const metrics = createMetrics({ runtime: true });
  let renderings = 0;
  metrics.beforeScrape(() => {
    renderings++;
  });
  const probes = { '/livez': [], '/startupz': [], '/readyz': [{ name: 'one', fault: () => fault }] };
  server = await startMetricsServer({ host: '127.0.0.1', port: 0, metrics, probes, logger: silentLogger, ...times });
  const { port } = server;
  const open = (): Socket => connect(port, '127.0.0.1').on('error', () => undefined);
  return { url: `http://127.0.0.1:${port}`, metrics, renderings: () => renderings, open };
}

const GET = 'GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n';

test('another path gets 404, another method 405, a failing collector 500, and browsers must not sniff the type', async () => {
  const { url, metrics } = await start();
  metrics.beforeScrape(() => Promise.reject(new Error('broken')));
  for (const [path, method, expected] of [
    ['/', 'GET', 404],
    ['/metrics', 'POST', 405],
    ['/metrics', 'GET', 500],
  ] as const) {
    const { status, headers } = await fetch(`${url}${path}`, { method });
    expect([status, headers.get('x-content-type-options')]).toEqual([expected, 'nosniff']);
  }
});

test.each([
  ['localhost', 200],
  ['LOCALHOST:9464', 200],
  ['127.0.0.1:9464', 200],
  ['[::1]:9464', 200],
  ['rebound.example:9464', 403],
  ['127.0.0.1.rebound.example', 403],
  ['10.0.0.1', 403],
])('on loopback the Host %s gets %i, and probes are always answered', async (host, status) => {
  const { open } = await start();
  const ask = async (path: string): Promise<string> => {
    const socket = open().setEncoding('latin1');
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    const [reply] = await once(socket, 'data');
    socket.destroy();
    return String(reply);
  };
  const reply = await ask('/metrics');
  expect(reply).toContain(`HTTP/1.1 ${status} `);
  expect(reply).toContain(status === 403 ? `Invalid Host "${host}": use localhost` : 'text/plain');
  expect(await ask('/readyz')).toContain('HTTP/1.1 200 ');
});

test('probes are answered in the format of kube-apiserver, by GET and HEAD', async () => {
  const { url } = await start();
  const ask = async (path: string, method = 'GET'): Promise<unknown> => {
    const answer = await fetch(`${url}${path}`, { method });
    const text = await answer.text();
    const length = Number(answer.headers.get('content-length'));
    return [answer.status, method === 'HEAD' ? length : length - text.length, text];
  };
  expect(await ask('/readyz')).toEqual([200, 0, 'ok']);
  expect(await ask('/readyz?verbose')).toEqual([200, 0, '[+]one ok\nreadyz check passed\n']);
  expect(await ask('/livez?verbose=1')).toEqual([200, 0, 'livez check passed\n']);
  fault = 'it is away';
  const failed = '[-]one failed: it is away\nreadyz check failed\n';
  expect(await ask('/readyz')).toEqual([503, 0, failed]);
  expect(await ask('/readyz?verbose', 'HEAD')).toEqual([503, failed.length, '']);
  expect(await ask('/startupz')).toEqual([200, 0, 'ok']);
  expect((await fetch(`${url}/readyz`, { method: 'POST' })).status).toBe(405);
});

test('a connection gets one answer, for any number of pipelined requests', async () => {
  const { open, renderings } = await start({ keptMs: 0 });
  const socket = open().setEncoding('latin1');
  socket.write(GET.repeat(100));
  let received = '';
  for await (const text of socket) received += text;
  expect(received).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  expect(received).toMatch(/\r\nconnection: close\r\n/i);
  expect(received.split('HTTP/1.1 200 OK')).toHaveLength(2);
  expect(renderings()).toBe(1);
});

test('all requests within a second share one rendering', async () => {
  const { url, renderings } = await start({ keptMs: 60_000 });
  const scrape = async (): Promise<string> => (await fetch(`${url}/metrics`)).text();
  const bodies = await Promise.all(Array.from({ length: 20 }, scrape));
  expect(new Set([...bodies, await scrape()]).size).toBe(1);
  expect(renderings()).toBe(1);
});

test.each(['', GET.slice(0, 20), GET])(
  'a connection that sends %j and waits is closed after a timeout',
  async (sent) => {
    const { open, metrics } = await start({ connectionMs: 20 });
    metrics.beforeScrape(() => new Promise(() => undefined));
    const socket = open().resume();
    // Unread bytes cause a reset.
    socket.on('error', () => undefined);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    socket.once('close', () => resolve(true));
    socket.write(sent);
    expect(await promise).toBe(true);
  },
);

test.each([32, 5])('a probe evicts the oldest connection when there are %i', async (most) => {
  const { url, open } = await start(most === 32 ? {} : { connectionsMax: most });
  const [oldest = open(), ...others] = Array.from({ length: most }, open);
  const sockets = [oldest, ...others];
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const closed = once(oldest.resume(), 'close');
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  await closed;
  expect(others.filter((socket) => socket.closed)).toEqual([]);
  for (const socket of sockets) socket.destroy();
});

test('connections that open at the same time do not exceed the maximum', async () => {
  const { open } = await start({ connectionsMax: 5 });
  const sockets = Array.from({ length: 20 }, () => open().resume());
  const closed = sockets.map((socket) => once(socket, 'close'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await Promise.all(closed.slice(0, 15));
  expect(sockets.slice(15).filter((socket) => socket.closed)).toEqual([]);
  for (const socket of sockets) socket.destroy();
});
