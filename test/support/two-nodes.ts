/** Two real nodes in this process, one of which holds no copy of a database: what is asked of it is relayed. */
import { afterAll } from 'vitest';
import { RELAYED } from '../../src/transport/relay.ts';
import { eventually } from './eventually.ts';
import { GrpcFailure } from './grpc-client.ts';
import { startTestServer, type TestServer } from './server.ts';

export interface TwoNodes {
  readonly holder: TestServer;
  /** It holds none. */
  readonly other: TestServer;
}

/** They run until the last test of the file is over. The database is empty. */
export async function startTwoNodes(databaseName: string, ...settings: readonly string[]): Promise<TwoNodes> {
  const shared = ['--peer-port=0', '--copies=1', ...settings];
  const one = await started('--node-name=one', ...shared);
  const two = await started('--node-name=two', `--join=${one.peer}`, ...shared);
  await one.client.send('createDatabase', { databaseName });
  const isFirst = await eventually(async () => {
    const [first, second] = [await holds(one, databaseName), await holds(two, databaseName)];
    if (first === second) throw new Error('It is not known yet which of the two holds the database');
    return first;
  });
  return isFirst ? { holder: one, other: two } : { holder: two, other: one };
}

async function started(...settings: readonly string[]): Promise<TestServer> {
  const server = await startTestServer(...settings);
  afterAll(() => server[Symbol.asyncDispose]());
  return server;
}

/** Whether the node answers by itself. */
async function holds({ client }: TestServer, databaseName: string): Promise<boolean> {
  try {
    await client.call('fetchLatestDatabase', { databaseName }, { metadata: { [RELAYED]: 'a test' } });
    return true;
  } catch (failure) {
    if (failure instanceof GrpcFailure) return false;
    throw failure;
  }
}
