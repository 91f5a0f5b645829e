// Goal: after an admin command, a node transfers its leaderships and exits or stays, unless that would stop a group; no
// write is lost. Method: three real processes on loopback, and the command of an operator.
import { expect, it } from 'vitest';
import { clusterCommandAt, describedAt, holdersAt, votersAt } from '../support/cluster-command.ts';
import { startMember, writeAt } from '../support/cluster-member.ts';
import { testDir } from '../support/test-scope.ts';

const DATABASE = 'shop';
const POLL = { timeout: 120_000, interval: 250 };

function actsIn(log: string): readonly unknown[] {
  const lines = log.split('\n').filter((line) => line.includes('"event":"audit"'));
  return lines.map((line): unknown => JSON.parse(line));
}

it('a node transfers its leaderships and exits after a drain command, unless the others could not continue', {
  timeout: 300_000,
}, async () => {
  const dir = testDir();
  const first = await startMember(dir, 'node-1');
  const seed = first.process.peer;
  await first.client.send('createDatabase', { databaseName: DATABASE });
  await writeAt(first, DATABASE, 'a', POLL);
  const second = await startMember(dir, 'node-2', seed);
  await startMember(dir, 'node-3', seed);
  await expect.poll(() => holdersAt(second.process.peer), POLL).toBe('1,2,3');
  await expect.poll(() => votersAt(second.process.peer), POLL).toBe(3);

  // Drains the node that founded the cluster, through another one, during writes.
  const draining = clusterCommandAt(second.process.peer, 'drain', '1', '--wait');
  const ended = draining.then(() => 'ended' as const);
  let count = 1;
  for (let isThere = true; isThere; count += 1) {
    await writeAt(second, DATABASE, `during ${count}`, POLL);
    isThere = (await Promise.race([ended, Promise.resolve('there' as const)])) === 'there';
  }
  expect(await draining).toBe('node 1 transfers its leaderships, then it exits\nnode 1 has ended\n');
  expect(await first.process.ended).toBe(0);
  expect(first.process.log()).toContain('"by":"cairn cluster drain"');
  expect(first.process.log()).toContain('"event":"leads-handed-over"');

  const refused = { code: 3, stderr: expect.stringContaining('without node 3 these stay: 2') };
  await expect(clusterCommandAt(second.process.peer, 'drain', '3')).rejects.toMatchObject(refused);
  const gone = { code: 1, stderr: expect.stringContaining('node 1 does not answer') };
  await expect(clusterCommandAt(second.process.peer, 'drain', '1')).rejects.toMatchObject(gone);
  expect(await writeAt(second, DATABASE, 'after', POLL)).toBe(count + 1);

  // The asked node has an audit record of each request, and so has the node to which it forwarded the request.
  const drain = { act: 'drain-node', principal: 'peer-port', from: expect.stringMatching(/^127\.0\.0\.1:\d+$/) };
  const refusal = { ...drain, outcome: 'failed', code: 'failed_precondition', onNode: 3 };
  const known = actsIn(second.process.log());
  expect(known).toContainEqual(expect.objectContaining({ ...drain, outcome: 'done', onNode: 1 }));
  expect(known).toContainEqual(
    expect.objectContaining({ ...refusal, why: expect.stringContaining('without node 3 these stay: 2') }),
  );
  const passedOn = { ...drain, outcome: 'done', onNode: 1, passedOn: 'by a node' };
  expect(actsIn(first.process.log())).toContainEqual(expect.objectContaining(passedOn));

  // After a restart it is the same node; then another one is drained, through itself.
  const again = await startMember(dir, 'node-1');
  await expect.poll(() => holdersAt(again.process.peer), POLL).toBe('1,2,3');
  const drained = (): Promise<string> => clusterCommandAt(second.process.peer, 'drain', '2', '--wait');
  await expect.poll(() => drained().catch(() => ''), POLL).toContain('node 2 has ended\n');
  expect(await second.process.ended).toBe(0);
  expect(await writeAt(again, DATABASE, 'last', POLL)).toBe(count + 2);
});

it('a node is drained and stays: it hands over, is not ready, forwards writes, and takes leaderships again', {
  timeout: 300_000,
}, async () => {
  const dir = testDir();
  const first = await startMember(dir, 'node-1');
  const seed = first.process.peer;
  await first.client.send('createDatabase', { databaseName: DATABASE });
  const second = await startMember(dir, 'node-2', seed);
  await startMember(dir, 'node-3', seed);
  await expect.poll(() => holdersAt(second.process.peer), POLL).toBe('1,2,3');
  const nodeOf = async (at: string): Promise<unknown> => (await describedAt(at))?.nodes[0];
  const drain = (...words: readonly string[]): Promise<string> =>
    clusterCommandAt(first.process.peer, 'drain', '--stay', ...words);
  await expect.poll(() => drain('--dry-run').catch(() => ''), POLL).toContain('node 1 may drain');

  const draining = drain();
  const ended = draining.then(() => 'ended' as const);
  for (let isThere = true; isThere; ) {
    await writeAt(second, DATABASE, crypto.randomUUID(), POLL);
    isThere = (await Promise.race([ended, Promise.resolve('there' as const)])) === 'there';
  }
  expect(await draining).toBe('node 1 is drained: it has no leaderships, and is not ready\n');
  const health = async (): Promise<unknown> => (await fetch(`${first.process.http}/health/detailed`)).json();
  await expect.poll(health, POLL).toMatchObject({ status: 'degraded' });
  const readiness = async (): Promise<string> => (await fetch(`${first.process.http}/readyz`)).text();
  expect(await readiness()).toContain('draining');
  await expect.poll(() => nodeOf(second.process.peer), POLL).toMatchObject({ isDraining: true, movableLeads: 0 });
  await writeAt(first, DATABASE, 'through the drained node', POLL);
  const refused = { code: 3, stderr: expect.stringContaining('without node 2 these stay: 3') };
  await expect(clusterCommandAt(second.process.peer, 'drain', '2', '--stay')).rejects.toMatchObject(refused);

  expect(await clusterCommandAt(second.process.peer, 'undrain', '1')).toBe('node 1 accepts leaderships and clients\n');
  await expect.poll(health, POLL).toMatchObject({ status: 'ok' });
  expect(await readiness()).toBe('ok');
  await expect.poll(() => nodeOf(second.process.peer), POLL).toMatchObject({ isDraining: false });

  // A preStop hook drains the node, and then the container ends.
  await expect.poll(() => drain().catch(() => ''), POLL).toContain('node 1 is drained');
  first.process.kill('SIGTERM');
  expect(await first.process.ended).toBe(0);
  const events = first.process.log().matchAll(/"event":"(draining|undrained|leads-[a-z-]+|stopped)"/g);
  const drained = ['draining', 'leads-handed-over'];
  expect([...events].map(([, event]) => event)).toEqual([...drained, 'undrained', ...drained, ...drained, 'stopped']);
});
