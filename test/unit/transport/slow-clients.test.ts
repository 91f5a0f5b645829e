// Goal: who asks slowly, by halves or not at all is cut off in the stated time, and keeps nobody out (ADR 0143).
// Method: real nodes, and clients of sockets in a process of their own, while others come, ask and must be answered.
import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { Client, credentials } from '@grpc/grpc-js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openFilesMax } from '../../../src/main/connection-bound.ts';
import { GRPC_LIMITS } from '../../../src/transport/grpc/limits.ts';
import * as http from '../../../src/transport/http/limits.ts';
import * as mcp from '../../../src/transport/mcp/limits.ts';
import { cloudEvent } from '../../support/http-client.ts';
import { startHttpWorld } from '../../support/http-world.ts';
import { ACKNOWLEDGEMENT, frameOf, grpcHeaders, PREFACE, SETTINGS_FRAME } from '../../support/http2-frames.ts';
import { startTestNode, type TestServer } from '../../support/one-server.ts';
import { framed, prefix, RawGrpc } from '../../support/raw-grpc.ts';
import type { SlowClients } from '../../support/slow-clients-child.ts';
import { HELLO, type SmallService, startSmallService } from '../../support/small-service.ts';
import { endWithTest } from '../../support/test-scope.ts';
import { startWireServer } from '../../support/wire-server.ts';

const TEST_MS = 30_000;
const MIB = 2 ** 20;
/** In which whoever asks as one should is answered, on machines that have much else to do. */
const ANSWERED_MS = 2_000;
/** Looks are a second apart, and clients begin one after the other. */
const LATE_MS = 4_000;

interface Slow {
  /** Resolves when all are connected. */
  readonly open: Promise<void>;
  /** Milliseconds from the beginning of each that was closed. */
  readonly closedMs: number[];
  /** The same of each stream of HTTP/2 that was reset. */
  readonly resetMs: number[];
}

function start(clients: Omit<SlowClients, 'begins'> & { readonly begins: string | Buffer }): Slow {
  const begins = Buffer.from(clients.begins).toString('base64');
  const script = new URL('../../support/slow-clients-child.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, JSON.stringify({ ...clients, begins })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithTest(child);
  const [closedMs, resetMs]: [number[], number[]] = [[], []];
  const open = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'open') open.resolve();
    else (line.startsWith('reset') ? resetMs : closedMs).push(Number(line.split(' ')[1]));
  });
  return { open: open.promise, closedMs, resetMs };
}

/** As the server has them: of a crowd the kernel lets some clients believe that they are connected. */
function connectionsAt(port: number): { readonly open: number; readonly came: number } {
  const sockets = new Set<Socket>();
  const onAccepted = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    if (socket.localPort === port) sockets.add(socket);
  };
  subscribe('net.server.socket', onAccepted);
  onTestFinished(() => void unsubscribe('net.server.socket', onAccepted));
  return {
    get open() {
      return [...sockets].filter(({ destroyed }) => !destroyed).length;
    },
    get came() {
      return sockets.size;
    },
  };
}

const HEALTH = '/grpc.health.v1.Health/Check';
const portOf = (address: string): number => Number(new URL(address).port);

