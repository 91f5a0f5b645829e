/** A node of a cluster as a process of its own, with a client of it, and what tests of such clusters ask of it. */
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type NodeProcess, startNode } from '../../chaos/support/node-process.ts';
import { TestClient } from './grpc-client.ts';
import { event, transaction } from './grpc-requests.ts';
import { endWithTest } from './test-scope.ts';

export interface Member {
  readonly process: NodeProcess;
  readonly client: TestClient;
}

/** Begins a cluster, or joins that of the seed. Process and client end with the test. */
export async function startMember(
  dir: string,
  name: string,
  seed?: string,
  more: readonly string[] = [],
): Promise<Member> {
  const place = [`--node-name=${name}`, ...(seed === undefined ? [] : [`--join=${seed}`])];
  const settings = ['--peer-port=0', '--wal-segment-bytes=4MiB', ...place, ...more];
  const process = await startNode({ dataDir: join(dir, name), settings, onSpawn: endWithTest });
  const client = new TestClient(process.grpc);
  onTestFinished(() => client[Symbol.asyncDispose]());
  return { process, client };
}

/** Writes one event, again and again under its transaction_id until it is acknowledged; its revision. */
export async function writeAt(
  { client }: Member,
  databaseName: string,
  id: string,
  poll: { readonly timeout: number; readonly interval: number },
): Promise<number> {
  const request = transaction(databaseName, [event({ id })], { transactionId: crypto.randomUUID() });
  await expect.poll(() => client.call('transact', request).catch(() => undefined), poll).toBeDefined();
  return (await client.call('transact', request)).message.revision;
}
