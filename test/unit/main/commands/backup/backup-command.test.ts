// Goal: a stopped node is archived, and restored as a new cluster with the same history and API keys: to its end, a
// revision or a time; a damaged archive and a directory with a node are refused with a sentence (X5). Method: both
// commands over real data directories, which are opened as stopped nodes afterwards.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { replicaOf, toHex, toNodeId } from '#base';
import { openStoppedNode } from '#cluster';
import { encodeCatalogEntry } from '#database';
import type { ApiKey } from '#model';
import { backupCommand } from '../../../../../src/main/commands/backup/backup-command.ts';
import { restoreCommand } from '../../../../../src/main/commands/backup/restore-command.ts';
import { databaseKit } from '../../../../support/cluster/machine-kit.ts';
import {
  createEntry,
  groupOf,
  IDENTITY,
  idOf,
  registerEntry,
  StoppedDirectory,
  storeOf,
} from '../../../../support/cluster/stopped-node.ts';
import { testDir } from '../../../../support/test-scope.ts';

const TEXTS = ['t1', 't2', 't3', 't4', 't5'];
const NODE_3 = [replicaOf(toNodeId(3))];
const TAILS = `databases/${idOf(1)}/tails`;

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Command = typeof backupCommand;

async function run(command: Command, ...args: readonly string[]): Promise<Ran> {
  let [out, err] = ['', ''];
  const code = await command(args, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    environment: {},
  });
  return { code, out, err };
}

/** A node with two databases; so many texts of the first are applied. */
async function node(
  directory: string,
  texts: readonly string[],
  applied = texts.length,
  more: readonly Uint8Array[] = [],
): Promise<string> {
  await using stopped = await StoppedDirectory.begin(directory);
  const databases = [createEntry(1, 'shop', NODE_3), createEntry(2, 'empty', NODE_3)];
  await stopped.catalog([registerEntry(3, 50_053), ...databases, ...more]);
  await stopped.database({ group: groupOf(1), name: 'shop', replicas: NODE_3, texts, applied });
  await stopped.database({ group: groupOf(2), name: 'empty', replicas: NODE_3, texts: [] });
  return directory;
}

function keyOf(id: number): ApiKey {
  const secrets = [{ hash: new Uint8Array(32).fill(id), createdAtMs: 1_700_000_000_000, expiresAtMs: undefined }];
  const grants = [{ role: 'admin', databases: 'shop-*', databasesMax: 3 }] as const;
  const { createdAtMs = 0 } = secrets[0] ?? {};
  const named = { id: String(id).padStart(16, '0'), name: `key ${id}`, createdBy: 'bootstrap' };
  return { ...named, version: 1, grants, createdAtMs, expiresAtMs: undefined, secrets };
}

function keep(key: ApiKey): Uint8Array {
  return encodeCatalogEntry({ kind: 'keep-key', key });
}

/** The catalog of a node, after these entries and those that register the node. */
async function catalogOf(name: string, payloads: readonly Uint8Array[], identity = IDENTITY): Promise<void> {
  await using stopped = await StoppedDirectory.begin(join(dir, name), identity);
  await stopped.catalog([registerEntry(3, 50_053), ...payloads]);
}

async function keysIn(name: string): Promise<readonly ApiKey[]> {
  await using stopped = await openStoppedNode(join(dir, name));
  return stopped.catalog.apiKeys();
}

interface Held {
  readonly texts: readonly string[];
  readonly id: string;
  readonly rootId: string;
  readonly revision: number;
  readonly chainHash: string;
}

/** The database of a stopped node. */
async function held(directory: string, name = 'shop'): Promise<Held> {
  await using stopped = await openStoppedNode(directory);
  const copy = [...stopped.copies.values()].find(({ binding }) => binding.name === name);
  if (copy === undefined) throw new Error(`there is no ${name}`);
  const { revision, chainHash, databaseId, rootId } = copy.applied;
  const texts = await databaseKit.history(stopped.store, copy.origin);
  return { texts, id: databaseId, rootId, revision, chainHash: toHex(chainHash) };
}

let dir: string;
let archive: string;

beforeEach(() => {
  dir = testDir();
  archive = join(dir, 'archive');
  mkdirSync(archive);
});

function backup(name: string): Promise<Ran> {
  return run(backupCommand, '--data-dir', join(dir, name), '--to', archive);
}

function restore(name: string, ...args: readonly string[]): Promise<Ran> {
  return run(restoreCommand, '--from', archive, '--data-dir', join(dir, name), ...args);
}

