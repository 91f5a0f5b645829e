// Goal: a note that is damaged itself never keeps a node from starting. Method: notes with groups that no database has.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readDamageNote } from '../../../../src/cluster/store/damage-note.ts';
import { testDir } from '../../../support/test-scope.ts';

it.each(['group 0', 'group 99999999999999999999', 'group 1x'])('the line "%s" names no database', (line) => {
  const directory = testDir();
  writeFileSync(join(directory, 'damage'), `a row is damaged\n${line}\n`);
  expect(readDamageNote(directory)).toEqual({ text: `a row is damaged\n${line}`, groups: [], isOfStore: false });
});
