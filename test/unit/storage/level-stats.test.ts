// Goal: what LevelDB says of its levels is read as it means it, and another form is not taken for it. Method: a store
// that is compacted, and text.
import { expect, test } from 'vitest';
import { openLevelStore } from '#storage';
import { readLevelStats } from '../../../src/storage/level-stats.ts';
import { testDir } from '../../support/test-scope.ts';

const HEADING = `                               Compactions
Level  Files Size(MB) Time(sec) Read(MB) Write(MB)
--------------------------------------------------
`;

test('a row is a level: its tables, and what compactions into it have cost', () => {
  expect(readLevelStats(HEADING)).toEqual([]);
  expect(readLevelStats(`${HEADING}  0       10        9         0        0        26\n  1 9 17 3 43 44\n`)).toEqual([
    { level: 0, tables: 10, seconds: 0, readBytes: 0, writtenBytes: 26 * 2 ** 20 },
    { level: 1, tables: 9, seconds: 3, readBytes: 43 * 2 ** 20, writtenBytes: 44 * 2 ** 20 },
  ]);
});

test('another form is a bug, and throws with what was found', () => {
  expect(() => readLevelStats('')).toThrow('as a table');
  expect(() => readLevelStats(`${HEADING}  0  10  9\n`)).toThrow('a row of six numbers');
  expect(() => readLevelStats(`${HEADING}  0  10  9  x  0  26\n`)).toThrow('a row of six numbers');
});

test('a store that was compacted has tables, and has read and written their bytes', async () => {
  await using store = await opened();
  expect(store.levels()).toEqual([]);
  for (let part = 0; part < 2; part++) {
    const batch = store.batch();
    for (let i = 0; i < 8000; i++) batch.put(Buffer.from(`key-${i}`), Buffer.alloc(400, i + part));
    await store.write(batch);
    await store.compact(new Uint8Array(0), Uint8Array.of(0xff));
  }
  const levels = store.levels();
  expect(levels.reduce((sum, { tables }) => sum + tables, 0)).toBeGreaterThan(2);
  expect(levels.reduce((sum, { readBytes }) => sum + readBytes, 0)).toBeGreaterThan(2 ** 20);
  expect(levels.reduce((sum, { writtenBytes }) => sum + writtenBytes, 0)).toBeGreaterThan(2 * 2 ** 20);
});

async function opened(): Promise<Awaited<ReturnType<typeof openLevelStore>> & AsyncDisposable> {
  const store = await openLevelStore(testDir(), { maxFileBytes: 2 ** 20 });
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}
