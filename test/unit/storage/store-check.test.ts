// Goal: a store with a missing, short or broken file is rejected unchanged before LevelDB opens it, with the name of
// the file (W18, W19). Method: each file damaged in turn; digests of the directory.
import { hash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openLevelStore, StorageFailure, verifyStore } from '#storage';
import { type TempDir, tempDir } from '../../support/temp-dir.ts';
import { testDir } from '../../support/test-scope.ts';

const NOTHING = new Uint8Array(0);
const END = Uint8Array.of(0xff);

let whole: TempDir;

beforeAll(async () => {
  whole = tempDir();
  for (const part of [0, 1]) {
    const store = await openLevelStore(whole.path, { maxFileBytes: 2 ** 20 });
    const batch = store.batch();
    for (let i = 0; i < 4000; i++) batch.put(Buffer.from(`key-${part}-${i}`), Buffer.alloc(400, i));
    await store.write(batch);
    await store.compact(NOTHING, END);
    const last = store.batch();
    last.put(Buffer.from(`in the log ${part}`), NOTHING);
    await store.write(last);
    await store.close();
  }
  return () => whole[Symbol.dispose]();
});

function copy(pattern: RegExp): { readonly dir: string; readonly name: string; readonly path: string } {
  const dir = testDir();
  cpSync(whole.path, dir, { recursive: true });
  const name = readdirSync(dir).findLast((file) => pattern.test(file)) ?? '';
  return { dir, name, path: join(dir, name) };
}

/** Verifies only what is always verified. */
async function verifyLeast(dir: string): Promise<boolean> {
  return verifyStore(dir, 0);
}

async function isRefused(dir: string): Promise<boolean> {
  const failure = await verifyLeast(dir).catch((cause: unknown) => cause);
  return failure instanceof StorageFailure;
}

function digest(dir: string): readonly string[] {
  const files = readdirSync(dir).toSorted();
  return files.map((name) => `${name} ${hash('sha256', readFileSync(join(dir, name)))}`);
}

test('a valid store is accepted, also when all its tables are verified, and so is a store that does not exist', async () => {
  expect(readdirSync(whole.path).filter((name) => name.endsWith('.ldb')).length).toBeGreaterThan(2);
  expect(await verifyLeast(whole.path)).toBe(true);
  let turns = 0;
  const count = (): void => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  expect(await verifyStore(whole.path, Number.POSITIVE_INFINITY)).toBe(true);
  clearImmediate(counting);
  // Between the steps the thread can do other work, such as progress reports.
  expect(turns).toBeGreaterThan(2);
  expect(await verifyLeast(join(whole.path, 'nowhere'))).toBe(false);
  using empty = tempDir();
  expect(await verifyLeast(empty.path)).toBe(false);
  // The state after a crash during the creation of the store.
  writeFileSync(join(empty.path, 'MANIFEST-000001'), '');
  expect(await verifyLeast(empty.path)).toBe(false);
});

describe('a store is rejected and not changed when', () => {
  const truncate = (path: string): void => truncateSync(path, 0);
  test.each([
    ['CURRENT is missing', /^CURRENT$/, rmSync, 'is damaged: it is missing, though the store has files such as'],
    ['CURRENT is empty', /^CURRENT$/, truncate, 'CURRENT is damaged: it names "" and no MANIFEST'],
    ['the MANIFEST is missing', /^MANIFEST/, rmSync, 'is damaged: CURRENT names it and it is not there'],
    ['the MANIFEST is empty', /^MANIFEST/, truncate, 'is damaged: it does not say which log is the first'],
    ['a table is missing', /\.ldb$/, rmSync, '.ldb is damaged: it is missing, and'],
    ['a table is empty', /\.ldb$/, truncate, '.ldb is damaged at offset 0: found its end, expected'],
    ['the log is missing', /\.log$/, rmSync, '.log is damaged: it is missing, and by'],
  ] as const)('%s (W18)', async (_, pattern, damage, says) => {
    const { dir, path } = copy(pattern);
    damage(path);
    const before = digest(dir);
    await expect(verifyLeast(dir)).rejects.toThrow(StorageFailure);
    await expect(verifyLeast(dir)).rejects.toThrow(says);
    expect(digest(dir)).toEqual(before);
  });

  test('the MANIFEST is cut anywhere, although its last edits were carried out (W18)', async () => {
    const { dir, path } = copy(/^MANIFEST/);
    const { length } = readFileSync(path);
    const passed: number[] = [];
    for (let cut = length - 1; cut > 0; cut -= 5) {
      truncateSync(path, cut);
      if (!(await isRefused(dir))) passed.push(cut);
    }
    expect(passed).toEqual([]);
  });

  test('a bit flips in the MANIFEST (W18)', async () => {
    const { dir, path } = copy(/^MANIFEST/);
    const bytes = readFileSync(path);
    const missed: number[] = [];
    for (let bit = 0; bit < 8 * bytes.length; bit += 53) {
      const bent = Uint8Array.from(bytes);
      bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(path, bent);
      if (!(await isRefused(dir))) missed.push(bit);
    }
    expect(missed).toEqual([]);
  });
});

describe('tables of level 0, which LevelDB compacts as soon as the store is open', () => {
  /** Each opening creates a table from the log of the previous one: three tables, and a log that becomes the fourth. */
  async function storeWithLevel0(): Promise<{ readonly dir: string; readonly path: string }> {
    const dir = testDir();
    for (const text of ['a', 'b', 'c', 'd']) {
      const store = await openLevelStore(dir);
      const batch = store.batch();
      for (const key of ['first', text, 'last']) batch.put(Buffer.from(key), Buffer.alloc(20, text));
      await store.write(batch);
      await store.close();
    }
    const names = readdirSync(dir).filter((name) => name.endsWith('.ldb'));
    expect(names.length).toBe(3);
    return { dir, path: join(dir, names[0] ?? '') };
  }

  test('are rejected with any flipped bit, or a range of zeros (W19)', async () => {
    const { dir, path } = await storeWithLevel0();
    const bytes = new Uint8Array(readFileSync(path));
    const passed: number[] = [];
    for (let bit = 0; bit < 8 * bytes.length; bit += 37) {
      const at = bit >> 3;
      for (const bent of [bytes.with(at, (bytes[at] ?? 0) ^ (1 << (bit & 7))), bytes.slice().fill(0, at, at + 16)]) {
        writeFileSync(path, bent);
        if (Buffer.compare(bent, bytes) !== 0 && !(await isRefused(dir))) passed.push(bit);
      }
    }
    expect(passed).toEqual([]);
    writeFileSync(path, bytes);
    expect(await verifyLeast(dir)).toBe(true);
  });
});
