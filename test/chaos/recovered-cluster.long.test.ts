// Goal: when two of three nodes and the catalog are lost, the third node continues with all its acknowledged data, and
// an old disk is refused (C28, C24). Method: real processes, killed, and the commands of an operator.
import { execFile } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { productArgs } from '../../chaos/support/product.ts';
import { describedAt, votersAt } from '../support/cluster-command.ts';
import { factsAt, idsAt, startMember, writeAt } from '../support/cluster-member.ts';
import { testDir } from '../support/test-scope.ts';

const run = promisify(execFile);
const DATABASE = 'shop';
const POLL = { timeout: 120_000, interval: 250 };
const COUNT = 40;

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function recover(dataDir: string, ...words: readonly string[]): Promise<Said> {
  const args = [...productArgs(), 'recover', `--data-dir=${dataDir}`, ...words];
  return run(process.execPath, args).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      out: stdout,
      err: stderr,
    }),
  );
}

it('a cluster that has lost two of three nodes continues with the third after a command of the operator', {
  timeout: 600_000,
}, async () => {
  const dir = testDir();
  const first = await startMember(dir, 'node-1');
  const seed = first.process.peer;
  const others = [await startMember(dir, 'node-2', seed), await startMember(dir, 'node-3', seed)];
  await expect.poll(() => votersAt(seed), POLL).toBe(3);
  await first.client.send('createDatabase', { databaseName: DATABASE });
  const ids = Array.from({ length: COUNT }, (_, at) => `event ${at}`);
  for (const id of ids) await writeAt(first, DATABASE, id, POLL);
  const left = others[1];
  if (left === undefined) throw new Error('There are three');
  const copies = async (): Promise<number> => (await describedAt(seed))?.databases[0]?.members.length ?? 0;
  await expect.poll(copies, POLL).toBe(3);
  await expect.poll(() => idsAt(left, DATABASE, COUNT), POLL).toEqual(ids);
  const before = await factsAt(left, DATABASE, COUNT);
  const leftDir = join(dir, 'node-3');

  const err = expect.stringContaining('is open in another process');
  expect(await recover(leftDir)).toMatchObject({ code: 1, out: '', err });
  for (const { process } of [first, ...others]) process.kill('SIGKILL');
  await Promise.all([first, ...others].map(({ process }) => process.ended));
  // One of the disks is not lost, but that is unknown.
  cpSync(join(dir, 'node-2'), join(dir, 'lost'), { recursive: true });
  for (const name of ['node-1', 'node-2']) rmSync(join(dir, name), { recursive: true });

  const asked = await recover(leftDir);
  expect(asked.code).toBe(1);
  expect(asked.out).toContain(`revision ${COUNT} of`);
  expect(asked.out).toContain(`chain hash ${before?.chainHash}`);
  const code = /--accept-loss ([0-9a-f]{8})$/m.exec(asked.out)?.[1] ?? '';
  const refused = await recover(leftDir, '--accept-loss=00000000');
  expect(refused.out).toContain('00000000 is not the code of the current data');
  const done = await recover(leftDir, `--accept-loss=${code}`);
  expect(done).toMatchObject({ code: 0, err: '' });
  expect(done.out).toMatch(
    /^This node is now node 3 of the cluster \S+, and the only one\.\nshop now means \S+, which continues from revision 40\n/,
  );
  const out = expect.stringContaining('there is nothing to recover');
  expect(await recover(leftDir, `--accept-loss=${code}`)).toMatchObject({ code: 0, out });

  const alone = await startMember(dir, 'node-3');
  await expect.poll(() => idsAt(alone, DATABASE, COUNT), POLL).toEqual(ids);
  const after = await factsAt(alone, DATABASE, COUNT);
  expect(after?.chainHash).toBe(before?.chainHash);
  expect(after?.databaseId).not.toBe(before?.databaseId);
  const recovery = { before: before?.databaseId, first: before?.databaseId, revision: COUNT };
  const database = { databaseId: after?.databaseId, recovery };
  expect((await describedAt(alone.process.peer))?.databases[0]).toMatchObject(database);
  expect(await (await fetch(alone.process.metrics)).text()).toContain('\ncairn_databases_recovered 1\n');
  ids.push('after');
  expect(await writeAt(alone, DATABASE, 'after', POLL)).toBe(COUNT + 1);

  const at = alone.process.peer;
  const fresh = [await startMember(dir, 'node-1', at), await startMember(dir, 'node-2', at)];
  await expect.poll(() => votersAt(at), POLL).toBe(3);
  for (const each of [alone, ...fresh]) await expect.poll(() => idsAt(each, DATABASE, COUNT + 1), POLL).toEqual(ids);
  expect(await writeAt(fresh[0] ?? alone, DATABASE, 'with all', POLL)).toBe(COUNT + 2);
  const nodes = (await describedAt(at))?.nodes.map(({ node, state }) => [node, state]);
  expect(nodes).toEqual([
    [1, 'removed'],
    [2, 'removed'],
    [3, 'active'],
    [4, 'active'],
    [5, 'active'],
  ]);

  // A node of the old cluster remains a member of it, regardless of the cluster of the node that it joins through.
  const lost = await startMember(dir, 'lost', at);
  expect((await describedAt(lost.process.peer))?.clusterId).not.toBe((await describedAt(at))?.clusterId);
});
