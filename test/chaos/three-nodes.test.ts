// Goal: three nodes are one cluster. What one has acknowledged the others answer, the end of the one that leads costs
// seconds and nothing that was acknowledged, and a node that comes back catches up, wherever it is now. Method: real
// processes on loopback, of which the leader is killed by SIGKILL.
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type NodeProcess, startNode } from '../../chaos/support/node-process.ts';
import { Direction } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
import { holdersAt } from '../support/cluster-command.ts';
import { TestClient } from '../support/grpc-client.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const DATABASE = 'shop';
/** An election takes up to 3.5 s; machines that run other tests take their time. */
const POLL = { timeout: 60_000, interval: 100 };

interface Member {
  readonly name: string;
  readonly process: NodeProcess;
  readonly client: TestClient;
}

/** A node of the cluster of `seed`, or the first of a new one. */
async function start(dir: string, name: string, seed?: string): Promise<Member> {
  const place = [`--node-name=${name}`, `--zone=${name}`, ...(seed === undefined ? [] : [`--join=${seed}`])];
  const process = await startNode({
    dataDir: join(dir, name),
    settings: ['--peer-port=0', '--wal-segment-bytes=4MiB', '--ballast-bytes=0', ...place],
    onSpawn: endWithTest,
  });
  const client = new TestClient(process.grpc);
  onTestFinished(() => client[Symbol.asyncDispose]());
  return { name, process, client };
}

/** Writes until it is acknowledged; answers the revision, and the node that led. */
async function write({ client }: Member, id: string): Promise<{ readonly revision: number; readonly leader: string }> {
  const request = transaction(DATABASE, [event({ id })], { transactionId: crypto.randomUUID() });
  const written = await expect
    .poll(() => client.call('transact', request).catch(() => undefined), POLL)
    .toBeDefined()
    .then(() => client.call('transact', request));
  return { revision: written.message.revision, leader: String(written.trailers['x-leader-node']) };
}

/** The ids of all events, as this node has them, which has this revision at least. */
async function idsAt({ client }: Member, revision: number): Promise<readonly string[] | undefined> {
  const request = { databaseName: DATABASE, startRevision: 0, direction: Direction.DIRECTION_FORWARD, limit: 0 };
  const metadata = { 'x-min-revision': String(revision) };
  const reply = await client.collect('scanDatabaseLog', request, { metadata }).catch(() => undefined);
  return reply?.messages.map(({ id }) => id);
}

it('three nodes serve one history, whichever of them leads, and one that was killed catches up', {
  timeout: 300_000,
}, async () => {
  const dir = testDir();
  const first = await start(dir, 'node-1');
  const seed = first.process.peer;
  const nodes = [first, await start(dir, 'node-2', seed), await start(dir, 'node-3', seed)];
  await first.client.send('createDatabase', { databaseName: DATABASE });
  const { revision, leader } = await write(first, 'before');
  expect(revision).toBe(1);
  for (const node of nodes) await expect.poll(() => idsAt(node, 1), POLL).toEqual(['before']);
  // A node that has joined a moment ago may have got its copy only after the database was made.
  await expect.poll(() => holdersAt(seed), POLL).toBe('1,2,3');

  const leading = nodes.find(({ name }) => name === leader);
  const others = nodes.filter(({ name }) => name !== leader);
  const [other] = others;
  if (leading === undefined || other === undefined) throw new Error(`${leader} is none of the nodes`);
  leading.process.kill('SIGKILL');
  await leading.process.ended;
  const after = await write(other, 'after');
  expect(after.revision).toBe(2);
  expect(after.leader).not.toBe(leader);
  for (const node of others) await expect.poll(() => idsAt(node, 2), POLL).toEqual(['before', 'after']);

  // On other ports than before: the others learn of them by what it announces.
  const back = await start(dir, leading.name, other.process.peer);
  expect(back.process.grpc).not.toBe(leading.process.grpc);
  await expect.poll(() => idsAt(back, 2), POLL).toEqual(['before', 'after']);
  const last = await write(back, 'last');
  expect(last.revision).toBe(3);
  for (const node of [...others, back]) {
    await expect.poll(() => idsAt(node, 3), POLL).toEqual(['before', 'after', 'last']);
    expect(node.process.log()).not.toContain('"level":"error"');
  }
});

it('a node joins no cluster but its own, and gives up with a sentence when nobody answers', {
  timeout: 120_000,
}, async () => {
  const dir = testDir();
  const one = await start(dir, 'one');
  const other = await start(dir, 'other');
  other.process.kill('SIGTERM');
  expect(await other.process.ended).toBe(0);
  await expect(start(dir, 'other', one.process.peer)).rejects.toThrow(
    /belongs to the cluster \S+, and --join names a node of \S+; name a node of the same cluster/,
  );
  const settings = ['--peer-port=0', '--join-wait-ms=300', '--ballast-bytes=0'];
  const alone = { dataDir: join(dir, 'alone'), onSpawn: endWithTest };
  const lonely = startNode({ ...alone, settings: [...settings, `--join=${other.process.peer}`] });
  await expect(lonely).rejects.toThrow(/No cluster could be joined within 300 ms \(127\.0\.0\.1:\d+: .*NotJoined/s);
  // What has begun to join does not begin a cluster of its own instead, and may still join.
  await expect(startNode({ ...alone, settings })).rejects.toThrow('HalfJoined');
  const joined = await startNode({ ...alone, settings: [...settings, `--join=${one.process.peer}`] });
  expect(joined.log()).toContain('"nodeId":2');
  // Nobody could reach it, and it would wait for them.
  joined.kill('SIGTERM');
  await joined.ended;
  await expect(startNode({ ...alone, settings: ['--ballast-bytes=0'] })).rejects.toThrow('PeerPortMissing');
});
