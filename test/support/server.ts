// Starts a real node for tests: all parts of the server in this process, on free loopback ports and with its own
// directory.
import type { ChannelCredentials } from '@grpc/grpc-js';
import { silentLogger } from '#observability';
import { startServers } from '../../src/main/node/servers.ts';
import { readInvocation } from '../../src/main/settings/config.ts';
import { spending } from './costs.ts';
import { foundingUnlessJoining } from './founding.ts';
import { TestClient } from './grpc-client.ts';
import { tempDir } from './temp-dir.ts';
import { nodes } from './test-scope.ts';

/** A running server that the test does not end itself. */
export interface RunningServer {
  /** host:port. */
  readonly grpc: string;
  /** http://host:port. */
  readonly http: string;
  /** host:port for other nodes; empty when they cannot connect. */
  readonly peer: string;
  /** URL of the MCP endpoint (http://host:port). */
  readonly mcp: string;
  /** URL of the metrics of the node that serves gRPC. */
  readonly metrics: string;
  /** URL of the metrics of the node that serves HTTP. */
  readonly metricsOfHttp: string;
  readonly dataDir: string;
  /** gRPC address (host:port) of each node. */
  readonly nodes: readonly string[];
  /** Port of gRPC. */
  readonly port: number;
  /** gRPC client; it connects with its first call. */
  readonly client: TestClient;
}

export type TestServer = RunningServer & AsyncDisposable;

/** `settings` are command-line options, such as `--read-wait-ms=50`. */
export async function startTestServer(...settings: readonly string[]): Promise<TestServer> {
  const dir = tempDir();
  const server = await startServerIn(dir.path, ...settings);
  return {
    ...server,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      dir[Symbol.dispose]();
    },
  };
}

/** The same with a directory that outlives the node, so that it can be started again. */
export function startServerIn(dataDir: string, ...settings: readonly string[]): Promise<TestServer> {
  return startServerFor(undefined, dataDir, ...settings);
}

/** The same with a client that uses TLS. */
export async function startServerFor(
  channel: ChannelCredentials | undefined,
  dataDir: string,
  ...settings: readonly string[]
): Promise<TestServer> {
  const free = ['--grpc-port=0', '--http-port=0', '--mcp-port=0', '--metrics-port=0'];
  const given = new Set(settings.map((setting) => setting.split('=')[0]));
  const ports = [...free.filter((port) => !given.has(port.split('=')[0])), '--shutdown-grace-ms=1000'];
  const isOpen = given.has('--peer-port') && !given.has('--peer-secret-file') && !given.has('--peer-tls-cert-file');
  const peers = settings.includes('--auth=on') && isOpen ? ['--peer-tls=off'] : [];
  const small = ['--wal-segment-bytes=4MiB', '--disk-soft-bytes=0', '--disk-hard-bytes=0'];
  const read = readInvocation(
    [`--data-dir=${dataDir}`, ...foundingUnlessJoining(settings), ...peers, ...ports, ...small, ...settings],
    {},
  );
  if (read.kind === 'failure') throw new Error(read.reason.join(' '));
  if (read.value.kind !== 'run') throw new Error('the settings of a test server start a node');
  const { config } = read.value;
  const running = await spending('starting nodes', () => startServers(config, silentLogger));
  nodes.running += 1;
  const { grpc } = running.addresses;
  const client = new TestClient(grpc, {}, channel);
  return {
    ...running.addresses,
    peer: running.addresses.peer ?? '',
    mcp: running.addresses.mcp ?? '',
    dataDir,
    metrics: running.addresses.metrics ?? '',
    metricsOfHttp: running.addresses.metrics ?? '',
    nodes: [grpc],
    port: Number(grpc.slice(grpc.lastIndexOf(':') + 1)),
    client,
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]();
      await running.drain();
      nodes.running -= 1;
    },
  };
}
