/** A node of a cluster in another process, with a client, and the requests of cluster tests. */
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { NodeProcess } from '../../chaos/support/node-process.ts';
import { Direction } from '../../proto/gen/cairn/v1/event.ts';
import { TestClient } from './grpc-client.ts';
import { event, transaction } from './grpc-requests.ts';
import { startOwnNode } from './own-node.ts';

export interface Member {
  readonly process: NodeProcess;
  readonly client: TestClient;
}

/** Starts a node that founds a cluster, or joins that of the seed. Process and client end with the test. */
export async function startMember(
  dir: string,
  name: string,
  seed?: string,
  more: readonly string[] = [],
): Promise<Member> {
  const place = [`--node-name=${name}`, ...(seed === undefined ? [] : [`--join=${seed}`])];
  const process = await startOwnNode(join(dir, name), ['--peer-port=0', ...place, ...more]);
  const client = new TestClient(process.grpc);
  onTestFinished(() => client[Symbol.asyncDispose]());
  return { process, client };
}

/** Writes one event, repeating the transaction until it is acknowledged; returns its revision. */
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

/** Ids of all events, read at a revision of at least `least`; undefined when the node does not answer. */
export async function idsAt({ client }: Member, name: string, least: number): Promise<readonly string[] | undefined> {
  const request = { databaseName: name, startRevision: 0, direction: Direction.DIRECTION_FORWARD, limit: 0 };
  const metadata = { 'x-min-revision': String(least) };
  const reply = await client.collect('scanDatabaseLog', request, { metadata }).catch(() => undefined);
  return reply?.messages.map(({ id }) => id);
}

interface Facts {
  readonly databaseId: string;
  readonly chainHash: string;
}

/** Undefined when the node does not answer. */
export async function factsAt({ client }: Member, databaseName: string, revision: number): Promise<Facts | undefined> {
  const reply = await client.call('fetchDatabaseAtRevision', { databaseName, revision }).catch(() => undefined);
  const database = reply?.message.database;
  return database && { databaseId: database.databaseId, chainHash: database.chainHash.toString('hex') };
}
