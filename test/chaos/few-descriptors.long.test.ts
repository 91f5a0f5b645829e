// Goal: many connections do not end a node: log and store continue, and the node drains (W7). Method: a real node with
// few file descriptors, more connections than that to both servers, and writers.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it, vi } from 'vitest';
import type { NodeProcess } from '../../chaos/support/node-process.ts';
import { Proof } from '../../chaos/support/proof.ts';
import { StoreClient } from '../../chaos/support/store-client.ts';
import { type Ledger, Writers } from '../../chaos/support/writers.ts';
import { SMALL_STORE, startOwnNode } from '../support/own-node.ts';
import { testDir } from '../support/test-scope.ts';

const TIMEOUT_MS = 240_000;
const SOON = { timeout: 60_000, interval: 100 };

/** Starts a node with a limit of open files. */
async function start(dataDir: string, filesMax: number): Promise<NodeProcess> {
  const under = ['bash', '-c', `ulimit -n ${filesMax}; exec "$@"`, 'bash'];
  return startOwnNode(dataDir, SMALL_STORE, { under });
}

/** Opens `count` connections. The server may close some of them, which is only noticed by reading. */
async function crowd(address: string, count: number): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(address.includes('://') ? address : `http://${address}`);
  const dial = (): Socket => connect(Number(port), hostname).resume();
  const sockets = Array.from({ length: count }, () => dial().on('error', () => undefined));
  await Promise.all(sockets.map(async (socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
  return sockets;
}

/** True when the node accepts another connection and answers on it. */
async function isReachable(address: string): Promise<boolean> {
  using probe = new StoreClient(address);
  return await probe.databases().then(
    () => true,
    () => false,
  );
}

it('a node whose connections use up its open files continues to write, and drains', {
  timeout: TIMEOUT_MS,
}, async () => {
  const dir = testDir();
  const node = await start(dir, 200);
  using client = new StoreClient(node.grpc);
  const ledger: Ledger = new Map();
  const proof = new Proof(await client.createDatabase('crowded'), ledger);
  const writers = new Writers({ address: node.grpc, database: 'crowded', fillerBytes: 500 }, ledger);
  writers.start(4);
  await writers.answered;
  const ofGrpc = await crowd(node.grpc, 300);
  // One port leaves the other its share, and both leave metrics theirs.
  expect((await fetch(`${node.http}/health`)).status).toBe(200);
  const sockets = [...ofGrpc, ...(await crowd(node.http, 300))];
  expect((await fetch(node.metrics)).status).toBe(200);
  await vi.waitUntil(() => sockets.filter((socket) => socket.destroyed).length >= 450, SOON);
  // Long enough for new segments, tables and checkpoints, each of which opens files.
  const { size } = ledger;
  await vi.waitUntil(() => ledger.size > size + 300, SOON);
  await writers.stop();
  expect(writers.refused).toEqual([]);
  for (const socket of sockets) socket.destroy();
  // The node has room for new connections once it has seen these close.
  await vi.waitUntil(async () => isReachable(node.grpc), SOON);
  await proof.check(node.grpc);
  node.kill('SIGTERM');
  expect(await node.ended).toBe(0);
  expect(node.log()).not.toContain('fatal');
});

it('a node with a too low limit of open files does not start, and names the limit that it needs', {
  timeout: TIMEOUT_MS,
}, async () => {
  const dir = testDir();
  await expect(start(dir, 100)).rejects.toThrow(/ended with 1 .*may have 100 files open.*needs 160 at least/s);
});
