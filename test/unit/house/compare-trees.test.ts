// Goal: generated code that is stale in any way is found. Method: two small folders.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compareTrees } from '../../../scripts/support/compare-trees.ts';
import { testDir } from '../../support/test-scope.ts';

describe('compareTrees', () => {
  it('finds nothing between equal folders', () => {
    expect(compareTrees(folder({ 'a.ts': '1', 'b/c.ts': '2' }), folder({ 'a.ts': '1', 'b/c.ts': '2' }))).toEqual([]);
  });

  it('names what is missing, left over and different', () => {
    const committed = folder({ 'same.ts': '1', 'b/left.ts': '1', 'b/differs.ts': '1' });
    const fresh = folder({ 'same.ts': '1', 'missing.ts': '1', 'b/differs.ts': '2' });
    expect(compareTrees(committed, fresh)).toEqual([
      'b/differs.ts: differs',
      'b/left.ts: left over',
      'missing.ts: missing',
    ]);
  });

  it('takes a folder that does not exist for an empty one', () => {
    expect(compareTrees(join(folder({}), 'none'), folder({ 'a.ts': '1' }))).toEqual(['a.ts: missing']);
  });
});

function folder(files: Readonly<Record<string, string>>): string {
  const path = testDir();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(path, name, '..'), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
}
