// Goal: the note of damage names what may be damaged, and never keeps a node from starting when it is damaged itself.
// Method: notes with groups that no database has, and several notes in one file.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toGroupId } from '#base';
import { noteDamage, readDamageNote } from '../../../../src/cluster/store/damage-note.ts';
import { testDir } from '../../../support/test-scope.ts';

it.each(['group 0', 'group 99999999999999999999', 'group 1x'])('the line "%s" names no database', (line) => {
  const directory = testDir();
  writeFileSync(join(directory, 'damage'), `a row is damaged\n${line}\n`);
  const text = `a row is damaged\n${line}`;
  expect(readDamageNote(directory)).toEqual({ text, groups: [], isVague: true, isOfStore: false });
});

it.each([
  ['of a known database', [7], false],
  ['of known databases', [7, 12], false],
  ['of a known database, then of an unknown one', [7, undefined], true],
  ['of an unknown database, then of a known one', [undefined, 7], true],
])('damage %s is acted on', (_, noted, isVague) => {
  const directory = testDir();
  for (const group of noted)
    noteDamage(directory, { text: 'a row', groups: group === undefined ? [] : [toGroupId(group)], isOfStore: false });
  const groups = noted.filter((group) => group !== undefined);
  expect(readDamageNote(directory)).toMatchObject({ groups, isVague, isOfStore: false });
});
