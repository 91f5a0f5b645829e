// Goal: an archive of a stopped node becomes a new cluster with everything that was acknowledged, at any revision, and
// with the same hashes; the old node continues, and so does its archive; the new one accepts writes. Method: real
// processes, the commands of an operator, and more than a segment of events.
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { factsAt, idsAt, type Member, startMember } from '../support/cluster-member.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { runProduct } from '../support/own-node.ts';
import { testDir } from '../support/test-scope.ts';

const DATABASE = 'shop';
const LARGE = 75;
const LARGE_BYTES = 950_000;
const POLL = { timeout: 60_000, interval: 100 };

async function write({ client }: Member, ids: readonly string[], bytes: number): Promise<void> {
  for (const id of ids) {
    const data = { data: Buffer.alloc(bytes, id), datacontenttype: 'application/octet-stream' };
    await client.send('transact', transaction(DATABASE, [event({ id, ...data })]));
  }
}

async function stop({ process }: Member): Promise<void> {
  process.kill('SIGTERM');
  expect(await process.ended).toBe(0);
}

function succeed(...args: readonly string[]): string {
  const { status, stdout, stderr } = runProduct(args);
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
}

it('a new cluster continues from the archive of a stopped node', { timeout: 600_000 }, async () => {
  const dir = testDir();
  const archive = join(dir, 'archive');
  mkdirSync(archive);
  const backup = (): string => succeed('backup', `--data-dir=${join(dir, 'old')}`, `--to=${archive}`);
  const restore = (name: string, ...point: readonly string[]): string =>
    succeed('restore', `--data-dir=${join(dir, name)}`, `--from=${archive}`, ...point);

  const old = await startMember(dir, 'old');
  await old.client.send('createDatabase', { databaseName: DATABASE });
  const large = Array.from({ length: LARGE }, (_, at) => `large ${at}`);
  await write(old, large, LARGE_BYTES);
  await stop(old);
  expect(backup()).toContain(`revision ${LARGE}, chain hash`);
  expect(readdirSync(join(archive, 'segments'))).toHaveLength(1);

  const again = await startMember(dir, 'old');
  const small = ['small 1', 'small 2'];
  await write(again, small, 10);
  const ids = [...large, ...small];
  await expect.poll(() => idsAt(again, DATABASE, ids.length), POLL).toEqual(ids);
  const facts = await Promise.all([1, 40, ids.length].map((revision) => factsAt(again, DATABASE, revision)));
  await stop(again);
  backup();
  expect(readdirSync(join(archive, 'segments'))).toHaveLength(1);

  expect(restore('new')).toContain(
    `revision ${ids.length} of ${facts[0]?.databaseId}, chain hash ${facts[2]?.chainHash}`,
  );
  const fresh = await startMember(dir, 'new');
  await expect.poll(() => idsAt(fresh, DATABASE, ids.length), POLL).toEqual(ids);
  const restored = await Promise.all([1, 40, ids.length].map((revision) => factsAt(fresh, DATABASE, revision)));
  expect(restored.map((each) => each?.chainHash)).toEqual(facts.map((each) => each?.chainHash));
  expect(restored[0]?.databaseId).not.toBe(facts[0]?.databaseId);
  await write(fresh, ['new 1'], 10);
  expect(await idsAt(fresh, DATABASE, ids.length + 1)).toEqual([...ids, 'new 1']);
  const joined = await startMember(dir, 'joined', fresh.process.peer);
  await expect.poll(() => idsAt(joined, DATABASE, ids.length + 1), POLL).toEqual([...ids, 'new 1']);

  restore('earlier', '--revision=40');
  const earlier = await startMember(dir, 'earlier');
  await expect.poll(() => idsAt(earlier, DATABASE, 40), POLL).toEqual(large.slice(0, 40));
  expect((await factsAt(earlier, DATABASE, 40))?.chainHash).toBe(facts[1]?.chainHash);
});
