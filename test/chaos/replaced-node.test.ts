// Goal: a cluster grows and is rearranged while it is written: a database of one node gets its copies when others join,
// and the node that began everything can be taken out; nothing is lost, and no write fails for a client that repeats
// it. Method: four real processes on loopback, and the command of an operator, as he would type it.
import { expect, it } from 'vitest';
import { Direction } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
import { clusterCommandAt, describedAt, holdersAt } from '../support/cluster-command.ts';
import { type Member, startMember, writeAt } from '../support/cluster-member.ts';
import { testDir } from '../support/test-scope.ts';

const DATABASE = 'shop';
const POLL = { timeout: 120_000, interval: 250 };

async function write(member: Member, id: string): Promise<number> {
  return writeAt(member, DATABASE, id, POLL);
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
  const first = await startMember(dir, 'node-1');
  const seed = first.process.peer;
  await first.client.send('createDatabase', { databaseName: DATABASE });
  const ids = ['a', 'b', 'c'];
  for (const id of ids) await write(first, id);

  const others = [await startMember(dir, 'node-2', seed), await startMember(dir, 'node-3', seed)];
  const [second] = others;
  if (second === undefined) throw new Error('There are two');
  await expect.poll(() => holdersAt(second.process.peer), POLL).toBe('1,2,3');
  const fourth = await startMember(dir, 'node-4', seed);
  await expect
    .poll(async () => (await describedAt(fourth.process.peer))?.nodes.filter(({ answers }) => answers).length, POLL)
    .toBe(4);

  // As soon as the fourth has caught up with the catalog; before that it is refused with the reason.
  await expect
    .poll(() => clusterCommandAt(second.process.peer, 'replace', '1', '--by=4').catch(() => undefined), POLL)
    .toBe('node 1 is leaving: what it holds moves to other nodes, then it is removed\n');
  const removal = clusterCommandAt(second.process.peer, 'decommission', '1', '--wait');
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
  await expect(startMember(dir, 'node-1')).rejects.toThrow(/Node 1 was removed from its cluster.*NodeRemoved/s);

  expect(await holdersAt(second.process.peer)).toBe('2,3,4');
  const hashes = new Set<string | undefined>();
  for (const member of [...others, fourth]) {
    await expect.poll(() => idsAt(member, revision), POLL).toEqual(ids);
    hashes.add(await chainHash(member, revision));
    expect(member.process.log()).not.toContain('"level":"error"');
  }
  expect(hashes.size).toBe(1);
  expect([...hashes][0]).toMatch(/^[0-9a-f]{64}$/);
  expect(await clusterCommandAt(fourth.process.peer, 'decommission', '1')).toContain('node 1 is removed');
  await expect(clusterCommandAt(fourth.process.peer, 'recommission', '1')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('node 1 was removed, for good'),
  });
  await expect(clusterCommandAt(fourth.process.peer, 'decommission', '9')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no node 9'),
  });
});
