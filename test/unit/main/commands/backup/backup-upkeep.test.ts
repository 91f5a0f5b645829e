// Goal: an archive is verified by restoring it, and each object that cannot be used is named; it is pruned while its
// newest backup is whole. Method: the commands over real archives; damage of each kind.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Archiver, CatalogArchiver, type Manifest } from '#archive';
import { replicaOf, toDatabaseId, toNodeId, uuidv7 } from '#base';
import { nativeRandom } from '#cluster';
import { DirectoryStore } from '#objects';
import { decodeManifest, encodeManifest } from '../../../../../src/archive/manifest.ts';
import { encodeCatalog } from '../../../../../src/main/archive/archived-catalogs.ts';
import { backupCommand } from '../../../../../src/main/commands/backup/backup-command.ts';
import { ArchivedHistory, ArchivingNode, DATABASE, newHash } from '../../../../support/archive/archived-history.ts';
import {
  createEntry,
  groupOf,
  IDENTITY,
  idOf,
  registerEntry,
  StoppedDirectory,
} from '../../../../support/cluster/stopped-node.ts';
import { testDir } from '../../../../support/test-scope.ts';

const NODE_3 = [replicaOf(toNodeId(3))];
const MANIFEST = join('databases', idOf(1), 'manifests', '000000000001');

let dir: string;
let archive: string;

