// Goal: a store of which a file is gone, cut short or broken is refused before LevelDB opens it, with one message that
// names the file, and nothing in it is changed (W17, W18, W19). Method: a store with tables and a log; each file
// damaged in turn; the directory compared with itself.
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openLevelStore, StorageFailure, verifyStore, verifyStoredRows } from '#storage';
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
    await store.write(last, { sync: true });
    await store.close();
  }
  return () => whole[Symbol.dispose]();
});

/** A copy of the store, and the name of its file that matches. */
function copy(pattern: RegExp): { readonly dir: string; readonly name: string; readonly path: string } {
  const dir = testDir();
  cpSync(whole.path, dir, { recursive: true });
  const name = readdirSync(dir).findLast((file) => pattern.test(file)) ?? '';
  return { dir, name, path: join(dir, name) };
}

function isRefused(dir: string): boolean {
  try {
    verifyStore(dir);
    return false;
  } catch (failure) {
    if (failure instanceof StorageFailure) return true;
    throw failure;
  }
}

function digest(dir: string): readonly string[] {
  const files = readdirSync(dir).toSorted();
  return files.map(
    (name) =>
      `${name} ${createHash('sha256')
        .update(readFileSync(join(dir, name)))
        .digest('hex')}`,
  );
}

test('a whole store passes, with or without suspicion, and so does one that is not there yet', async () => {
  expect(readdirSync(whole.path).filter((name) => name.endsWith('.ldb')).length).toBeGreaterThan(2);
  verifyStore(whole.path);
  let turns = 0;
  const count = (): void => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  await verifyStoredRows(whole.path);
  clearImmediate(counting);
  // In between the thread does other work, such as to say what it is doing.
  expect(turns).toBeGreaterThan(2);
  verifyStore(join(whole.path, 'nowhere'));
  using empty = tempDir();
  verifyStore(empty.path);
  // As a process leaves it that dies while it makes the store.
  writeFileSync(join(empty.path, 'MANIFEST-000001'), '');
  verifyStore(empty.path);
});

describe('a store is refused, and left alone, when', () => {
  const truncate = (path: string): void => truncateSync(path, 0);
  test.each([
    [
      'CURRENT is missing',
      /^CURRENT$/,
      rmSync,
      'CURRENT is damaged: it is missing, though the store has files such as',
    ],
    ['CURRENT is empty', /^CURRENT$/, truncate, 'CURRENT is damaged: it names "" and no MANIFEST'],
    ['the MANIFEST is missing', /^MANIFEST/, rmSync, 'is damaged: CURRENT names it and it is not there'],
    ['the MANIFEST is empty', /^MANIFEST/, truncate, 'is damaged: it does not say which log is the first'],
    ['a table is missing', /\.ldb$/, rmSync, '.ldb is damaged: it is missing, and'],
    ['a table is empty', /\.ldb$/, truncate, '.ldb is damaged at offset 0: found its end, expected'],
    ['the log is missing', /\.log$/, rmSync, '.log is damaged: it is missing, and by'],
  ] as const)('%s (W18)', (_, pattern, damage, says) => {
    const { dir, path } = copy(pattern);
    damage(path);
    const before = digest(dir);
    expect(() => verifyStore(dir)).toThrow(StorageFailure);
    expect(() => verifyStore(dir)).toThrow(says);
    expect(digest(dir)).toEqual(before);
  });

  test('the MANIFEST is cut anywhere, and what its last edits said has been done (W18)', () => {
    const { dir, path } = copy(/^MANIFEST/);
    const { length } = readFileSync(path);
    const passed: number[] = [];
    for (let cut = length - 1; cut > 0; cut--) {
      truncateSync(path, cut);
      if (!isRefused(dir)) passed.push(cut);
    }
    expect(passed).toEqual([]);
  });

  test('a bit flips in the MANIFEST (W17, W18)', () => {
    const { dir, path } = copy(/^MANIFEST/);
    const bytes = readFileSync(path);
    const missed: number[] = [];
    for (let bit = 0; bit < 8 * bytes.length; bit += 29) {
      const bent = Uint8Array.from(bytes);
      bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(path, bent);
      if (!isRefused(dir)) missed.push(bit);
    }
    expect(missed).toEqual([]);
  });

  test('a row of a table was damaged and the store is suspect (W19)', async () => {
    const { dir, path, name } = copy(/\.ldb$/);
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill((bytes[20] ?? 0) ^ 1, 20, 21));
    verifyStore(dir);
    await expect(verifyStoredRows(dir)).rejects.toThrow(`${name} is damaged at offset`);
  });
});
