// Goal: a write that is for the leader alone is taken by the leader alone, and any other write by whichever node it
// comes to. Method: three real nodes in this process, each of which is asked the same.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type CallOptions, GrpcFailure } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const FOR_THE_LEADER: CallOptions = { metadata: { 'x-require-leader': 'true' } };
const FOR_ANYBODY: CallOptions = { metadata: { 'x-require-leader': 'false' } };

const nodes: TestServer[] = [];

beforeAll(async () => {
  const first = await started('--node-name=one');
  for (const name of ['two', 'three']) await started(`--node-name=${name}`, `--join=${first.peer}`);
});

async function started(...settings: readonly string[]): Promise<TestServer> {
  const server = await startTestServer('--peer-port=0', ...settings);
  afterAll(() => server[Symbol.asyncDispose]());
  nodes.push(server);
  return server;
}

interface Told {
  readonly node: string;
  /** OK, or the code of the refusal and its finer reason. */
  readonly result: string;
  readonly leader: unknown;
}

type Write = (
  node: TestServer,
  options: CallOptions,
) => Promise<{ readonly trailers: Readonly<Record<string, unknown>> }>;

/** What each node says to a write of its own, one after the other. */
async function asked(write: Write, options: CallOptions): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (const node of nodes) told.push(await answerOf(node, write(node, options)));
  return told;
}

async function answerOf(node: TestServer, answer: ReturnType<Write>): Promise<Told> {
  try {
    return { node: node.grpc, result: 'OK', leader: (await answer).trailers['x-leader-address'] };
  } catch (failure) {
    if (!(failure instanceof GrpcFailure)) throw failure;
    const result = `${failure.code} ${failure.info?.metadata['reason']}`;
    return { node: node.grpc, result, leader: failure.trailers['x-leader-address'] };
  }
}

/** A database with a copy on each node. */
async function newDatabase(): Promise<string> {
  const databaseName = uniqueName();
  await nodes[0]?.client.send('createDatabase', { databaseName });
  return databaseName;
}

const creation: Write = ({ client }, options) => client.call('createDatabase', { databaseName: uniqueName() }, options);

const transactionOf =
  (databaseName: string): Write =>
  ({ client }, options) =>
    client.call('transact', transaction(databaseName, [event({ id: uniqueName() })]), options);

/** Of an instance that the name does not mean, so that the first one leaves the same to the next. */
const deletionOf =
  (databaseName: string): Write =>
  ({ client }, options) =>
    client.call('deleteDatabase', { databaseName, databaseId: '0193a1b2-c3d4-7e5f-8a9b-100000000000' }, options);

describe('SPEC-GRPC-REQUIRE-LEADER in a cluster', () => {
  it.each([
    ['createDatabase', async () => creation],
    ['transact', async () => transactionOf(await newDatabase())],
    ['deleteDatabase', async () => deletionOf(await newDatabase())],
  ])('%s with true is taken by the leader only, and with false by every node', async (_method, made) => {
    const write = await made();
    // Which of them leads is known to all of them a moment later.
    await eventually(async () => {
      const told = await asked(write, FOR_THE_LEADER);
      const leader = told.find(({ result }) => result === 'OK')?.node;
      expect(told.map(({ result }) => result).toSorted()).toEqual([
        'OK',
        'UNAVAILABLE NotLeader',
        'UNAVAILABLE NotLeader',
      ]);
      expect(told.map((each) => each.leader)).toEqual([leader, leader, leader]);
      const forAnybody = await asked(write, FOR_ANYBODY);
      expect(forAnybody).toEqual(nodes.map(({ grpc: node }) => ({ node, result: 'OK', leader })));
    });
  });

  it('a write that was refused has changed nothing', async () => {
    const databaseName = await newDatabase();
    await eventually(async () => {
      const at = async (): Promise<unknown> =>
        (await nodes[0]?.client.send('fetchLatestDatabase', { databaseName }))?.database?.revision;
      const before = Number(await at());
      const told = await asked(transactionOf(databaseName), FOR_THE_LEADER);
      expect(told.filter(({ result }) => result === 'OK')).toHaveLength(1);
      expect(await at()).toBe(before + 1);
    });
  });
});