beforeEach(() => {
  dir = testDir();
  archive = join(dir, 'archive');
  mkdirSync(archive);
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(...args: readonly string[]): Promise<Ran> {
  let [out, err] = ['', ''];
  const ports = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  const code = await backupCommand(args, { ...ports, environment: {} });
  return { code, out, err };
}

/** An archive of a node with two databases. */
async function archived(): Promise<void> {
  const directory = join(dir, 'node');
  {
    await using stopped = await StoppedDirectory.begin(directory);
    await stopped.catalog([registerEntry(3, 50_053), createEntry(1, 'shop', NODE_3), createEntry(2, 'empty', NODE_3)]);
    await stopped.database({ group: groupOf(1), name: 'shop', replicas: NODE_3, texts: ['t1', 't2', 't3'] });
    await stopped.database({ group: groupOf(2), name: 'empty', replicas: NODE_3, texts: [] });
  }
  expect((await run('--data-dir', directory, '--to', archive)).code).toBe(0);
}

function tails(id: string): readonly string[] {
  return readdirSync(join(archive, 'databases', id, 'tails')).map((name) => `databases/${id}/tails/${name}`);
}

/** Writes the manifest of the shop with changes. */
function change(changes: Partial<Manifest>): void {
  const path = join(archive, MANIFEST);
  const manifest = decodeManifest(newHash, readFileSync(path), { databaseId: idOf(1), number: 1 });
  if (typeof manifest === 'string') throw new Error(manifest);
  writeFileSync(path, encodeManifest(newHash, { ...manifest, ...changes }));
}

describe('cairn backup verify', () => {
  beforeEach(() => {
    const { TMPDIR: before = '/tmp' } = process.env;
    process.env['TMPDIR'] = dir;
    onTestFinished(() => void (process.env['TMPDIR'] = before));
  });

  it('restores each database for a trial, and leaves nothing behind', async () => {
    await archived();
    const { code, out, err } = await run('verify', '--from', archive);
    expect([code, err]).toEqual([0, '']);
    const line = (name: string, id: string, revision: number): string =>
      `${name} \\(${id}\\): revision ${revision}, chain hash \\w{64}, archived last at 20[-\\d]+T[:.\\d]+Z\n`;
    expect(out).toMatch(new RegExp(`^${line('shop', idOf(1), 3)}${line('empty', idOf(2), 0)}$`));
    expect(readdirSync(dir).toSorted()).toEqual(['archive', 'node']);
    const one = await run('verify', '--from', archive, '--database', 'empty', '--json');
    expect(JSON.parse(one.out)).toMatchObject([{ name: 'empty', databaseId: idOf(2), revision: 0, faults: [] }]);
  });

  it('names every object that cannot be used, and verifies the other databases', async () => {
    await archived();
    const [tail = ''] = tails(idOf(1));
    writeFileSync(join(archive, tail), 'cut');
    const later = join(archive, 'databases', idOf(1), 'manifests', '000000000002');
    writeFileSync(later, 'no manifest');
    const { code, out, err } = await run('verify', '--from', archive);
    expect(code).toBe(1);
    expect(out).toMatch(/^shop \(.*\): cannot be restored whole\nempty \(.*\): revision 0, /);
    expect(err.split('\n')).toEqual([
      expect.stringMatching(/object databases\/.*\/manifests\/000000000002 of the archive cannot be used: it is cut/),
      expect.stringMatching(`object ${tail} of the archive cannot be used: it has 3 bytes`),
      '',
    ]);
    rmSync(later);
    rmSync(join(archive, MANIFEST));
    expect(await run('verify', '--from', archive)).toMatchObject({
      code: 1,
      out: expect.not.stringContaining('shop'),
      err: `cairn backup verify: nothing of shop (${idOf(1)}) is in the archive\n`,
    });
  });

  it('names a database of which nothing is archived, unless it is new', async () => {
    await archived();
    const databases = [
      { name: 'lost', databaseId: idOf(4) },
      { name: 'new', databaseId: toDatabaseId(uuidv7(Date.now(), nativeRandom)) },
    ];
    const catalog = encodeCatalog({ revision: 9, databases, keys: [] });
    const ports = { store: new DirectoryStore(archive), newHash, cluster: 'other', node: 1, catalog: () => catalog };
    await new CatalogArchiver(ports).round();
    const { code, err } = await run('verify', '--from', archive);
    expect([code, err]).toEqual([1, `cairn backup verify: nothing of lost (${idOf(4)}) is in the archive\n`]);
    expect((await run('verify', '--from', archive, '--database', 'shop')).code).toBe(0);
  });

  it('names a damaged catalog', async () => {
    await archived();
    const name = `catalogs/${IDENTITY.clusterId}/${IDENTITY.node}`;
    const path = join(archive, name);
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(1));
    const err = `cairn backup verify: object ${name} of the archive cannot be used: it does not match its hash\n`;
    expect(await run('verify', '--from', archive)).toMatchObject({ code: 1, err });
    expect((await run('verify', '--from', archive, '--database', 'shop')).code).toBe(0);
  });

  it('refuses whole objects with another history than the manifest says', async () => {
    await archived();
    change({ chainHash: 'ab'.repeat(32) });
    const { code, err } = await run('verify', '--from', archive);
    expect([code, err]).toEqual([1, expect.stringMatching(/shop cannot be restored: .* that of the original is abab/)]);
  });
});

describe('cairn backup prune', () => {
  async function archivedOften(): Promise<void> {
    const history = new ArchivedHistory(1_000);
    const ports = { store: new DirectoryStore(archive), newHash, clock: { nowMs: () => Date.now() }, writer: 'one' };
    const source = new ArchivingNode(history);
    const archiver = new Archiver({ ...ports, source });
    for (let count = 0; count < 70; count++) {
      history.append({ bytes: 9, isTransaction: true, afterMs: 1 });
      source.applied = history.count;
      await archiver.round();
    }
  }

  it('removes what the archive need not keep', async () => {
    await archivedOften();
    const before = tails(DATABASE.id).length;
    const { code, out, err } = await run('prune', '--from', archive);
    const after = tails(DATABASE.id).length;
    expect([code, err]).toEqual([0, '']);
    expect(out).toBe(`shop (${DATABASE.id}): 6 manifests and ${before - after} tails removed\n`);
    expect(readdirSync(join(archive, 'databases', DATABASE.id, 'manifests'))).toHaveLength(64);
    const again = await run('prune', '--from', archive, '--ttl', '0s', '--json');
    const done = { name: 'shop', databaseId: DATABASE.id, faults: [], manifests: 0, tails: 0 };
    expect(JSON.parse(again.out)).toEqual([done]);
  });

  it('removes nothing while an object of the newest backup is missing', async () => {
    await archivedOften();
    const last = tails(DATABASE.id).at(-1) ?? '';
    rmSync(join(archive, last));
    expect(await run('prune', '--from', archive)).toEqual({
      code: 1,
      out: `shop (${DATABASE.id}): nothing removed\n`,
      err: expect.stringContaining(`object ${last} of the archive cannot be used: it is missing`),
    });
    expect(readdirSync(join(archive, 'databases', DATABASE.id, 'manifests'))).toHaveLength(70);
  });

  it('refuses what it cannot do, with a reason', async () => {
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [['prune'], 2, 'cairn backup prune: --from is missing; name the directory or URL of the archive'],
      [['prune', '--from', archive, '--ttl', '30'], 2, '--ttl is "30"; it must be a number and s, m, h or d'],
      [['prune', archive], 2, 'unexpected argument'],
      [['prune', '--from', archive], 1, 'the archive has no database'],
      [['verify'], 2, 'cairn backup verify: --from is missing'],
      [['verify', '--from', archive, '--database', 'shop'], 1, 'the archive has no database shop; it has none'],
    ];
    for (const [args, code, reason] of cases) {
      expect(await run(...args)).toMatchObject({ code, out: '', err: expect.stringContaining(reason) });
    }
  });
});
