// Goal: any difference between generated code and its present generator is found. Method: two small folders.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compareTrees } from '../../../scripts/support/compare-trees.ts';
import { testDir } from '../../support/test-scope.ts';

it('compareTrees names missing, additional and different files, and no others', () => {
  const committed = folder({ 'same.ts': '1', 'b/left.ts': '1', 'b/differs.ts': '1' });
  const fresh = folder({ 'same.ts': '1', 'missing.ts': '1', 'b/differs.ts': '2' });
  const faults = ['b/differs.ts: differs', 'b/left.ts: left over', 'missing.ts: missing'];
  expect(compareTrees(committed, fresh)).toEqual(faults);
  expect(compareTrees(committed, committed)).toEqual([]);
  expect(compareTrees(join(committed, 'none'), folder({ 'a.ts': '1' }))).toEqual(['a.ts: missing']);
});

function folder(files: Readonly<Record<string, string>>): string {
  const path = testDir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(path, name, '..'), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
}
