// Goal: stated, repeated and forgotten invariants are told apart. Method: trees of a few lines.
import { describe, expect, it } from 'vitest';
import { invariantNumbersAreUnique, invariantsAreTested } from './invariants.ts';
import { treeOf } from './tree.ts';

const stated = (id: string): string => `/**\n *   ${id}  Always so.\n */\n`;

describe('invariantNumbersAreUnique', () => {
  it('passes different numbers', () => {
    expect(invariantNumbersAreUnique(treeOf({ 'src/raft/a.ts': stated('R1') + stated('R2') }))).toEqual([]);
  });

  it('finds a number that is given twice', () => {
    const tree = treeOf({ 'src/raft/a.ts': stated('R1'), 'src/raft/b.ts': ' * R1: Never so.\n' });
    expect(invariantNumbersAreUnique(tree)).toEqual(['R1: stated 2 times: src/raft/a.ts, src/raft/b.ts']);
  });

  it('takes a sentence that cites a number for no statement', () => {
    const tree = treeOf({
      'src/raft/a.ts': stated('R1'),
      'src/raft/b.ts': ' * R1 holds here too (R1).\n// R1 again\n',
    });
    expect(invariantNumbersAreUnique(tree)).toEqual([]);
  });
});

describe('invariantsAreTested', () => {
  it('passes an invariant that a test cites', () => {
    const tree = treeOf({ 'src/raft/a.ts': stated('R1'), 'test/unit/raft/a.test.ts': "it('never goes back (R1)')" });
    expect(invariantsAreTested(tree)).toEqual([]);
  });

  it('finds an invariant that no test cites', () => {
    const tree = treeOf({ 'src/raft/a.ts': stated('R1'), 'test/unit/raft/a.test.ts': "it('is R12, not AR1')" });
    expect(invariantsAreTested(tree)).toEqual(['src/raft/a.ts: no test cites invariant R1']);
  });

  it.each([
    ' *   R1  Text.',
    ' * R1: Text.',
    ' * R1. Text.',
    ' * - **R1** Text.',
    ' * - **R1:** Text.',
    '// R1  Text.',
    ' *   R10 Text.',
    ' *   TH1  Text.',
  ])('reads the statement %s', (line) => {
    expect(invariantsAreTested(treeOf({ 'src/raft/a.ts': line }))).toHaveLength(1);
  });
});
