// Goal: a cluster archives in a bucket of S3 while its leader is killed and clients write; the cluster is lost, and the
// archive has everything that was committed ten seconds before, with the same hashes. Method: three real processes, a
// real server with the API of S3, and the command of an operator.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endOf, openArchive } from '#archive';
import { archiveAt } from '../../src/main/archive/archive-place.ts';
import { restoreCommand } from '../../src/main/commands/backup/restore-command.ts';
import { startS3, useS3 } from '../support/archive/s3-server.ts';
import { describedAt, holdersAt } from '../support/cluster-command.ts';
import { factsAt, idsAt, type Member, startMember, writeAt } from '../support/cluster-member.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { testDir } from '../support/test-scope.ts';

const BUCKET = 'archives';
const ARCHIVE = `s3://${BUCKET}/cluster`;
const DATABASE = 'shop';
const POLL = { timeout: 120_000, interval: 250 };
const KILLS = 2;

/** Number of the node that leads the database. */
async function leaderAt(peer: string): Promise<number | undefined> {
  return (await describedAt(peer))?.databases[0]?.leader;
}

describe.skipIf(lacksTool('moto'))('a cluster that archives in S3', () => {
  it('loses no event when its leaders are killed, and is restored', { timeout: 600_000 }, async () => {
    useS3(await startS3(BUCKET));
    const dir = testDir();
    const start = (number: number, seed?: string): Promise<Member> =>
      startMember(dir, `node-${number}`, seed, [`--archive=${ARCHIVE}`]);
    const first = await start(1);
    const seed = first.process.peer;
    await first.client.send('createDatabase', { databaseName: DATABASE });
    const members = new Map([
      [1, first],
      [2, await start(2, seed)],
      [3, await start(3, seed)],
    ]);
    await expect.poll(() => holdersAt(seed), POLL).toBe('1,2,3');

    const ids: string[] = [];
    const writers: string[] = [];
    const write = async (member: Member, id: string): Promise<void> => {
      await writeAt(member, DATABASE, id, POLL);
      ids.push(id);
    };
    const archived = async (): Promise<number> => {
      const [id = ''] = await databaseIds();
      const { newest } = await openArchive(await archiveAt(ARCHIVE), id);
      if (newest === undefined) return 0;
      writers.push(newest.manifest.writer);
      return endOf(newest.manifest).revision;
    };
    const databaseIds = async (): Promise<readonly string[]> => {
      const facts = await Promise.all([...members.values()].map((member) => factsAt(member, DATABASE, 1)));
      return facts.flatMap((each) => each?.databaseId ?? []);
    };

    for (let kill = 0; kill <= KILLS; kill++) {
      const [at] = [...members.values()];
      if (at === undefined) throw new Error('a node is left');
      await write(at, `before kill ${kill}`);
      await expect.poll(archived, POLL).toBe(ids.length);
      if (kill === KILLS) break;
      await expect.poll(() => leaderAt(at.process.peer), POLL).toBeDefined();
      const leader = (await leaderAt(at.process.peer)) ?? 0;
      const killed = members.get(leader);
      members.delete(leader);
      killed?.process.kill('SIGKILL');
      await killed?.process.ended;
      const [left] = [...members.values()];
      if (left === undefined) throw new Error('two nodes are left');
      for (let index = 0; index < 5; index++) await write(left, `after kill ${kill}: ${index}`);
      await expect.poll(archived, POLL).toBe(ids.length);
      members.set(leader, await start(leader));
      await expect.poll(() => holdersAt(left.process.peer), POLL).toBe('1,2,3');
    }
    expect(new Set(writers).size).toBeGreaterThan(1);
    const [witness] = [...members.values()];
    const facts = witness && (await factsAt(witness, DATABASE, ids.length));
    for (const { process } of members.values()) process.kill('SIGKILL');

    let output = '';
    const ports = { out: (text: string) => void (output += text), err: (text: string) => void (output += text) };
    const args = [`--from=${ARCHIVE}`, `--data-dir=${join(dir, 'new')}`];
    expect(await restoreCommand(args, { ...ports, environment: {} })).toBe(0);
    expect(output).toContain(`revision ${ids.length} of ${facts?.databaseId}, chain hash ${facts?.chainHash}\n`);
    const restored = await startMember(dir, 'new');
    await expect.poll(() => idsAt(restored, DATABASE, ids.length), POLL).toEqual(ids);
  });
});
