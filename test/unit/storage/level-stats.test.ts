// Goal: the statistics of LevelDB about its levels are parsed correctly, and another format is rejected. Method: a
// store that is compacted, and text.
import { expect, test } from 'vitest';
import { readLevelStats } from '../../../src/storage/level-stats.ts';

const HEADING = `                               Compactions
Level  Files Size(MB) Time(sec) Read(MB) Write(MB)
--------------------------------------------------
`;

test('a row describes a level: its tables, and the cost of compactions into it', () => {
  expect(readLevelStats(HEADING)).toEqual([]);
  expect(readLevelStats(`${HEADING}  0       10        9         0        0        26\n  1 9 17 3 43 44\n`)).toEqual([
    { level: 0, tables: 10, seconds: 0, readBytes: 0, writtenBytes: 26 * 2 ** 20 },
    { level: 1, tables: 9, seconds: 3, readBytes: 43 * 2 ** 20, writtenBytes: 44 * 2 ** 20 },
  ]);
});

test('another format throws a bug with the text that was found', () => {
  expect(() => readLevelStats('')).toThrow('as a table');
  expect(() => readLevelStats(`${HEADING}  0  10  9\n`)).toThrow('a row of six numbers');
  expect(() => readLevelStats(`${HEADING}  0  10  9  x  0  26\n`)).toThrow('a row of six numbers');
});
