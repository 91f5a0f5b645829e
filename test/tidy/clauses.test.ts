// Goal: no clause of the specification loses its test unseen, and no test names a clause that is none.
// Method: pages and tests of a few lines.
import { describe, expect, it } from 'vitest';
import { clausesAreClosed } from './clauses.ts';
import { treeOf } from './tree.ts';

const HEAD = '| section | part | clauses |\n|---|---|---|\n';
const WHOLE = {
  'docs/spec/README.md': `${HEAD}| Rules | 6 | SPEC-HTTP-R6 |\n| | 7 | later |\n`,
  'docs/spec/http.md': '| clause | what it promises |\n|---|---|\n| SPEC-HTTP-R6 | It redirects. |\n',
  'test/spec/a.test.ts': "describe('SPEC-HTTP-R6: redirects', () => {",
};

describe('clausesAreClosed', () => {
  it('passes clauses that stand in the table, a page and a title', () => {
    expect(clausesAreClosed(treeOf(WHOLE))).toEqual([]);
  });

  it.each<readonly [string, Readonly<Record<string, string>>, string]>([
    [
      'a clause without a test',
      { 'test/spec/a.test.ts': '' },
      'docs/spec: no title of a test in test/spec names SPEC-HTTP-R6',
    ],
    [
      'a clause that only a comment names',
      { 'test/spec/a.test.ts': '// SPEC-HTTP-R6' },
      'docs/spec: no title of a test in test/spec names SPEC-HTTP-R6',
    ],
    [
      'a clause that only a test beside the real servers names',
      { 'test/spec/a.test.ts': '', 'test/unit/a.test.ts': "it('SPEC-HTTP-R6')" },
      'docs/spec: no title of a test in test/spec names SPEC-HTTP-R6',
    ],
    ['a test of no clause', { 'test/unit/b.test.ts': "it('SPEC-HTTP-R61')" }, 'docs/spec: a test names SPEC-HTTP-R61'],
    [
      'a clause that is defined twice',
      { 'docs/spec/grpc.md': '| SPEC-HTTP-R6 | Twice. |' },
      'docs/spec: SPEC-HTTP-R6 is defined twice',
    ],
    [
      'a clause that no part leads to',
      { 'docs/spec/README.md': `${HEAD}| Rules | 7 | later |\n` },
      'docs/spec/README.md: no part leads to SPEC-HTTP-R6',
    ],
    [
      'a clause of the table that no page defines',
      { 'docs/spec/README.md': `${HEAD}| Rules | 6 | SPEC-HTTP-R6, SPEC-HTTP-R5 |\n` },
      'docs/spec/README.md: no page says what SPEC-HTTP-R5 promises',
    ],
    [
      'a part that leads nowhere',
      { 'docs/spec/README.md': `${HEAD}| Rules | 6 | SPEC-HTTP-R6 |\n| | 7 | |\n` },
      'docs/spec/README.md: "7" has neither a clause nor "later"',
    ],
  ])('finds %s', (_what, changes, fault) => {
    expect(clausesAreClosed(treeOf({ ...WHOLE, ...changes }))).toContain(fault);
  });
});
