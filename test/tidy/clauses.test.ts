// Goal: no clause of the specification loses its test unseen, and no test names a clause that is none.
// Method: pages and tests of a few lines.
import { describe, expect, it } from 'vitest';
import { clausesAreClosed, filesOfOneNodeAreTold } from './clauses.ts';
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

  it.each(["it('SPEC-HTTP-R6: redirects')", 'it.each([1])(\n  "SPEC-HTTP-R6: %i",\n)', 'describe(`SPEC-HTTP-R6`)'])(
    'takes %s for a title',
    (test) => {
      expect(clausesAreClosed(treeOf({ ...WHOLE, 'test/spec/a.test.ts': test }))).toEqual([]);
    },
  );

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
      'a clause that only a string in a test names',
      { 'test/spec/a.test.ts': "it('redirects', () => { ask('SPEC-HTTP-R6') })" },
      'docs/spec: no title of a test in test/spec names SPEC-HTTP-R6',
    ],
    [
      'a clause whose test is skipped',
      { 'test/spec/a.test.ts': "it.skip('SPEC-HTTP-R6: redirects')" },
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

describe('filesOfOneNodeAreTold', () => {
  const TOLD = {
    'vitest.config.ts': "const OF_ONE_NODE: readonly string[] = [\n  // Why.\n  'tls',\n];\n",
    'docs/spec/README.md': '| file | why |\n|---|---|\n| `tls` | It has its own nodes: SPEC-TLS-CLI. |\n',
    'test/spec/tls.test.ts': "it('SPEC-TLS-CLI') it('SPEC-HTTP-R6')",
    'test/spec/a.test.ts': "it('SPEC-HTTP-R6')",
  };

  it('passes files that have a row with the clauses that they alone show', () => {
    expect(filesOfOneNodeAreTold(treeOf(TOLD))).toEqual([]);
  });

  it.each<readonly [string, Readonly<Record<string, string>>, string]>([
    [
      'a file without a row',
      { 'docs/spec/README.md': '' },
      'docs/spec/README.md: tls does not run on clusters, and no row says why',
    ],
    [
      'a row of a file that runs on clusters',
      { 'docs/spec/README.md': `${TOLD['docs/spec/README.md']}| \`a\` | Why. |\n` },
      'docs/spec/README.md: a runs on clusters (vitest.config.ts)',
    ],
    [
      'a clause that nothing else shows',
      { 'test/spec/a.test.ts': '' },
      'docs/spec/README.md: tls alone shows SPEC-HTTP-R6, and not on clusters',
    ],
    [
      'a clause that another file shows',
      { 'test/spec/a.test.ts': "it('SPEC-HTTP-R6') it('SPEC-TLS-CLI')" },
      'docs/spec/README.md: SPEC-TLS-CLI is not shown by tls alone',
    ],
  ])('finds %s', (_what, changed, fault) => {
    expect(filesOfOneNodeAreTold(treeOf({ ...TOLD, ...changed }))).toEqual([fault]);
  });

  it('finds a file that there is not', () => {
    const { 'test/spec/tls.test.ts': _gone, ...rest } = TOLD;
    expect(filesOfOneNodeAreTold(treeOf(rest))).toContain('vitest.config.ts: there is no test/spec/tls.test.ts');
  });
});
