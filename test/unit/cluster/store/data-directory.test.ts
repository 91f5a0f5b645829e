// Goal: a data directory belongs to one store and one process, and rejects others with a reason. Method: real
// directories; a second process that tries to open the first one's.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { crc32, replicaOf, toGroupId, toNodeId } from '#base';
import type { Joined } from '#cluster';
import { RowKeys } from '#database';
import { membershipOf } from '#raft';
import { Ledger } from '#storage';
import { databaseMachines } from '../../../../src/cluster/database-machines.ts';
import { membersIn } from '../../../../src/cluster/state-transfer.ts';
import { noteDamage } from '../../../../src/cluster/store/damage-note.ts';
import { type DataDirectory, openDataDirectory } from '../../../../src/cluster/store/data-directory.ts';
import { type LedgerStore, ledgerStore } from '../../../../src/cluster/store/ledger-store.ts';
import { IDENTITY_KEY, JOINING_KEY, readIdentity, writeIdentity } from '../../../../src/cluster/store/node-rows.ts';
import { noteRemoved } from '../../../../src/cluster/store/own-identity.ts';
import { nativeRandom } from '../../../../src/cluster/system-ports.ts';
import { openedElsewhere } from '../../../support/opened-elsewhere.ts';
import { testDir } from '../../../support/test-scope.ts';

const OPTIONS = {
  store: {},
  disk: {},
  nowMs: 1_700_000_000_000,
  random: nativeRandom,
  origin: { kind: 'alone' },
} as const;
let directory = '';

beforeEach(() => {
  directory = testDir();
});

/** The store with its ledger, of which the caller must close both. */
async function withLedger({ store }: DataDirectory): Promise<LedgerStore> {
  return ledgerStore(store, await Ledger.open(directory));
}

it.each([
  ['before 1970', -1, '1969-12-31T23:59:59.999Z', 'ClockBeforeEpoch'],
  ['after the year 9999', Date.UTC(10_000, 0), '+010000-01-01T00:00:00.000Z', 'ClockAfterYear9999'],
])('the directory is not touched while the clock says that it is %s', async (where, nowMs, shown, reason) => {
  const path = join(directory, 'new');
  await expect(openDataDirectory(path, { ...OPTIONS, nowMs })).rejects.toMatchObject({
    message: expect.stringContaining(`${shown}, ${where}`),
    details: { reason },
  });
  expect(existsSync(path)).toBe(false);
});

it.each([
  ['store/CURRENT', 'must be a file', mkdirSync],
  ['store/LOCK', 'must be a file', mkdirSync],
  ['log/guard', 'cannot be written: ELOOP', (path: string) => symlinkSync('guard', path)],
  ['log/000000000001.wal', 'cannot be written: ELOOP', (path: string) => symlinkSync('000000000001.wal', path)],
  ['ledger', 'must be a file', mkdirSync],
  ['store/000005.ldb', 'cannot be read: ELOOP', (path: string) => symlinkSync('000005.ldb', path)],
  ['store', 'it, or a part of its path, is a file', (path: string) => writeFileSync(path, '')],
])('the directory is rejected with the path of %s, which %s', async (name, fault, make) => {
  for (const each of name.startsWith('store/') ? ['log', 'store'] : ['log']) mkdirSync(join(directory, each));
  make(join(directory, name));
  const found = await openDataDirectory(directory, OPTIONS).catch((failure: unknown) => failure);
  expect(found).toMatchObject({ details: { reason: 'DataDirectoryUnusable' } });
  expect(String(found)).toContain(join(directory, name));
  expect(String(found)).toContain(fault);
});

it('a directory that is being restored is rejected, and no node is made in it', async () => {
  mkdirSync(join(directory, 'restoring'));
  await expect(openDataDirectory(directory, OPTIONS)).rejects.toThrow('or that was interrupted: repeat cairn restore');
  expect(existsSync(join(directory, 'ledger'))).toBe(false);
});

it('the directory is rejected when the path of the note of damage is not a file', async () => {
  mkdirSync(join(directory, 'damage'));
  await expect(openDataDirectory(directory, OPTIONS)).rejects.toMatchObject({
    message: expect.stringMatching(/damage must be a file.* move it away/),
    details: { reason: 'DataDirectoryUnusable' },
  });
});

it('the alarm is raised from the note of damage until databases were audited', async () => {
  const seen: boolean[] = [];
  const options = { ...OPTIONS, onSuspicion: (isSuspect: boolean) => seen.push(isSuspect) };
  await (await openDataDirectory(directory, options)).store.close();
  expect(seen.splice(0)).toEqual([false]);

  writeFileSync(join(directory, 'damage'), 'a row\n');
  const { store, isSuspect, clearSuspicion } = await openDataDirectory(directory, options);
  await store.close();
  expect([isSuspect, existsSync(join(directory, 'damage'))]).toEqual([true, true]);
  expect(seen.splice(0)).toEqual([true]);
  clearSuspicion();
  expect([seen, existsSync(join(directory, 'damage'))]).toEqual([[false], false]);
});

