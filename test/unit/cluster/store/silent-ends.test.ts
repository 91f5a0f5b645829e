// Goal: damage that ends the process without an error is noted after five starts, and other ends count nothing.
// Method: directories with the files that the count looks at.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

it('the sixth start after five silent ends notes that LevelDB is damaged, and later ones do not', () => {
  const { directory, store, note } = withTable();
  const start = (count: number): void => {
    for (let left = count; left > 0; left--) countStart(directory, store);
  };
  const said = '5 starts in a row ended without an error within ten minutes\nstore\n';
  start(5);
  expect(existsSync(note)).toBe(false);
  start(1);
  expect(readFileSync(note, 'utf8')).toBe(said);
  rmSync(note);
  start(9);
  expect(existsSync(note)).toBe(false);
  forgetStarts(directory);
  start(5);
  expect(existsSync(note)).toBe(false);
  start(1);
  expect(readFileSync(note, 'utf8')).toBe(said);
});

it('nothing is counted without tables, or where nothing can be written', () => {
  const { directory, store } = withTable();
  for (let start = 0; start < 9; start++) {
    countStart(directory, join(directory, 'none'));
    countStart(join(directory, 'none'), store);
  }
  expect(readdirSync(directory)).toEqual(['store']);
});

it('a count that cannot be noted or forgotten ends nothing', () => {
  const { directory, store, note } = withTable();
  for (let start = 0; start < 5; start++) countStart(directory, store);
  mkdirSync(note);
  expect(() => countStart(directory, store)).not.toThrow();
  rmSync(join(directory, 'starts'));
  mkdirSync(join(directory, 'starts'));
  expect(() => forgetStarts(directory)).not.toThrow();
});
