// Goal: real nodes cut off many slow clients in time, and answer new ones (ADR 0015). Method: thousands of slow
// connections to a node in this process.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { Client, credentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { openFilesMax } from '#storage';
import { GRPC_LIMITS } from '../../../src/transport/grpc/limits.ts';
import * as http from '../../../src/transport/http/limits.ts';
import * as mcp from '../../../src/transport/mcp/limits.ts';
import { PREFACE } from '../../support/http2-frames.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { HALF_REQUEST, IDLE_GRPC, startSlowClients, trickledCall } from '../../support/slow-clients.ts';

const TEST_MS = 60_000;
const MIB = 2 ** 20;
/** Time in which a normal client is answered, on a busy machine. */
const ANSWERED_MS = 2_000;
/** The node checks once a second, and the clients start one after the other. */
const LATE_MS = 4_000;

/** Connections according to the server. The kernel lets some clients of a crowd believe that they are connected. */
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

const portOf = (address: string): number => Number(new URL(address).port);

async function newcomers({ http: api, mcp: tools, grpc }: TestServer): Promise<void> {
  const beganMs = performance.now();
  const ask = async (url: string): Promise<unknown> => (await fetch(url, { headers: { connection: 'close' } })).text();
  const client = new Client(grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const call = new Promise<void>((resolve, reject) => {
    const same = (bytes: Buffer): Buffer => bytes;
    const deadline = Date.now() + 10_000;
    const path = '/grpc.health.v1.Health/Check';
    client.makeUnaryRequest(path, same, same, Buffer.alloc(0), { deadline }, (e) => (e ? reject(e) : resolve()));
  });
  await Promise.all([ask(`${api}/health`), ask(`${tools}/nothing`), call]).finally(() => client.close());
  expect(performance.now() - beganMs).toBeLessThan(ANSWERED_MS);
}

async function realNode(...settings: readonly string[]): Promise<TestServer> {
  const node = await startTestServer(...settings);
  onTestFinished(() => node[Symbol.asyncDispose]());
  // The code for MCP is loaded with its first request.
  await fetch(`${node.mcp}/nothing`);
  return node;
}

it(
  'requests with single bytes are cut off in the documented time, and others are answered meanwhile',
  async () => {
    const node = await realNode();
    const count = 50;
    const [api, tools] = [portOf(node.http), portOf(node.mcp)];
    const headers = { count, begins: HALF_REQUEST, goesOn: 'x' };
    const unacknowledged = Buffer.concat([PREFACE, Buffer.from([0, 64, 0, 200, 0, 0, 0, 0, 0])]);
    const bodyTo = (path: string): string =>
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n`;
    const cases = [
      [startSlowClients({ port: api, ...headers }), http.HEADERS_TIMEOUT_MS],
      [startSlowClients({ port: tools, ...headers }), mcp.HEADERS_MS],
      [startSlowClients({ port: node.port, count, begins: unacknowledged, goesOn: 'x' }), GRPC_LIMITS.openingMs],
      [startSlowClients({ port: api, count, begins: bodyTo('/api/v1/db/a'), goesOn: ' ' }), http.SMALL_BODY_MS],
      [startSlowClients({ port: tools, count, begins: bodyTo('/'), goesOn: ' ' }), mcp.BODY_PACE_MS],
    ] as const;
    // This client has a minute, and delays no other meanwhile.
    startSlowClients({ port: node.port, count, ...trickledCall('/cairn.v1.EventStore/Transact') });
    const closed = async (): Promise<readonly number[]> => {
      await newcomers(node);
      return cases.map(([{ closedMs }]) => closedMs.length);
    };
    await expect.poll(closed, { timeout: 24_000, interval: 200 }).toEqual(cases.map(() => count));
    for (const [{ closedMs }, statedMs] of cases) {
      expect(Math.max(...closedMs)).toBeLessThan(statedMs + LATE_MS);
      expect(Math.min(...closedMs)).toBeGreaterThan(statedMs / 2);
    }
  },
  TEST_MS,
);

/** Number of idle connections, fewer when a process may not open so many files. The test name shows it. */
const isWide = (openFilesMax() ?? Number.POSITIVE_INFINITY) >= 16_000;
const crowd = isWide ? 10_000 : 200;

it.each([
  { of: 'HTTP', begins: HALF_REQUEST, count: isWide ? http.CONNECTIONS_MAX + 500 : 400 },
  { of: 'HTTP', begins: '', count: crowd, placesMax: http.CONNECTIONS_MAX },
  { of: 'MCP', begins: HALF_REQUEST, count: isWide ? mcp.CONNECTIONS_MAX + 100 : 200 },
  { of: 'MCP', begins: '', count: crowd, placesMax: mcp.CONNECTIONS_MAX },
  { of: 'gRPC', begins: IDLE_GRPC, count: crowd },
])(
  '$count waiting connections of $of leave the node responsive and its memory limited',
  async ({ of, begins, count, placesMax }) => {
    const node = await realNode();
    const port = { HTTP: portOf(node.http), MCP: portOf(node.mcp), gRPC: node.port }[of] ?? 0;
    const server = connectionsAt(port);
    const before = process.memoryUsage().rss;
    await startSlowClients({ port, count, begins }).open;
    for (let asked = 0; asked < 5; asked++) await newcomers(node);
    expect(process.memoryUsage().rss - before).toBeLessThan(512 * MIB);
    expect(server.came).toBeGreaterThan(0.8 * count);
    expect(server.open).toBeLessThanOrEqual(placesMax ?? Number.POSITIVE_INFINITY);
    // Connections of gRPC stay while there are slots. HTTP connections without a request are closed.
    const left = (): boolean => (of === 'gRPC' ? server.came - server.open < 20 : begins !== '' || server.open === 0);
    await expect.poll(left, { timeout: 18_000 }).toBe(true);
  },
  TEST_MS,
);
