// Goal: a process on a copy of a member's data directory does no harm next to the original, and exits with the reason
// (TP12). Method: three real nodes, and a process on a copy of the directory of one of them.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { holdersAt } from '../support/cluster-command.ts';
import { idsAt, startMember, writeAt } from '../support/cluster-member.ts';
import { eventually } from '../support/eventually.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { testDir } from '../support/test-scope.ts';

const DATABASE = 'shop';
const POLL = { timeout: 120_000, interval: 250 };

it('a copied member is not ready, ends with the reason, is accepted in place of the original, and finds others that move', {
  timeout: 300_000,
}, async () => {
  const dir = testDir();
  const first = await startMember(dir, 'node-1');
  const second = await startMember(dir, 'node-2', first.process.peer);
  const third = await startMember(dir, 'node-3', first.process.peer);
  await first.client.send('createDatabase', { databaseName: DATABASE });
  await expect.poll(() => holdersAt(first.process.peer), POLL).toBe('1,2,3');
  expect(await writeAt(second, DATABASE, 'a', POLL)).toBe(1);
  cpSync(join(dir, 'node-2'), join(dir, 'copies', 'node-2'), { recursive: true });

  // Like in a StatefulSet, the seeds name every node including the original.
  const seeds = [first, second, third].map(({ process }) => process.peer).join(',');
  const startCopy = (): ReturnType<typeof startMember> => startMember(join(dir, 'copies'), 'node-2', seeds);
  const copy = await startCopy();
  const places = `is already connected and listens at ${second.process.peer}; the refused process listens at ${copy.process.peer}`;
  const readiness = async (): Promise<string> => (await fetch(`${copy.process.http}/readyz?verbose`)).text();
  await eventually(async () => expect(await readiness()).toContain(places));
  expect(await writeAt(second, DATABASE, 'b', POLL)).toBe(2);
  expect(await copy.process.ended).toBe(78);
  expect(copy.process.log()).toMatch(
    /"DuplicateProcess".*Another process runs with the data.*move the directory of the copy away.*"event":"fatal"/,
  );
  expect(copy.process.log()).toContain(places);
  expect(first.process.log()).toMatch(new RegExp(`${places}.*"event":"peer-refused"`));
  expect(await writeAt(second, DATABASE, 'c', POLL)).toBe(3);
  for (const each of [first, second, third]) expect(await idsAt(each, DATABASE, 3)).toEqual(['a', 'b', 'c']);

  second.process.kill('SIGKILL');
  await second.process.ended;
  // It acts like a member with a restored disk: it gets again what it had acknowledged.
  const instead = await startCopy();
  expect(await writeAt(instead, DATABASE, 'd', POLL)).toBe(4);
  for (const each of [first, instead, third]) expect(await idsAt(each, DATABASE, 4)).toEqual(['a', 'b', 'c', 'd']);

  // Both start at other ports, and the catalog names their old ones until it has a leader again.
  for (const { process } of [first, third]) process.kill('SIGKILL');
  await Promise.all([first.process.ended, third.process.ended]);
  const moved = [await startMember(dir, 'node-1'), await startMember(dir, 'node-3', seeds)];
  expect(await writeAt(instead, DATABASE, 'e', POLL)).toBe(5);
  for (const each of [instead, ...moved]) {
    await expect.poll(() => idsAt(each, DATABASE, 5), POLL).toEqual(['a', 'b', 'c', 'd', 'e']);
  }
});

it('the copy of the only node with a replica acknowledges nothing', { timeout: 300_000 }, async () => {
  const dir = testDir();
  const first = await startMember(dir, 'node-1');
  const second = await startMember(dir, 'node-2', first.process.peer);
  await first.client.send('createDatabase', { databaseName: DATABASE });
  expect(await writeAt(first, DATABASE, 'a', POLL)).toBe(1);
  expect(await writeAt(second, DATABASE, 'b', POLL)).toBe(2);
  cpSync(join(dir, 'node-1'), join(dir, 'copies', 'node-1'), { recursive: true });
  const copy = await startMember(join(dir, 'copies'), 'node-1', second.process.peer);
  const reasons = new Set<string>();
  const writing = { isOver: false };
  const writes = (async () => {
    while (!writing.isOver) {
      const request = transaction(DATABASE, [event({ id: 'c' })], { transactionId: crypto.randomUUID() });
      const reason = copy.client.call('transact', request).then(() => 'acknowledged', String);
      reasons.add(await reason);
    }
  })();
  expect(await copy.process.ended).toBe(78);
  writing.isOver = true;
  await writes;
  expect(reasons).not.toContain('acknowledged');
  expect([...reasons].join()).toContain('Another process runs with the data directory of this node');
  expect(await writeAt(first, DATABASE, 'd', POLL)).toBe(3);
  expect(await idsAt(second, DATABASE, 3)).toEqual(['a', 'b', 'd']);
});
