// Goal: what LevelDB says of its levels is read as it means it, and another form is not taken for it. Method: a store
// that is compacted, and text.
import { expect, test } from 'vitest';
import { readLevelStats } from '../../../src/storage/level-stats.ts';

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
