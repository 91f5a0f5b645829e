// Goal: when two of three replicas of a database are lost, the third continues under another id, and a lost disk that
// returns serves no old data (C24, C25). Method: real processes, killed, and the command of an operator.
import { expect, it } from 'vitest';
import { clusterCommandAt, describedAt, votersAt } from '../support/cluster-command.ts';
import { factsAt, idsAt, type Member, startMember, writeAt } from '../support/cluster-member.ts';
import { testDir } from '../support/test-scope.ts';

const DATABASE = 'shop';
const POLL = { timeout: 120_000, interval: 250 };
const COUNT = 40;

async function write(member: Member, id: string): Promise<number> {
  return writeAt(member, DATABASE, id, POLL);
}

/** Nodes with a replica of the database, once its placement is settled. */
async function holders(peer: string): Promise<readonly number[] | undefined> {
  const [database] = (await describedAt(peer))?.databases ?? [];
  const isThere = database?.isSettled === true && database.leader !== undefined && database.members.length === 3;
  return isThere ? database.nodes.toSorted((one, other) => one - other) : undefined;
}

it('a database that has lost two of three replicas continues with the third after a command of the operator', {
  timeout: 600_000,
}, async () => {
  const dir = testDir();
  const members = [await startMember(dir, 'node-1')];
  const seed = members[0]?.process.peer ?? '';
  for (const name of ['node-2', 'node-3', 'node-4', 'node-5']) members.push(await startMember(dir, name, seed));
  await expect.poll(() => votersAt(seed), POLL).toBe(5);
  const [first] = members;
  if (first === undefined) throw new Error('There are five');
  await first.client.send('createDatabase', { databaseName: DATABASE });
  const ids = Array.from({ length: COUNT }, (_, at) => `event ${at}`);
  for (const id of ids) await write(first, id);
  await expect.poll(() => holders(seed), POLL).toBeDefined();
  const before = await factsAt(first, DATABASE, COUNT);
  expect(before?.chainHash).toMatch(/^[0-9a-f]{64}$/);

  const held = (await holders(seed)) ?? [];
  const [left = 0, ...gone] = held.map((node) => node);
  const leftMember = members[left - 1];
  const up = members.filter((_, at) => !gone.includes(at + 1));
  const [asked] = up;
  if (leftMember === undefined || asked === undefined) throw new Error('There are five');
  // The third replica has the majority's data once a read there returns it.
  await expect.poll(() => idsAt(leftMember, DATABASE, COUNT), POLL).toEqual(ids);
  for (const node of gone) members[node - 1]?.process.kill('SIGKILL');
  const at = asked.process.peer;
  const recover = (...words: readonly string[]): Promise<string> =>
    clusterCommandAt(at, 'recover', DATABASE, `--from=${left}`, ...words);
  const refusal = (...words: readonly string[]): Promise<string> =>
    recover(...words).catch(({ stderr }: { readonly stderr: string }) => stderr);
  await expect
    .poll(() => refusal(), POLL)
    .toContain(`has revision ${COUNT} of ${DATABASE}, chain hash ${before?.chainHash}`);
  expect(await refusal()).toContain(`No answer from nodes ${gone.toSorted((one, other) => one - other).join(', ')}.`);
  expect(await refusal('--accept-revision=1')).toContain('and not revision 1.');
  // The command succeeds once no node can answer from the old instance any more, including nodes that were up just now.
  const told = (): Promise<string | undefined> => recover(`--accept-revision=${COUNT}`).catch(() => undefined);
  await expect.poll(told, POLL).toContain(`${DATABASE} is recovered: its name now means `);
  expect(await told()).toContain(`its chain hash is ${before?.chainHash}`);

  for (const member of up) {
    await expect.poll(() => idsAt(member, DATABASE, COUNT), POLL).toEqual(ids);
    await expect.poll(() => factsAt(member, DATABASE, COUNT), POLL).toMatchObject({ chainHash: before?.chainHash });
    expect((await factsAt(member, DATABASE, COUNT))?.databaseId).not.toBe(before?.databaseId);
    await expect.poll(() => member.process.log(), POLL).toContain('"event":"database-recovered"');
  }
  ids.push('after');
  expect(await write(asked, 'after')).toBe(COUNT + 1);

  // One of the lost disks returns; a sixth node replaces the other one.
  const [returned = 0, lost = 0] = gone;
  const back = await startMember(dir, `node-${returned}`);
  await expect.poll(() => idsAt(back, DATABASE, COUNT + 1), POLL).toEqual(ids);
  expect((await factsAt(back, DATABASE, COUNT))?.databaseId).not.toBe(before?.databaseId);
  const sixth = await startMember(dir, 'node-6', at);
  const replaced = (): Promise<string | undefined> =>
    clusterCommandAt(at, 'replace', String(lost), '--by=6').catch(() => undefined);
  await expect.poll(replaced, POLL).toBeDefined();
  await expect.poll(() => holders(at), POLL).toHaveLength(3);
  for (const member of [...up, back, sixth]) {
    await expect.poll(() => idsAt(member, DATABASE, COUNT + 1), POLL).toEqual(ids);
    expect(member.process.log()).not.toContain('"level":"error"');
  }
});