describe('cairn backup and cairn restore', () => {
  it('bring all databases to a new cluster, with their chain hashes', async () => {
    await node(join(dir, 'old'), TEXTS);
    const before = await held(join(dir, 'old'));
    expect(await backup('old')).toEqual({
      code: 0,
      out: expect.stringContaining(`shop (${idOf(1)}): revision 5, chain hash ${before.chainHash}\nempty (${idOf(2)})`),
      err: '',
    });
    const done = await restore('new');
    expect(done).toMatchObject({ code: 0, err: '' });
    const after = await held(join(dir, 'new'));
    expect(after).toEqual({ ...before, id: after.id });
    expect(after.id).not.toBe(before.id);
    expect(done.out).toContain(`shop (${after.id}): revision 5 of ${idOf(1)}, chain hash ${before.chainHash}\n`);
    expect(await held(join(dir, 'new'), 'empty')).toMatchObject({ revision: 0, rootId: idOf(2) });
    expect(readdirSync(join(dir, 'new')).toSorted()).toEqual(['ledger', 'log', 'store']);
  });

  it('bring the API keys to the new cluster', async () => {
    const rotated = { ...keyOf(2), version: 2, expiresAtMs: 4_000_000_000_000 };
    await node(join(dir, 'old'), TEXTS, TEXTS.length, [keep(keyOf(1)), keep(keyOf(2)), keep(rotated)]);
    await backup('old');
    expect((await restore('new')).out).toContain('\n2 API keys and tokens\n');
    expect(await keysIn('new')).toEqual([keyOf(1), { ...rotated, version: 1 }]);
    expect((await restore('one', '--database', 'shop')).out).toContain('\n0 API keys and tokens\n');
    expect(await keysIn('one')).toEqual([]);
    expect((await backup('new')).code).toBe(0);
    const [cluster = '', other = ''] = readdirSync(join(archive, 'catalogs'));
    const { code, err } = await restore('again');
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(`name a cluster .* ${cluster}, archived last at 2.*; ${other}`),
    ]);
    expect((await restore('again', '--cluster', cluster)).code).toBe(0);
    expect(await keysIn('again')).toHaveLength(2);
  });

  it('restore all databases, and say that there is no catalog, when it is missing', async () => {
    await node(join(dir, 'old'), TEXTS, TEXTS.length, [keep(keyOf(1))]);
    await backup('old');
    rmSync(join(archive, 'catalogs'), { recursive: true });
    const done = await restore('new');
    const missing = 'the archive has no catalog: all its databases are restored, also deleted ones, without API keys\n';
    expect(done).toMatchObject({ code: 0, err: `cairn restore: ${missing}` });
    expect(done.out).toMatch(/^shop .*\nempty .*\n0 API keys/m);
  });

  it('restore the databases that the cluster has, and not those that it has deleted', async () => {
    await node(join(dir, 'old'), TEXTS);
    await backup('old');
    const renewed = [
      createEntry(1, 'shop', NODE_3),
      encodeCatalogEntry({ kind: 'delete', name: 'shop' }),
      createEntry(2, 'shop', NODE_3),
      createEntry(3, 'young', NODE_3),
    ];
    const later = join(dir, 'later');
    {
      await using stopped = await StoppedDirectory.begin(later);
      await stopped.catalog([registerEntry(3, 50_053), ...renewed]);
      await stopped.database({ group: groupOf(2), name: 'shop', replicas: NODE_3, texts: ['u1'] });
      await stopped.database({ group: groupOf(3), name: 'young', replicas: NODE_3, texts: [] });
    }
    expect((await backup('later')).code).toBe(0);
    rmSync(join(archive, 'databases', idOf(3)), { recursive: true });
    const done = await restore('new');
    expect(done).toMatchObject({ code: 0, err: `cairn restore: nothing of young (${idOf(3)}) was archived\n` });
    expect(await held(join(dir, 'new'))).toMatchObject({ texts: ['u1'], rootId: idOf(2) });
    expect((await restore('deleted', '--database', idOf(1))).code).toBe(0);
    expect((await held(join(dir, 'deleted'))).texts).toEqual(TEXTS);
  });

  // X8
  it('use the latest catalog, whichever node has written it last', async () => {
    await node(join(dir, 'old'), TEXTS);
    await backup('old');
    const other = { ...IDENTITY, node: toNodeId(2), storeId: storeOf(2) };
    // Neither of these nodes has a replica.
    const elsewhere = [replicaOf(toNodeId(1))];
    const databases = [createEntry(1, 'shop', elsewhere), createEntry(2, 'empty', elsewhere)];
    await catalogOf('ahead', [...databases, keep(keyOf(1)), keep(keyOf(2))], other);
    await catalogOf('lagging', [...databases, keep(keyOf(1))]);
    for (const name of ['ahead', 'lagging']) expect(await backup(name)).toMatchObject({ code: 0, err: '' });
    await restore('new');
    expect(await keysIn('new')).toEqual([keyOf(1), keyOf(2)]);
  });

  it('restore a restored database again, from an archive of its own', async () => {
    await node(join(dir, 'old'), TEXTS);
    await backup('old');
    expect((await restore('second', '--database', 'shop')).err).toBe('');
    const second = await held(join(dir, 'second'));
    expect((await backup('second')).code).toBe(0);
    expect((await restore('third', '--database', 'shop')).err).toMatch(/shop means several instances; name one by/);
    expect((await restore('third', '--database', second.id)).code).toBe(0);
    const third = await held(join(dir, 'third'));
    expect(third).toEqual({ ...second, id: third.id });
    expect(third.rootId).toBe(idOf(1));
  });

  it('restore up to a revision or a time', async () => {
    await node(join(dir, 'old'), TEXTS);
    await backup('old');
    const points = [
      ['--revision=3', 3],
      ['--revision=0', 0],
      ['--time=2025-10-09T08:53:22.999Z', 2],
      ['--time=2025-10-09T08:53:23Z', 3],
      ['--time=2030-01-01T00:00:00Z', 5],
    ] as const;
    for (const [index, [point, revision]] of points.entries()) {
      expect((await restore(`new-${index}`, '--database', 'shop', point)).err).toBe('');
      expect(await held(join(dir, `new-${index}`))).toMatchObject({ texts: TEXTS.slice(0, revision), revision });
    }
  });

  it('archive what is new, and say what is not applied', async () => {
    await node(join(dir, 'old'), TEXTS, 3);
    expect((await backup('old')).out).toMatch(/revision 3, .*\n {2}without 2 entries of its log: start and stop/);
    await node(join(dir, 'later'), TEXTS);
    expect((await backup('later')).code).toBe(0);
    expect(readdirSync(join(archive, TAILS, '..', 'manifests'))).toEqual(['000000000001', '000000000002']);
    await restore('new');
    expect((await held(join(dir, 'new'))).texts).toEqual(TEXTS);
    const refused = `the archive of shop has more than this node, which ends with revision 3: take the backup from another`;
    expect(await backup('old')).toMatchObject({ code: 1, err: expect.stringContaining(refused) });
  });

  it('name a damaged object, make no node, and restore when it is repaired', async () => {
    await node(join(dir, 'old'), TEXTS);
    await backup('old');
    const [tail = ''] = readdirSync(join(archive, TAILS));
    const path = join(archive, TAILS, tail);
    const bytes = readFileSync(path);
    const changed = Buffer.from(bytes);
    changed[30] = (changed[30] ?? 0) ^ 1;
    writeFileSync(path, changed);
    const hint = 'nothing can be restored without it';
    expect(await restore('new')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(`${TAILS}/${tail} .*${hint}`),
    });
    expect(existsSync(join(dir, 'new', 'store'))).toBe(false);
    writeFileSync(path, bytes);
    expect((await restore('new')).code).toBe(0);
    expect((await held(join(dir, 'new'))).texts).toEqual(TEXTS);
  });

  it('make a node at the last step, and begin again before that', async () => {
    await node(join(dir, 'old'), TEXTS);
    await backup('old');
    await restore('new');
    const [place, store, log, ledger] = ['restoring', 'store', 'log', 'ledger'].map((name) => join(dir, 'new', name));
    // The process has ended after it had moved store and log.
    mkdirSync(place ?? '');
    renameSync(ledger ?? '', join(place ?? '', 'ledger'));
    await expect(openStoppedNode(join(dir, 'new'))).rejects.toThrow('There is no store in');
    expect((await restore('new')).err).toBe('');
    expect([place, store, log, ledger].map((path) => existsSync(path ?? ''))).toEqual([false, true, true, true]);
    expect((await held(join(dir, 'new'))).texts).toEqual(TEXTS);
  });

  it('refuse what they cannot do, with a reason', async () => {
    await node(join(dir, 'old'), TEXTS);
    await backup('old');
    const cases: readonly (readonly [Promise<Ran>, number, string])[] = [
      [restore('old'), 1, 'belongs to a node. Name a directory that does not exist or is empty'],
      [restore('new', '--revision', '3'), 1, '--revision is of one database; name it by --database'],
      [restore('new', '--database', 'shop', '--revision', '6'), 1, 'revision 6 is not in the archive, which ends with'],
      [restore('new', '--time', '2020-01-01T00:00:00Z'), 1, 'the database was created later'],
      [restore('new', '--database', 'carts'), 1, 'the archive has no database carts; it has shop, empty'],
      [restore('new', '--cluster', 'shop'), 1, 'name a cluster of the archive by --cluster ID: '],
      [restore('new', '--cluster', 'shop', '--database', 'shop'), 2, '--cluster and --database exclude each other'],
      [restore('new', '--revision', '1.5'), 2, '--revision "1.5" is no revision'],
      [restore('new', '--time', 'now'), 2, '--time "now" is no time; write it as'],
      [restore('new', '--time', '2025-10-09T08:53:23Z', '--revision', '1'), 2, '--revision and --time exclude'],
      [run(restoreCommand), 2, '--from is missing; name the directory or URL of the archive'],
      [run(backupCommand), 2, '--to is missing; name the directory or URL of the archive'],
      [backup('nothing'), 1, 'There is no store in'],
      [run(restoreCommand, '--from', 'http://shop', '--data-dir', join(dir, 'new')), 1, '"http://shop" is no archive'],
      [
        run(restoreCommand, '--from', join(dir, 'none'), '--data-dir', join(dir, 'new')),
        1,
        'the archive has no database',
      ],
    ];
    for (const [ran, code, reason] of cases) {
      expect(await ran).toMatchObject({ code, out: '', err: expect.stringContaining(reason) });
    }
    expect(existsSync(join(dir, 'new', 'store'))).toBe(false);
  });
});
