// Goal: no port takes the file descriptors of another one, nor those of log and store. Method: the shares of many
// limits, and servers of plain sockets in front of which more connections come than they may have.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { segmentFilesMax } from '#storage';
import {
  type ClosedConnection,
  ConnectionBound,
  type ConnectionShares,
  connectionShares,
  type ServerName,
} from '../../../../src/main/ports/connection-bound.ts';
import { until } from '../../../support/eventually.ts';

it.each([160, 200, 256, 1_024, 4_096, 65_536, 1_048_576])('the shares of %i files leave each port some', (filesMax) => {
  for (const hasPeers of [false, true]) {
    const { clients, clientsOfPort, metrics, peers } = connectionShares(filesMax, { hasPeers });
    expect(clients + metrics + 2 * peers).toBeLessThanOrEqual(filesMax - 108 - segmentFilesMax(filesMax));
    expect(108 + segmentFilesMax(filesMax)).toBeGreaterThanOrEqual(128);
    expect(clients - clientsOfPort).toBeGreaterThanOrEqual(5);
    expect(clientsOfPort).toBeGreaterThanOrEqual(14);
    expect(metrics).toBeGreaterThanOrEqual(4);
    expect(peers > 0).toBe(hasPeers);
  }
});

it('the shares are as documented for a limit of 1,024', () => {
  const shares = connectionShares(1_024, { hasPeers: true });
  expect(shares).toEqual({ clients: 559, clientsOfPort: 419, metrics: 32, peers: 98 });
});

it('the shares are none when the limit is too low', () => {
  expect(() => connectionShares(159, { hasPeers: false })).toThrow(/159 files open.* needs 160 at least: raise/);
});

describe('the bound', () => {
  const SHARES: ConnectionShares = { clients: 8, clientsOfPort: 6, metrics: 2, peers: 2 };
  /** Dials in a thread of its own, for what is dialled in this one counts, too. */
  const DIAL = `
    const { connect } = require('node:net');
    const { workerData: { port, count } } = require('node:worker_threads');
    for (let n = 0; n < count; n++) connect(port, '127.0.0.1').on('error', () => undefined);
  `;
  const closed: ClosedConnection[] = [];
  const sockets: Socket[] = [];
  let ending: AsyncDisposableStack;
  let bound: ConnectionBound;

  beforeEach(() => {
    closed.length = 0;
    sockets.length = 0;
    ending = new AsyncDisposableStack();
    bound = ending.use(new ConnectionBound(SHARES, (one) => closed.push(one)));
  });

  afterEach(() => ending.disposeAsync());

  async function listen(name: ServerName, kept = sockets, evict?: () => boolean): Promise<number> {
    const server = createServer((socket) => void kept.push(socket.on('error', () => undefined)));
    ending.defer(() => void server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    bound.name(port, name, evict);
    return port;
  }

  const openAt = (port: number): number =>
    sockets.filter(({ destroyed, localPort }) => !destroyed && localPort === port).length;

  /** So many connections; resolves when each is open or was closed. */
  async function crowd(port: number, count: number): Promise<Worker> {
    const before = sockets.length;
    const worker = new Worker(DIAL, { eval: true, workerData: { port, count } });
    ending.defer(() => void worker.terminate());
    await until(() => sockets.length === before + count);
    return worker;
  }

  it('closes what comes to a port beyond its share, and leaves the rest to the other one', async () => {
    const [grpc, http] = [await listen('grpc'), await listen('http')];
    await crowd(grpc, 20);
    await crowd(http, 20);
    expect([openAt(grpc), openAt(http)]).toEqual([6, 2]);
    expect(closed).toHaveLength(32);
    expect(closed[0]).toEqual({ server: 'grpc', bound: 'of the port', countMax: 6 });
    expect(closed.at(-1)).toEqual({ server: 'http', bound: 'of all clients', countMax: 8 });
  });

  it('has the port make room that has more than others, and counts what that closes out', async () => {
    const open: Socket[] = [];
    const port = await listen('http', open, () => open.shift()?.destroy() !== undefined);
    const grpc = await listen('grpc');
    const worker = new Worker(DIAL, { eval: true, workerData: { port, count: 20 } });
    ending.defer(() => void worker.terminate());
    await until(() => open.length === 6);
    await crowd(grpc, 4);
    await until(() => open.length === 4);
    expect([open.length, openAt(grpc), closed]).toEqual([4, 4, []]);
    await crowd(grpc, 2);
    expect([open.length, openAt(grpc), closed.length]).toEqual([4, 4, 2]);
  });
});