/** Each on a connection of its own; how long the slowest of them took. */
async function newcomers({ http: api, mcp: tools, grpc }: TestServer): Promise<number> {
  const beganMs = performance.now();
  const ask = async (url: string): Promise<unknown> => (await fetch(url, { headers: { connection: 'close' } })).text();
  const client = new Client(grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const call = new Promise<void>((resolve, reject) => {
    const pass = (bytes: Buffer): Buffer => bytes;
    const deadline = Date.now() + 10_000;
    client.makeUnaryRequest(HEALTH, pass, pass, Buffer.alloc(0), { deadline }, (e) => (e ? reject(e) : resolve()));
  });
  await Promise.all([ask(`${api}/health`), ask(`${tools}/nothing`), call]).finally(() => client.close());
  return performance.now() - beganMs;
}

async function untilClosed(slow: readonly Slow[], count: number, { within, node }: Patience): Promise<number> {
  let slowestMs = 0;
  const closed = async (): Promise<readonly number[]> => {
    if (node !== undefined) slowestMs = Math.max(slowestMs, await newcomers(node));
    return slow.map(({ closedMs }) => closedMs.length);
  };
  await expect.poll(closed, { timeout: within, interval: 200 }).toEqual(slow.map(() => count));
  return slowestMs;
}

interface Patience {
  readonly within: number;
  /** Whoever is new is to be answered by it all the while. */
  readonly node?: TestServer;
}

const IDLE_GRPC = Buffer.concat([PREFACE, SETTINGS_FRAME, ACKNOWLEDGEMENT]);
/** The header of 16,384 bytes of HEADERS, which do not come. */
const HALF_HEADERS = Buffer.from([0, 64, 0, 1, 4, 0, 0, 0, 1]);
const HALF_REQUEST = 'GET /health HTTP/1.1\r\nHost: a\r\n';
const bodyTo = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n`;

const [DATA, HEADERS, SETTINGS, WINDOW_UPDATE] = [0, 1, 4, 8];
const [END_STREAM, END_HEADERS] = [1, 4];
const framesOf = (type: number, flags: number, stream: number, payload: Uint8Array): Buffer =>
  frameOf({ type, flags, stream, payload });
const call = (path: string): Buffer => framesOf(HEADERS, END_HEADERS, 1, grpcHeaders(path));
const ONE_OF_DATA = framesOf(DATA, 0, 1, Buffer.from('x'));
/** A call of which the five bytes before a message are there; its message comes a byte in a frame. */
const trickledCall = (path: string): Pick<SlowClients, 'goesOn' | 'atATime' | 'isHttp2'> & { begins: Buffer } => ({
  begins: Buffer.concat([IDLE_GRPC, call(path), framesOf(DATA, 0, 1, prefix(9_000))]),
  goesOn: ONE_OF_DATA.toString('latin1'),
  atATime: ONE_OF_DATA.length,
  isHttp2: true,
});
/** SETTINGS_INITIAL_WINDOW_SIZE is 0. */
const NO_WINDOW = framesOf(SETTINGS, 0, 0, Buffer.of(0, 4, 0, 0, 0, 0));
const ONE_OF_WINDOW = framesOf(WINDOW_UPDATE, 0, 1, Buffer.of(0, 0, 0, 1));
/** A call whose answer its client takes a byte at a time, by the window of its stream. */
const sippedCall = (path: string, message: Uint8Array): ReturnType<typeof trickledCall> => ({
  begins: Buffer.concat([
    PREFACE,
    NO_WINDOW,
    ACKNOWLEDGEMENT,
    call(path),
    framesOf(DATA, END_STREAM, 1, framed(message)),
  ]),
  goesOn: ONE_OF_WINDOW.toString('latin1'),
  atATime: ONE_OF_WINDOW.length,
  isHttp2: true,
});

async function realNode(...settings: readonly string[]): Promise<TestServer> {
  const node = await startTestNode(...settings);
  onTestFinished(() => node[Symbol.asyncDispose]());
  return node;
}

describe('requests a byte at a time', () => {
  it(
    'are cut off in the stated time, and others are answered all the while',
    async () => {
      const node = await realNode();
      // What serves MCP is loaded with the first request for it.
      await newcomers(node);
      const count = 50;
      const [api, tools] = [portOf(node.http), portOf(node.mcp)];
      const headers = { count, begins: HALF_REQUEST, goesOn: 'x' };
      const unacknowledged = Buffer.concat([PREFACE, Buffer.from([0, 64, 0, 200, 0, 0, 0, 0, 0])]);
      const cases: readonly [Slow, number][] = [
        [start({ port: api, ...headers }), http.HEADERS_TIMEOUT_MS],
        [start({ port: tools, ...headers }), mcp.HEADERS_MS],
        [start({ port: node.port, count, begins: unacknowledged, goesOn: 'x' }), GRPC_LIMITS.openingMs],
        [start({ port: api, count, begins: bodyTo('/api/v1/db/a'), goesOn: ' ' }), http.SMALL_BODY_MS],
        [start({ port: tools, count, begins: bodyTo('/'), goesOn: ' ' }), mcp.BODY_PACE_MS],
      ];
      // Has a minute, and takes nothing from others meanwhile.
      start({ port: node.port, count, ...trickledCall('/cairn.v1.EventStore/Transact') });
      const slow = cases.map(([each]) => each);
      const slowestMs = await untilClosed(slow, count, { within: 24_000, node });
      expect(slowestMs).toBeLessThan(ANSWERED_MS);
      for (const [{ closedMs }, statedMs] of cases) {
        expect(Math.max(...closedMs)).toBeLessThan(statedMs + LATE_MS);
        expect(Math.min(...closedMs)).toBeGreaterThan(statedMs / 2);
      }
    },
    TEST_MS,
  );

  it(
    'of gRPC within a connection are cut off with it, which answers no ping meanwhile',
    async () => {
      await using server = await startWireServer({ methods: [], limits: { pingEveryMs: 1_000, pingTimeoutMs: 1_000 } });
      const begins = Buffer.concat([IDLE_GRPC, HALF_HEADERS]);
      const slow = start({ port: server.port, count: 20, begins, goesOn: 'x' });
      expect(await untilClosed([slow], 20, { within: 10_000 })).toBe(0);
    },
    TEST_MS,
  );
});

describe('an answer that is read a little at a time', () => {
  it(
    'is cut off when too little of it was taken in its time (TM2)',
    async () => {
      // Far more than the kernel takes for a client that does not read.
      const made = (): Buffer => Buffer.alloc(64 * MIB, 'x');
      const reply = { status: 200, headers: {}, contentType: 'text/plain' } as const;
      const paceMs = 3_000;
      const askedMs: number[] = [];
      const handle = () => {
        askedMs.push(performance.now());
        return Promise.resolve({ ...reply, body: made() });
      };
      const route = { method: 'GET', path: '/health', handle } as const;
      await using world = await startHttpWorld({ routes: [route], answerPace: { bytes: 2 ** 16, ms: paceMs } });
      const port = portOf(world.server.address);
      const slow = start({ port, count: 3, begins: `${HALF_REQUEST}\r\n`, reads: false });
      await slow.open;
      // A client that does not read hears of it when it does; the server knows at once.
      const inflight = async (): Promise<string> => {
        const { body } = await world.metrics.render();
        const lines = body.split('\n');
        return lines.find((line) => line.startsWith('cairn_inflight_requests{plane="http"}'))?.split(' ')[1] ?? '0';
      };
      await expect.poll(() => askedMs.length, { timeout: 10_000 }).toBe(3);
      const { text } = await world.client.get('/health');
      expect(text).toHaveLength(64 * MIB);
      await expect.poll(inflight, { timeout: 10_000 }).toBe('0');
      expect(performance.now() - Number(askedMs[0])).toBeGreaterThan(paceMs);
    },
    TEST_MS,
  );
});

/** Until all streams were reset, and how long the slowest call of others took meanwhile. */
async function untilReset({ resetMs }: Slow, count: number, at: SmallService): Promise<number> {
  let slowestMs = 0;
  const reset = async (): Promise<number> => {
    const beganMs = performance.now();
    expect((await at.raw.call({ path: '/test.Service/Echo', pieces: [HELLO] })).body).toEqual(Buffer.from(HELLO));
    slowestMs = Math.max(slowestMs, performance.now() - beganMs);
    return resetMs.length;
  };
  await expect.poll(reset, { timeout: 15_000, interval: 200 }).toBe(count);
  return slowestMs;
}

describe('calls of gRPC', () => {
  const count = 20;
  const statedMs = 3_000;

  it.each([
    ['whose request comes a byte at a time', { receiveMs: statedMs }, trickledCall('/test.Service/Echo')],
    [
      'whose reply is taken a byte at a time',
      { lingerMs: statedMs },
      sippedCall('/test.Service/Echo', Buffer.alloc(5_000)),
    ],
  ])(
    '%s end in the stated time, and others are answered all the while',
    async (_what, limits, asked) => {
      await using at = await startSmallService({ limits });
      const slow = start({ port: at.port, count, ...asked });
      expect(await untilReset(slow, count, at)).toBeLessThan(ANSWERED_MS);
      expect(Math.max(...slow.resetMs)).toBeLessThan(statedMs + LATE_MS);
      expect(Math.min(...slow.resetMs)).toBeGreaterThan(statedMs / 2);
      expect([at.server.callCount, at.budgets.requests.used, at.budgets.unsent.used]).toEqual([0, 0, 0]);
    },
    TEST_MS,
  );

  it(
    'whose stream of answers is taken a byte at a time hold what all may hold, and make way for who reads',
    async () => {
      const unsentBytes = 32 * MIB;
      const node = await realNode(`--unsent-memory-bytes=${unsentBytes}`);
      const events = 20;
      await fill(node, events);
      const before = process.memoryUsage().rss;
      const database = Buffer.from([10, 4, ...Buffer.from('shop')]);
      const path = '/cairn.v1.EventStore/QueryEvents';
      const slow = start({ port: node.port, count: 40, ...sippedCall(path, database) });
      await slow.open;
      for (let asked = 0; asked < 5; asked++) expect(await newcomers(node)).toBeLessThan(ANSWERED_MS);
      // They ask for 720 MB; small replies have a quarter more.
      expect(await unsentBytesOf(node)).toBeGreaterThan(unsentBytes / 4);
      const reader = new RawGrpc(node.port);
      const { body, status } = await reader.call({ path, pieces: [framed(database)] });
      expect([status, body.length > events * EVENT_BYTES]).toEqual([0, true]);
      await reader.close();
      expect(await unsentBytesOf(node)).toBeLessThanOrEqual(1.25 * unsentBytes);
      expect(process.memoryUsage().rss - before).toBeLessThan(256 * MIB);
      await expect.poll(() => slow.resetMs.length, { timeout: 15_000 }).toBeGreaterThan(10);
    },
    TEST_MS,
  );

  const EVENT_BYTES = 900_000;

  async function fill({ http: api }: TestServer, events: number): Promise<void> {
    const post = async (path: string, body: object): Promise<void> => {
      const headers = { 'content-type': 'application/json' };
      const { ok } = await fetch(`${api}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(ok).toBe(true);
    };
    await post('/api/v1/db', { database_name: 'shop' });
    const data = 'x'.repeat(EVENT_BYTES);
    for (let n = 0; n < events; n++) await post('/databases/shop/events', { events: [cloudEvent(`e${n}`, { data })] });
  }

  async function unsentBytesOf({ metrics }: TestServer): Promise<number> {
    const lines = (await (await fetch(metrics)).text()).split('\n');
    return Number(lines.find((line) => line.startsWith('cairn_unsent_memory_bytes '))?.split(' ')[1]);
  }
});

