// Goal: nodes that are started together form one cluster, one that has lost its disk joins it again, and one that
// cannot have a port has neither joined nor written anything. Method: real nodes in this process, with fixed ports.
import { existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseAddress } from '#base';
import type { ClusterDescription } from '#cluster';
import { askAdmin, askForCluster } from '#transport/peer';
import { eventually } from '../../../support/eventually.ts';
import { freePorts } from '../../../support/free-ports.ts';
import { startServerIn, startTestServer, type TestServer } from '../../../support/server.ts';
import { untilAllAreVoters } from '../../../support/server-cluster.ts';
import { testDir } from '../../../support/test-scope.ts';

const HOST = '127.0.0.1';

async function clusterAt(peer: string): Promise<string | undefined> {
  const address = parseAddress(peer);
  return address && askForCluster(address, 5_000);
}

async function describedAt(peer: string): Promise<ClusterDescription | undefined> {
  const [host = '', port] = peer.split(':');
  const request = { order: { kind: 'describe' }, isPassedOn: true } as const;
  const reply = await askAdmin({ host, port: Number(port) }, request, 5_000);
  return reply.kind === 'described' ? reply.cluster : undefined;
}

/** Whether the last node of each name votes in the catalog and holds all databases, and no other node does. */
async function isWholeAt(peer: string): Promise<boolean> {
  const { nodes = [], databases = [] } = (await describedAt(peer)) ?? {};
  const latest = [...new Map(nodes.map(({ name, node }) => [name, node])).values()];
  const voters = nodes.filter(({ catalogRole }) => catalogRole === 'voter').map(({ node }) => node);
  const places = [voters, ...databases.map((each) => each.nodes)];
  return databases.every(({ isSettled }) => isSettled) && places.every((each) => inOrder(each) === inOrder(latest));
}

function inOrder(nodes: readonly number[]): string {
  return nodes.toSorted((one, other) => one - other).join();
}

test('three nodes that start together form one cluster, which each of them joins again without its disk (K1)', async () => {
  const dir = testDir();
  const peers = (await freePorts(3)).map((port) => `${HOST}:${port}`);
  const httpPorts = await freePorts(3);
  const running = new Map<number, TestServer>();
  const stop = async (at: number): Promise<void> => running.get(at)?.[Symbol.asyncDispose]();
  onTestFinished(async () => {
    await Promise.all([0, 1, 2].map(stop));
  });
  const start = async (at: number): Promise<TestServer> => {
    const peerPort = peers[at]?.split(':')[1];
    const place = [`--node-name=n${at}`, `--peer-port=${peerPort}`, `--http-port=${httpPorts[at]}`];
    const found = ['--bootstrap=alone', `--join=${peers.join()}`];
    const server = await startServerIn(join(dir, `n${at}`), ...place, ...found);
    running.set(at, server);
    return server;
  };
  const [, one] = await Promise.all([start(0), start(1), start(2)]);
  await untilAllAreVoters(one, 3);
  const clusters = await Promise.all(peers.map(clusterAt));
  expect([clusters[0], new Set(clusters).size]).toEqual([expect.any(String), 1]);
  await one.client.send('createDatabase', { databaseName: 'shop' });

  // The disk of each of them in turn is lost while the others run: a new node takes its place at once.
  for (const at of [0, 1, 2]) {
    await stop(at);
    rmSync(join(dir, `n${at}`), { recursive: true });
    const again = await start(at);
    expect(await clusterAt(peers[at] ?? '')).toBe(clusters[0]);
    await eventually(() => again.client.send('fetchLatestDatabase', { databaseName: 'shop' }));
    await eventually(async () => expect(await isWholeAt(peers[at] ?? '')).toBe(true));
  }

  // All are down, and the disk of one is lost: it founds nothing, and waits for the others.
  await Promise.all([0, 1, 2].map(stop));
  rmSync(join(dir, 'n0'), { recursive: true });
  const waiting = start(0);
  await eventually(async () => {
    const answer = await fetch(`http://${HOST}:${httpPorts[0]}/health`).catch(() => undefined);
    expect([answer?.status, await answer?.text()]).toEqual([503, expect.stringContaining('may belong to a cluster')]);
  });
  const probe = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://${HOST}:${httpPorts[0]}${path}`);
    return [answer.status, await answer.text()];
  };
  // No other node has a kubelet restart this one.
  expect([await probe('/startupz'), await probe('/livez')]).toEqual([
    [200, 'ok'],
    [200, 'ok'],
  ]);
  expect(await probe('/readyz')).toEqual([503, expect.stringMatching(/^\[-\]cluster failed: it waits for .*$/m)]);
  await Promise.all([start(1), start(2), waiting]);
  await eventually(async () => expect(await probe('/readyz')).toEqual([200, 'ok']));
  expect(await Promise.all(peers.map(clusterAt))).toEqual(clusters);
}, 120_000);

test('a node whose only seed is its own address founds a cluster of one node', async () => {
  const [port] = await freePorts(1);
  const seed = `${HOST}:${port}`;
  await using node = await startServerIn(testDir(), `--peer-port=${port}`, '--bootstrap=alone', `--join=${seed}`);
  expect(await clusterAt(node.peer)).toEqual(expect.any(String));
});

test('a node that founded a cluster alone answers nothing while a node of another one dials it (K1)', async () => {
  const dir = testDir();
  await using first = await startTestServer('--peer-port=0', '--node-name=first');
  const joining = ['--peer-port=0', `--join=${first.peer}`, '--node-name=member'];
  await using second = await startServerIn(join(dir, 'member'), ...joining);
  // The founder loses its disk, and its unchanged command line has it found another cluster: its member dials it.
  const [, peerPort] = first.peer.split(':');
  await first[Symbol.asyncDispose]();
  await using impostor = await startServerIn(join(dir, 'impostor'), `--peer-port=${peerPort}`, '--node-name=first');
  await eventually(async () => {
    const read = impostor.client.call('fetchLatestDatabase', { databaseName: 'shop' });
    await expect(read).rejects.toMatchObject({
      message: expect.stringContaining('of another cluster dials the address'),
    });
    expect(await clusterAt(second.peer)).not.toBe(await clusterAt(impostor.peer));
  });
  const detailed: unknown = await (await fetch(`${impostor.http}/health/detailed`)).json();
  expect(detailed).toMatchObject({ status: 'degraded' });
}, 60_000);

test.each(['grpc', 'http', 'mcp', 'metrics', 'peer'])(
  'a node whose %s port is taken has joined and written nothing (K6)',
  async (name) => {
    await using seed = await startTestServer('--peer-port=0', '--node-name=seed');
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen({ host: HOST, port: 0 }, resolve));
    onTestFinished(() => void taken.close());
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const dir = join(testDir(), 'data');
    const peerPort = name === 'peer' ? [] : ['--peer-port=0'];
    const starting = startServerIn(dir, `--join=${seed.peer}`, ...peerPort, `--${name}-port=${port}`);
    await expect(starting).rejects.toThrow('EADDRINUSE');
    expect(existsSync(dir)).toBe(false);
    // Until the seed leads the catalog, its description may be older than its own entry.
    await eventually(async () =>
      expect(await describedAt(seed.peer)).toMatchObject({ isConfirmed: true, nodes: [{ name: 'seed' }] }),
    );
  },
);
