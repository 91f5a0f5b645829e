// Goal: damage that ends the process without an error is noted after five starts, and other ends count nothing.
// Method: directories with the files that the count looks at.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { countStart, forgetStarts } from '../../../../src/cluster/store/silent-ends.ts';
import { testDir } from '../../../support/test-scope.ts';

function withTable(): { readonly directory: string; readonly store: string; readonly note: string } {
  const directory = testDir();
  const store = join(directory, 'store');
  mkdirSync(store);
  writeFileSync(join(store, '000005.ldb'), '');
  return { directory, store, note: join(directory, 'damage') };
}

it('the sixth start after five silent ends notes damage, and begins another count', () => {
  const { directory, store, note } = withTable();
  const starts = (count: number): boolean[] => Array.from({ length: count }, () => countStart(directory, store));
  expect(starts(5)).not.toContain(true);
  expect(existsSync(note)).toBe(false);
  expect(starts(6)).toEqual([true, false, false, false, false, false]);
  expect(readFileSync(note, 'utf8')).toBe('5 starts in a row ended without an error before all rows were verified\n');
  forgetStarts(directory);
  expect(starts(5)).not.toContain(true);
});

it('nothing is counted without tables, or where nothing can be written', () => {
  const { directory, store } = withTable();
  for (let start = 0; start < 9; start++) {
    expect(countStart(directory, join(directory, 'none'))).toBe(false);
    expect(countStart(join(directory, 'none'), store)).toBe(false);
  }
  expect(existsSync(join(directory, 'starts'))).toBe(false);
});
