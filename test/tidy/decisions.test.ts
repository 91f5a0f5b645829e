// Goal: records of decisions cannot contradict each other about what holds. Method: records of a line or two.
import { describe, expect, it } from 'vitest';
import { decisionNumbersAreUnique, decisionsAgree } from './decisions.ts';
import { type Tree, treeOf } from './tree.ts';

/** Records by their numbers, each with the rest of its status line, and text. */
function recordsOf(statuses: Readonly<Record<string, string>>): Tree {
  return treeOf(
    Object.fromEntries(
      Object.entries(statuses).map(([number, status]) => [
        `docs/adr/${number}-a.md`,
        `# ${number}. A\n\nStatus: ${status}\n`,
      ]),
    ),
  );
}

describe('decisionNumbersAreUnique', () => {
  it('finds a number that two records have', () => {
    const two = { 'docs/adr/0001-a.md': '', 'docs/adr/0002-b.md': '' };
    expect(decisionNumbersAreUnique(treeOf(two))).toEqual([]);
    expect(decisionNumbersAreUnique(treeOf({ ...two, 'docs/adr/0002-c.md': '' }))).toHaveLength(1);
  });
});

describe('decisionsAgree', () => {
  it('passes what both records say', () => {
    const records = {
      '0001': 'accepted, amended by 0002, 0003 and 0004',
      '0002': 'accepted, amends 0001, amended by 0003',
      '0003': 'accepted, amends 0001 and 0002',
      '0004': 'accepted, amends 0001',
      '0005': 'superseded by 0006',
      '0006': 'proposed, supersedes 0005',
    };
    expect(decisionsAgree(recordsOf(records))).toEqual([]);
  });

  it.each([
    ['amends', { '0001': 'accepted', '0002': 'accepted, amends 0001' }, '0002-a.md: "amends 0001", of which 0001'],
    ['amended by', { '0001': 'accepted, amended by 0002', '0002': 'accepted' }, '0001-a.md: "amended by 0002", of'],
    ['superseded by', { '0001': 'superseded by 0002', '0002': 'accepted' }, '0001-a.md: "by 0002", of which 0002'],
    ['supersedes', { '0001': 'accepted', '0002': 'accepted, supersedes 0001' }, '0002-a.md: "supersedes 0001", of'],
  ])('finds what one record alone says: %s', (_what, records, fault) => {
    expect(decisionsAgree(recordsOf(records)).join('\n')).toContain(fault);
  });

  it('finds what is said of a record that does not exist, or of one in the wrong direction', () => {
    expect(decisionsAgree(recordsOf({ '0001': 'accepted, amended by 0007' }))).toEqual([
      'docs/adr/0001-a.md: "amended by 0007": there is no such record',
    ]);
    const backwards = { '0001': 'accepted, amends 0002', '0002': 'accepted, amended by 0001' };
    expect(decisionsAgree(recordsOf(backwards))).toHaveLength(2);
  });

  it.each([
    '',
    'done',
    'accepted.',
    'accepted amended by 2',
    'accepted, amended by 0003 and 0002',
    'accepted, amended by 0002, 0003',
    'accepted, amended by 0002 and 0003, amends 0000',
    'accepted, changed by 0002',
    'accepted by 0002',
    'superseded',
  ])('finds the form of "%s"', (status) => {
    const [fault] = decisionsAgree(recordsOf({ '0001': status }));
    expect(fault).toContain('docs/adr/0001-a.md: its status is');
  });

  it('finds what the text amends, and the status does not', () => {
    const text = '# 0002. B\n\nStatus: accepted\n\n## Decision\n\nThis amends 0001 and 0007 for replies.\n';
    const faults = decisionsAgree(treeOf({ 'docs/adr/0002-b.md': text }));
    expect(faults.map((fault) => fault.replace(/^.*its text/, 'its text'))).toEqual([
      'its text amends 0001, its status line does not',
      'its text amends 0007, its status line does not',
    ]);
  });
});