describe('more connections than there are places', () => {
  const isWide = (openFilesMax() ?? Number.POSITIVE_INFINITY) >= 16_000;
  /** Idle ones: as many as may be where a process may not have so many files open, which the name of the test says. */
  const crowd = isWide ? 10_000 : 200;

  it(
    'that ask by halves keep no newcomer out',
    async () => {
      const node = await realNode();
      const crowds = [
        start({ port: portOf(node.http), count: isWide ? http.CONNECTIONS_MAX + 500 : 400, begins: HALF_REQUEST }),
        start({ port: portOf(node.mcp), count: isWide ? mcp.CONNECTIONS_MAX + 100 : 200, begins: HALF_REQUEST }),
      ];
      await Promise.all(crowds.map(({ open }) => open));
      for (let asked = 0; asked < 5; asked++) expect(await newcomers(node)).toBeLessThan(ANSWERED_MS);
    },
    TEST_MS,
  );

  it.each([
    { of: 'HTTP', at: 'http', placesMax: http.CONNECTIONS_MAX },
    { of: 'MCP', at: 'mcp', placesMax: mcp.CONNECTIONS_MAX },
  ] as const)(
    `that are idle, ${crowd} of $of, leave the node answering and its memory bounded, and are let go`,
    async ({ at, placesMax }) => {
      const node = await realNode();
      const server = connectionsAt(portOf(node[at]));
      const before = process.memoryUsage().rss;
      const idle = start({ port: portOf(node[at]), count: crowd, begins: '' });
      await idle.open;
      for (let asked = 0; asked < 5; asked++) expect(await newcomers(node)).toBeLessThan(ANSWERED_MS);
      expect(process.memoryUsage().rss - before).toBeLessThan(256 * MIB);
      expect(server.open).toBeLessThanOrEqual(placesMax);
      expect(server.came).toBeGreaterThan(0.8 * crowd);
      await expect.poll(() => server.open, { timeout: 18_000 }).toBe(0);
    },
    TEST_MS,
  );

  it(
    `that are idle, ${crowd} of gRPC, leave the node answering and its memory bounded, and stay as long as there are places`,
    async () => {
      const node = await realNode();
      const server = connectionsAt(node.port);
      const before = process.memoryUsage().rss;
      const idle = start({ port: node.port, count: crowd, begins: IDLE_GRPC });
      await idle.open;
      for (let asked = 0; asked < 5; asked++) expect(await newcomers(node)).toBeLessThan(ANSWERED_MS);
      expect(process.memoryUsage().rss - before).toBeLessThan(512 * MIB);
      expect(server.came).toBeGreaterThan(0.9 * crowd);
      expect(server.came - server.open).toBeLessThan(20);
    },
    TEST_MS,
  );
});

describe('the places of gRPC', () => {
  it('are had by those that ask, also when others hold half requests', async () => {
    await using server = await startWireServer({ methods: [], limits: { connectionsMax: 20 } });
    const idle = start({ port: server.port, count: 20, begins: IDLE_GRPC });
    await idle.open;
    // Of those that have waited for less than a second a crowd takes none.
    const openedMs = performance.now();
    await expect.poll(() => performance.now() - openedMs, { timeout: 5_000 }).toBeGreaterThan(1_000);
    const halves = start({ port: server.port, count: 30, begins: PREFACE });
    await halves.open;
    await untilClosed([idle], 20, { within: 5_000 });
    await expect.poll(() => halves.closedMs.length).toBe(10);
  });
});
