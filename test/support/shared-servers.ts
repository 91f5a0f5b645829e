// Servers that the files of test/spec share: one without authentication, and one with it. A test process starts each on
// demand, and they end with the process. Each file starts without databases.
import { inject } from 'vitest';
import { AS_FIRST, type GuardedNode, guardedSettings } from './guarded-node.ts';
import { HttpClient } from './http-client.ts';
import type { HttpNode } from './http-node.ts';
import { RawGrpc } from './raw-grpc.ts';
import { type RunningServer, startTestServer, type TestServer } from './server.ts';
import { startServerCluster } from './server-cluster.ts';
import { tempDir } from './temp-dir.ts';
import { endWithFile, nodes } from './test-scope.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** True when each server is a cluster of three nodes; otherwise it is one node. */
    readonly isClustered?: boolean;
  }
}

let open: Promise<TestServer> | undefined;
let guarded: Promise<TestServer> | undefined;

/** A server, with a client that sends arbitrary bytes to its gRPC port. */
export interface GrpcNode {
  readonly server: RunningServer;
  readonly raw: RawGrpc;
}

export function sharedServer(): Promise<RunningServer> {
  open ??= start();
  return forFile(open, {});
}

export async function sharedHttpNode(): Promise<HttpNode> {
  const server = await sharedServer();
  return { server, api: new HttpClient(server.http) };
}

export async function sharedGrpcNode(): Promise<GrpcNode> {
  const server = await sharedServer();
  const raw = new RawGrpc(server.port);
  endWithFile(() => raw.close());
  return { server, raw };
}

export async function sharedGuardedNode(): Promise<GuardedNode> {
  guarded ??= start(...guardedSettings(tempDir().path));
  const server = await forFile(guarded, AS_FIRST);
  return { server, api: new HttpClient(server.http) };
}

async function start(...settings: readonly string[]): Promise<TestServer> {
  const before = nodes.running;
  const startServer = inject('isClustered') === true ? startServerCluster : startTestServer;
  const server = await startServer('--guest-executors=1', ...settings);
  nodes.shared += nodes.running - before;
  return server;
}

async function forFile(started: Promise<RunningServer>, metadata: Record<string, string>): Promise<RunningServer> {
  const server = await started;
  endWithFile(async () => {
    const { databases } = await server.client.send('fetchCatalog', {}, { metadata });
    const names = databases.map(({ name }) => name);
    await Promise.all(
      names.map((databaseName) => server.client.send('deleteDatabase', { databaseName }, { metadata })),
    );
  });
  return server;
}
