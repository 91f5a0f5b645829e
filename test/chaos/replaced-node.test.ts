// Goal: a cluster grows and is rearranged while it is written: a database of one node gets its copies when others join, and
// the node that began everything can be taken out; nothing is lost, and no write fails for a client that repeats it.
// Method: four real processes on loopback, and the command of an operator, as he would type it.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import type { ClusterDescription } from '#cluster';
import { type NodeProcess, startNode } from '../../chaos/support/node-process.ts';
import { productArgs } from '../../chaos/support/product.ts';
import { Direction } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
import { TestClient } from '../support/grpc-client.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const DATABASE = 'shop';
const POLL = { timeout: 120_000, interval: 250 };
const run = promisify(execFile);

interface Member {
  readonly process: NodeProcess;
  readonly client: TestClient;
}

async function start(dir: string, name: string, seed?: string): Promise<Member> {
  const place = [`--node-name=${name}`, ...(seed === undefined ? [] : [`--join=${seed}`])];
  const settings = ['--peer-port=0', '--wal-segment-bytes=4MiB', '--ballast-bytes=0', ...place];
  const process = await startNode({ dataDir: join(dir, name), settings, onSpawn: endWithTest });
  const client = new TestClient(process.grpc);
  onTestFinished(() => client[Symbol.asyncDispose]());
  return { process, client };
}

/** Runs `cairn cluster …`; rejects with what it says when it ends with another code than 0. */
async function cluster({ process: { peer } }: Member, ...words: readonly string[]): Promise<string> {
  const args = [...productArgs(), 'cluster', ...words, `--at=${peer}`];
  return (await run(process.execPath, args)).stdout;
}

async function described(member: Member): Promise<ClusterDescription | undefined> {
  const text = await cluster(member, 'status', '--json').catch(() => 'null');
  const description: ClusterDescription | null = JSON.parse(text);
  return description ?? undefined;
}

/** Which nodes hold the database, when that is settled. */
async function holders(member: Member): Promise<string | undefined> {
  const [database] = (await described(member))?.databases ?? [];
  const voters = database?.members.filter(({ isVoter }) => isVoter).map(({ node }) => node) ?? [];
  const isThere = database?.isSettled === true && inOrder(voters) === inOrder(database.nodes);
  return isThere ? inOrder(voters) : undefined;
}

function inOrder(nodes: readonly number[]): string {
  return nodes.toSorted((one, other) => one - other).join();
}

/** Writes one event, again and again until it is acknowledged. */
async function write({ client }: Member, id: string): Promise<number> {
  const request = transaction(DATABASE, [event({ id })], { transactionId: crypto.randomUUID() });
  await expect.poll(() => client.call('transact', request).catch(() => undefined), POLL).toBeDefined();
  return (await client.call('transact', request)).message.revision;
}

async function idsAt({ client }: Member, revision: number): Promise<readonly string[] | undefined> {
  const request = { databaseName: DATABASE, startRevision: 0, direction: Direction.DIRECTION_FORWARD, limit: 0 };
  const metadata = { 'x-min-revision': String(revision) };
  const reply = await client.collect('scanDatabaseLog', request, { metadata }).catch(() => undefined);
  return reply?.messages.map(({ id }) => id);
}

async function chainHash({ client }: Member, revision: number): Promise<string | undefined> {
  const reply = await client
    .call('fetchDatabaseAtRevision', { databaseName: DATABASE, revision })
    .catch(() => undefined);
  return reply?.message.database?.chainHash.toString('hex');
}

it('a database gets its copies when nodes join, and the node that began it all is taken out under writes', {
  timeout: 600_000,
}, async () => {
  const dir = testDir();
  const first = await start(dir, 'node-1');
  const seed = first.process.peer;
  await first.client.send('createDatabase', { databaseName: DATABASE });
  const ids = ['a', 'b', 'c'];
  for (const id of ids) await write(first, id);

  const others = [await start(dir, 'node-2', seed), await start(dir, 'node-3', seed)];
  const [second] = others;
  if (second === undefined) throw new Error('There are two');
  await expect.poll(() => holders(second), POLL).toBe('1,2,3');
  const fourth = await start(dir, 'node-4', seed);
  await expect.poll(async () => (await described(fourth))?.nodes.filter(({ answers }) => answers).length, POLL).toBe(4);

  // As soon as the fourth has caught up with the catalog; before that it is refused with the reason.
  await expect
    .poll(() => cluster(second, 'replace', '1', '--by=4').catch(() => undefined), POLL)
    .toBe('node 1 is leaving: what it holds moves to other nodes, then it is removed\n');
  const removal = cluster(second, 'decommission', '1', '--wait');
  const removed = removal.then(() => 'removed' as const);
  let revision = ids.length;
  for (let isThere = true; isThere; ) {
    const id = `during ${ids.length}`;
    revision = await write(second, id);
    ids.push(id);
    isThere = (await Promise.race([removed, Promise.resolve('there' as const)])) === 'there';
  }
  expect(await removal).toContain('node 1 is removed');
  expect(await first.process.ended).toBe(70);
  expect(first.process.log()).toContain('"reason":"NodeRemoved"');
  await expect(start(dir, 'node-1')).rejects.toThrow(/Node 1 was removed from its cluster.*NodeRemoved/s);

  expect(await holders(second)).toBe('2,3,4');
  const hashes = new Set<string | undefined>();
  for (const member of [...others, fourth]) {
    await expect.poll(() => idsAt(member, revision), POLL).toEqual(ids);
    hashes.add(await chainHash(member, revision));
    expect(member.process.log()).not.toContain('"level":"error"');
  }
  expect(hashes.size).toBe(1);
  expect([...hashes][0]).toMatch(/^[0-9a-f]{64}$/);
  expect(await cluster(fourth, 'decommission', '1')).toContain('node 1 is removed');
  await expect(cluster(fourth, 'recommission', '1')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('node 1 was removed, for good'),
  });
  await expect(cluster(fourth, 'decommission', '9')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no node 9'),
  });
});