it('a note of damage names databases', async () => {
  noteDamage(directory, { text: 'a row', groups: [toGroupId(7)], isOfStore: false });
  noteDamage(directory, { text: 'another row', groups: [toGroupId(12)], isOfStore: false });
  const { store, isSuspect, damaged, clearSuspicion } = await openDataDirectory(directory, OPTIONS);
  await store.close();
  expect([isSuspect, [...damaged]]).toEqual([false, [7, 12]]);
  clearSuspicion();
  expect(existsSync(join(directory, 'damage'))).toBe(false);
});

it('a store is not created next to a log, nor an identity next to a log or rows of databases', async () => {
  const first = await openDataDirectory(directory, OPTIONS);
  const row = first.store.batch();
  row.put(new RowKeys(toGroupId(1)).applied(), Uint8Array.of(1));
  await first.store.write(row);
  await first.store.close();
  const segment = join(first.logDirectory, '0000000001.wal');
  writeFileSync(segment, 'x');
  const refused = (lacking: string, left: string): object => ({
    details: { reason: 'StoreMissing' },
    message: expect.stringMatching(
      new RegExp(
        `${lacking} is missing, or new, although .*${left}.*: it was lost, or .*this directory. In a cluster whose other nodes`,
      ),
    ),
  });
  renameSync(first.storeDirectory, join(directory, 'aside'));
  await expect(openDataDirectory(directory, OPTIONS)).rejects.toMatchObject(refused('/store', '0000000001.wal'));
  expect(existsSync(first.storeDirectory)).toBe(false);
  renameSync(join(directory, 'aside'), first.storeDirectory);
  rmSync(join(directory, 'ledger'));
  await expect(openDataDirectory(directory, OPTIONS)).rejects.toMatchObject(refused('/ledger', '0000000001.wal'));
  rmSync(segment);
  await expect(openDataDirectory(directory, OPTIONS)).rejects.toMatchObject(refused('/ledger', '/store has rows'));
  expect(existsSync(join(directory, 'ledger'))).toBe(false);
});

it('a directory is rejected with a damaged ledger, and its store is closed again', async () => {
  await (await openDataDirectory(directory, OPTIONS)).store.close();
  const ledger = join(directory, 'ledger');
  const bytes = readFileSync(ledger);
  writeFileSync(ledger, bytes.subarray(0, 4096));
  for (let start = 0; start < 2; start++) {
    await expect(openDataDirectory(directory, OPTIONS)).rejects.toMatchObject({ kind: 'corrupt', path: ledger });
  }
  writeFileSync(ledger, bytes);
  await (await openDataDirectory(directory, OPTIONS)).store.close();
});

it('the identity is rejected after its node was removed and has recorded it, until it is that of another node (C39)', async () => {
  const first = await openDataDirectory(directory, OPTIONS);
  const { identity } = first;
  const store = await withLedger(first);
  await noteRemoved(store, identity);
  await store.close();
  const removed = { details: { reason: 'NodeRemoved' }, message: expect.stringMatching(/^Node 1 was removed/) };
  await expect(openDataDirectory(directory, OPTIONS)).rejects.toMatchObject(removed);
  await expect(openDataDirectory(directory, OPTIONS)).rejects.toMatchObject(removed);
  const ledger = await Ledger.open(directory);
  const next = { ...identity, clusterId: '0199a5c8-3c1e-7a2b-9f00-0123456789ab' };
  await ledger.write([{ key: IDENTITY_KEY, value: writeIdentity(next) }]);
  ledger.close();
  const opened = await openDataDirectory(directory, OPTIONS);
  await opened.store.close();
  expect(opened.identity).toEqual(next);
});

describe('the lock', () => {
  it('rejects a second process with the name of the directory, and is released with the first', async () => {
    const { store } = await openDataDirectory(directory, OPTIONS);
    expect(openedElsewhere(directory)).toBe(
      `DataDirectoryInUse The data directory ${directory} is open in another process; stop that one, or choose another directory\n`,
    );
    await store.close();
    expect(openedElsewhere(directory)).toBe('opened\n');
  });
});

describe('the rows of the node', () => {
  const identity = {
    clusterId: '0199a5c8-3c1e-7a2b-9f00-0123456789ab',
    storeId: '0199a5c8-3c1e-7a2b-9f00-ba9876543210',
    node: toNodeId(2 ** 32 - 1),
    isLearner: true,
  };

  it('are rejected with any flipped bit, or when they are cut', () => {
    const row = writeIdentity(identity);
    for (let bit = 0; bit < 8 * row.length; bit += 1) {
      const bent = row.with(bit >> 3, (row[bit >> 3] ?? 0) ^ (1 << (bit & 7)));
      expect(() => readIdentity(bent)).toThrow('The row with key 0000 is corrupt');
    }
    for (let length = 0; length < row.length; length += 1) {
      expect(() => readIdentity(row.subarray(0, length))).toThrow('is corrupt');
    }
  });

  it('of a format that is unknown here are not corrupt', () => {
    const row = writeIdentity(identity).with(0, 4);
    const end = row.length - 4;
    new DataView(row.buffer).setUint32(end, crc32(row.subarray(0, end)), true);
    const message = 'The row with key 0000 is not what was looked for: format 4 is unknown here, 3 would be known';
    const unexpected = expect.objectContaining({ message, details: { reason: 'UnexpectedRow' } });
    expect(() => readIdentity(row)).toThrow(unexpected);
  });
});

