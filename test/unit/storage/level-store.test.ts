// Goal: LevelDB implements the kv port through several handles, and its failures become errors of Cairn. Method: the
// conformance suite; damaged, locked and missing directories.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { DatabaseError } from '#base';
import { isLevelStoreInUse, isStoreDamage, type LevelStore, openLevelStore } from '#storage';
import { historyConformance } from '../../support/history-conformance.ts';
import { kvConformance } from '../../support/kv-conformance.ts';
import { testDir } from '../../support/test-scope.ts';

const MIB = 2 ** 20;
const SMALL = { cacheBytes: 2 ** 20, writeBufferBytes: 2 ** 16, maxFileBytes: 2 ** 16 };

for (const conformance of [kvConformance, historyConformance]) {
  conformance('LevelDB, read through a second handle', async () => {
    const directory = testDir();
    const store = await openLevelStore(directory, SMALL);
    const reader = await openLevelStore(directory, SMALL);
    const close = async (): Promise<void> => {
      await reader.close();
      await store.close();
    };
    return { store, reader, sync: () => store.checkpointFiles(), close };
  });
}

describe('the LevelDB store', () => {
  let directory: string;
  const opened: LevelStore[] = [];

  async function openAt(path: string): Promise<LevelStore> {
    const store = await openLevelStore(path, SMALL);
    opened.push(store);
    return store;
  }

  async function closeAll(): Promise<void> {
    for (const store of opened.splice(0)) await store.close();
  }

  beforeEach(() => {
    directory = testDir();
    onTestFinished(closeAll);
  });

  it('is not taken for unused when its lock cannot be tried', async () => {
    expect(await isLevelStoreInUse(join(directory, 'none', 'deep'))).toBe(false);
    expect(await isLevelStoreInUse(directory)).toBe(false);
    await openAt(directory);
    await closeAll();
    expect(await isLevelStoreInUse(directory)).toBe(false);
    await rm(join(directory, 'LOCK'));
    await mkdir(join(directory, 'LOCK'));
    await expect(isLevelStoreInUse(directory)).rejects.toThrow('LOCK: Is a directory');
  });

  it('reports rows that LevelDB finds damaged as damaged', async () => {
    const first = await openAt(directory);
    const batch = first.batch();
    const key = Buffer.from('a key that stands once');
    batch.put(key, Uint8Array.of(2));
    await first.write(batch);
    await first.compact(Uint8Array.of(0), Uint8Array.of(255));
    await closeAll();
    const [table = ''] = (await readdir(directory)).filter((name) => name.endsWith('.ldb'));
    const bytes = readFileSync(join(directory, table));
    // The kind of the row follows its key.
    const place = bytes.indexOf(key) + key.length;
    bytes.writeUInt8(bytes.readUInt8(place) ^ 0x40, place);
    await writeFile(join(directory, table), bytes);
    const store = await openAt(directory);
    const rows = store.range({ gte: Uint8Array.of(0), lt: Uint8Array.of(255) });
    const failure: unknown = await rows.next(1).catch((error: unknown) => error);
    await rows.close();
    expect([isStoreDamage(failure), String(failure)]).toEqual([true, expect.stringContaining('Corruption: ')]);
    expect(isStoreDamage(new DatabaseError('internal', 'a bug'))).toBe(false);
  });

  it('keeps at most the allowed number of tables mapped', async () => {
    const store = await openLevelStore(directory, { writeBufferBytes: 8 * MIB, maxFileBytes: MIB });
    opened.push(store);
    const keys = Array.from({ length: 100 }, (_, number) => Uint8Array.of(number));
    const batch = store.batch();
    for (const key of keys) batch.put(key, new Uint8Array(MIB));
    await store.write(batch);
    await store.compact(Uint8Array.of(0), Uint8Array.of(255));
    for (const key of keys) expect(store.get(key)).toHaveLength(MIB);
    const mapped = readFileSync('/proc/self/maps', 'utf8')
      .split('\n')
      .filter((line) => line.includes(directory));
    expect(mapped.length).toBeGreaterThan(0);
    expect(mapped.length).toBeLessThanOrEqual(64);
  }, 60_000);

  it('shows a thread the writes of another thread (K4)', async () => {
    const store = await openAt(directory);
    const worker = new Worker(new URL('../../support/level-reader-worker.ts', import.meta.url), {
      workerData: directory,
    });
    const answer = async (): Promise<unknown> => (await once(worker, 'message'))[0] as unknown;
    try {
      expect(await answer()).toBe('open');
      for (const value of [7, 8]) {
        const batch = store.batch();
        batch.put(Uint8Array.of(1), Uint8Array.of(value));
        await store.write(batch);
        worker.postMessage(Uint8Array.of(1), []);
        expect(await answer()).toEqual(Uint8Array.of(value));
      }
      worker.postMessage('close', []);
      await once(worker, 'exit');
      expect([...(store.get(Uint8Array.of(1)) ?? [])]).toEqual([8]);
    } finally {
      await worker.terminate();
    }
  });

  it('makes a checkpoint while log files are created and deleted', async () => {
    const store = await openAt(directory);
    const value = new Uint8Array(4_000);
    const checkpoints: Promise<void>[] = [];
    // 500 rows of 4 KB fill a write buffer of 64 KiB about 30 times.
    for (let n = 0; n < 500; n += 50) {
      const batch = store.batch();
      for (let row = n; row < n + 50; row++) batch.put(Uint8Array.of(row >> 8, row & 255), value);
      await store.write(batch);
      checkpoints.push(store.checkpointFiles());
    }
    expect(await Promise.all(checkpoints)).toHaveLength(10);
    expect((await readdir(directory)).some((name) => name.endsWith('.ldb'))).toBe(true);
  });

  it('refuses a checkpoint with a DatabaseError when its directory is missing', async () => {
    const store = await openAt(join(directory, 'store'));
    await closeAll();
    await rm(join(directory, 'store'), { recursive: true });
    const failure = await store.checkpointFiles().catch((cause: unknown) => cause);
    expect(failure).toBeInstanceOf(DatabaseError);
    expect(failure).toMatchObject({ code: 'internal', cause: { code: 'ENOENT' } });
  });

  it('refuses to open a path that is a file, and names it', async () => {
    const path = join(directory, 'file');
    await writeFile(path, 'not a store');
    const failure = await openLevelStore(path).catch((cause: unknown) => cause);
    expect(failure).toBeInstanceOf(DatabaseError);
    expect((failure as DatabaseError).message).toContain(path);
  });

  it('fails with a DatabaseError when it is used after it was closed', async () => {
    const store = await openAt(directory);
    await closeAll();
    expect(() => store.get(Uint8Array.of(1))).toThrow(DatabaseError);
    expect(() => store.range({ gte: Uint8Array.of(1), lt: Uint8Array.of(2) })).toThrow(DatabaseError);
    await expect(store.clear(Uint8Array.of(1), Uint8Array.of(2))).rejects.toBeInstanceOf(DatabaseError);
  });
});
