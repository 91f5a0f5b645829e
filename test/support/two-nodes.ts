/** Two real nodes in this process, one of which has no replica of a database and relays requests for it. */
import type { ChannelCredentials } from '@grpc/grpc-js';
import { RELAYED } from '../../src/transport/relay.ts';
import { eventually } from './eventually.ts';
import { GrpcFailure } from './grpc-client.ts';
import { AS_FIRST, guardedSettings } from './guarded-node.ts';
import { startServerFor, type TestServer } from './server.ts';
import { tempDir } from './temp-dir.ts';
import { endWithFile } from './test-scope.ts';

export interface TwoNodes {
  readonly holder: TestServer;
  /** The node without a replica. */
  readonly other: TestServer;
}

/** The nodes run until the last test of the file has ended. The database is empty. */
export async function startTwoNodes(databaseName: string, ...settings: readonly string[]): Promise<TwoNodes> {
  return startTwo(databaseName, {}, ...settings);
}

/** Starts them with authentication; `AS_FIRST` is the administrator. */
export async function startGuardedTwoNodes(databaseName: string, ...settings: readonly string[]): Promise<TwoNodes> {
  const dir = tempDir();
  endWithFile(() => dir[Symbol.dispose]());
  return startTwo(databaseName, { credential: AS_FIRST }, ...guardedSettings(dir.path), ...settings);
}

export interface TwoNodesOptions {
  readonly credential?: Readonly<Record<string, string>>;
  /** Credentials with which the clients of the nodes use TLS. */
  readonly channel?: ChannelCredentials;
  /** Settings of only one of the nodes. */
  readonly settingsOf?: (name: 'one' | 'two') => readonly string[];
}

export async function startTwo(
  databaseName: string,
  { credential = {}, channel, settingsOf = () => [] }: TwoNodesOptions,
  ...settings: readonly string[]
): Promise<TwoNodes> {
  const shared = ['--peer-port=0', '--copies=1', ...settings];
  const one = await started(channel, '--node-name=one', ...shared, ...settingsOf('one'));
  const two = await started(channel, '--node-name=two', `--join=${one.peer}`, ...shared, ...settingsOf('two'));
  await one.client.send('createDatabase', { databaseName }, { metadata: credential });
  const isFirst = await eventually(async () => {
    const [first, second] = [await holds(one, databaseName, credential), await holds(two, databaseName, credential)];
    if (first === second) throw new Error('It is not known yet which of the two holds the database');
    return first;
  });
  return isFirst ? { holder: one, other: two } : { holder: two, other: one };
}

async function started(channel: ChannelCredentials | undefined, ...settings: readonly string[]): Promise<TestServer> {
  const dir = tempDir();
  const server = await startServerFor(channel, dir.path, ...settings);
  endWithFile(async () => {
    await server[Symbol.asyncDispose]();
    dir[Symbol.dispose]();
  });
  return server;
}

/** True when the node answers by itself. */
async function holds({ client }: TestServer, databaseName: string, proof: Record<string, string>): Promise<boolean> {
  try {
    await client.call('fetchLatestDatabase', { databaseName }, { metadata: { ...proof, [RELAYED]: 'a test' } });
    return true;
  } catch (failure) {
    if (failure instanceof GrpcFailure) return false;
    throw failure;
  }
}