it('a store that belongs to no cluster is not created when no option determines its cluster', async () => {
  const path = join(directory, 'new');
  const options = { ...OPTIONS, origin: { kind: 'unknown' } } as const;
  const refused = {
    details: { reason: 'BelongsNowhere' },
    message: expect.stringMatching(/--join .* --bootstrap alone/),
  };
  await expect(openDataDirectory(path, options)).rejects.toMatchObject(refused);
  expect(existsSync(path)).toBe(false);
  // For any origin, a log without its store means that the store was lost.
  mkdirSync(join(path, 'log'), { recursive: true });
  writeFileSync(join(path, 'log', '0000000001.wal'), 'x');
  await expect(openDataDirectory(path, options)).rejects.toMatchObject({ details: { reason: 'StoreMissing' } });
});

it('a store that belongs to no cluster founds one with the store id of its requests', async () => {
  let asked = '';
  const ask = async (storeId: string): Promise<{ readonly kind: 'founder' }> => {
    asked = storeId;
    return { kind: 'founder' };
  };
  const opened = await openDataDirectory(directory, { ...OPTIONS, origin: { kind: 'asks', ask } });
  const store = await withLedger(opened);
  expect(opened.identity).toEqual({ clusterId: expect.any(String), storeId: asked, node: 1, isLearner: false });
  expect(store.get(JOINING_KEY)).toBeUndefined();
  await store.close();
});

describe('a store that joins a cluster', () => {
  const joined: Joined = {
    kind: 'joined',
    clusterId: '0199a5c8-3c1e-7a2b-9f00-0123456789ab',
    node: toNodeId(7),
    founders: [replicaOf(toNodeId(1))],
    nodes: [],
  };

  async function close({ store }: Awaited<ReturnType<typeof openDataDirectory>>): Promise<void> {
    await store.close();
  }

  it('keeps its store id until it has the answer, and its node id afterwards', async () => {
    const asked: string[] = [];
    const refusing = async (storeId: string): Promise<Joined> => {
      asked.push(storeId);
      throw new Error('nobody answers');
    };
    await expect(openDataDirectory(directory, { ...OPTIONS, origin: { kind: 'asks', ask: refusing } })).rejects.toThrow(
      'nobody answers',
    );
    await expect(openDataDirectory(directory, { ...OPTIONS, origin: { kind: 'asks', ask: refusing } })).rejects.toThrow(
      'nobody answers',
    );
    const answering = async (storeId: string): Promise<Joined> => {
      asked.push(storeId);
      return joined;
    };
    const opened = await openDataDirectory(directory, { ...OPTIONS, origin: { kind: 'asks', ask: answering } });
    const [storeId = ''] = asked;
    expect(asked).toEqual([storeId, storeId, storeId]);
    expect(opened.identity).toEqual({ clusterId: joined.clusterId, storeId, node: 7, isLearner: false });
    const store = await withLedger(opened);
    expect(store.get(JOINING_KEY)).toBeUndefined();
    // The founders of the catalog are recorded from now on, and this node is not one of them.
    const catalog = databaseMachines.openCatalog(store, membershipOf([replicaOf(toNodeId(9))]));
    expect(membersIn(catalog.applied.group)).toEqual({ index: 0, membership: membershipOf(joined.founders) });
    await store.close();
    const again = await openDataDirectory(directory, { ...OPTIONS, origin: { kind: 'asks', ask: refusing } });
    expect(again.identity).toEqual(opened.identity);
    await close(again);
    const without = await openDataDirectory(directory, OPTIONS);
    expect(without.identity).toEqual(opened.identity);
    await close(without);
  });

  it.each([
    [true, 'Node 7 .* is a learner, which cannot change: start it with --learner true; or decommission it'],
    [false, 'Node 7 .* is no learner, which cannot change: start it with --learner false; or decommission it'],
  ])('is a learner for life, or never: %j', async (isLearner, message) => {
    const ask = async (): Promise<Joined> => joined;
    const opened = await openDataDirectory(directory, { ...OPTIONS, origin: { kind: 'asks', ask }, isLearner });
    expect(opened.identity.isLearner).toBe(isLearner);
    await close(opened);
    const again = await openDataDirectory(directory, { ...OPTIONS, isLearner });
    expect(again.identity).toEqual(opened.identity);
    await close(again);
    await expect(openDataDirectory(directory, { ...OPTIONS, isLearner: !isLearner })).rejects.toThrow(
      new RegExp(message),
    );
  });

  it('founds no cluster by itself after it has requested to join', async () => {
    const silent = async (): Promise<Joined> => {
      throw new Error('nobody answers');
    };
    await expect(openDataDirectory(directory, { ...OPTIONS, origin: { kind: 'asks', ask: silent } })).rejects.toThrow(
      'nobody answers',
    );
    await expect(openDataDirectory(directory, OPTIONS)).rejects.toMatchObject({ details: { reason: 'HalfJoined' } });
  });
});
