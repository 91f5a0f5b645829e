// Goal: a cluster archives in a bucket of S3 whose calls fail, are slow and list what was, while its leader is killed
// or paused and clients write; it is restored elsewhere meanwhile; it is lost, and the archive has all that it says it
// has, with the same hashes. Method: three real processes, a real server with the API of S3, and the command of an
// operator. `TEST_RUNS=50` kills a hundred leaders.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { restoreCommand } from '../../src/main/commands/backup/restore-command.ts';
import { ARCHIVE, ArchivedCluster, BUCKET, POLL, SHOP, successMs } from '../support/archive/archived-cluster.ts';
import { startS3, useS3 } from '../support/archive/s3-server.ts';
import { factsAt, idsAt, type Member, writeAt } from '../support/cluster-member.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { runs } from '../support/runs.ts';
import { testDir } from '../support/test-scope.ts';

const KILLS = runs(2);
const KILL_MS_MAX = 240_000;

async function restore(directory: string): Promise<{ readonly revision: number; readonly chainHash: string }> {
  let output = '';
  const ports = { out: (text: string) => void (output += text), err: (text: string) => void (output += text) };
  expect(await restoreCommand([`--from=${ARCHIVE}`, `--data-dir=${directory}`], { ...ports, environment: {} })).toBe(0);
  const [, revision, chainHash = ''] = /: revision (\d+) of \S+, chain hash (\w+)$/m.exec(output) ?? [];
  return { revision: Number(revision), chainHash };
}

describe.skipIf(lacksTool('moto'))('a cluster that archives in S3', () => {
  it('is restored with all that was archived', { timeout: 600_000 + KILLS * KILL_MS_MAX }, async () => {
    const { url, failingUrl } = await startS3(BUCKET);
    useS3(url);
    const dir = testDir();
    const cluster = new ArchivedCluster(dir, failingUrl);
    const { ids } = cluster;
    await cluster.begin();
    for (let kill = 0; kill < KILLS; kill++) await cluster.without('SIGKILL');
    await cluster.without('SIGSTOP');
    expect(cluster.writers.size).toBeGreaterThan(1);

    const lost = new AbortController();
    const writing = cluster.writeUntil(lost.signal);
    const before = ids.length;
    const copied = await restore(join(dir, 'copy'));
    expect(copied.revision).toBeGreaterThanOrEqual(before);
    const copy = await cluster.start('copy');
    await expect.poll(() => idsAt(copy, SHOP, copied.revision), POLL).toEqual(ids.slice(0, copied.revision));
    expect(copied.chainHash).toBe((await factsAt(cluster.any, SHOP, copied.revision))?.chainHash);
    const facts = await factsAt(copy, SHOP, copied.revision);
    expect([facts?.chainHash, facts?.databaseId === cluster.databaseId]).toEqual([copied.chainHash, false]);
    await writeAt(copy, SHOP, 'of the copy', POLL);

    const least = ids.length;
    const all = [...cluster.members.values()];
    const countAt = async (each: Member): Promise<number> => (await idsAt(each, SHOP, least))?.length ?? 0;
    for (const each of all) await expect.poll(() => countAt(each), POLL).toBeGreaterThanOrEqual(least);
    const readMs = Date.now();
    await expect.poll(() => successMs(cluster), POLL).toBeGreaterThan(readMs);
    for (const { process } of all) process.kill('SIGKILL');
    lost.abort();
    await writing;

    const { revision } = await restore(join(dir, 'new'));
    expect(revision).toBeGreaterThanOrEqual(least);
    const restored = await cluster.start('new');
    const found = await idsAt(restored, SHOP, revision);
    expect(found?.slice(0, ids.length)).toEqual(ids.slice(0, revision));
    expect(found).toHaveLength(revision);
  });
});
