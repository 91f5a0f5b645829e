// Goal: each rule finds the faults that it forbids, and accepts similar harmless text. Method: a table of trees with a
// few lines each.
import { expect, it } from 'vitest';
import { adrRow } from '../../scripts/support/adr-index.ts';
import { withBlock } from '../../scripts/support/generated-block.ts';
import { withPlatforms } from '../../scripts/support/lock-platforms.ts';
import { clausesAreClosed } from './clauses.ts';
import {
  commentsAreNarrow,
  filesAreShort,
  lockFileIsWhole,
  testsFitAScreen,
  unitTestsMirrorLayers,
  versionsArePinned,
} from './files.ts';
import { invariantNumbersAreUnique, invariantsAreTested } from './invariants.ts';
import { layersHaveDoors, modulesHaveHeaders, noExportStar, threadsStayInTheirLayer } from './layers.ts';
import { errorCodesAreTested, errorPageIsComplete, metricPageIsComplete, metricsAreFed } from './lists.ts';
import {
  citedDecisionsExist,
  commandsExist,
  decisionNumbersAreUnique,
  generatedPageIsFresh,
  generatedPartIsFresh,
  linksLeadSomewhere,
  pagesHaveOneTitle,
  readmeIsShort,
} from './pages.ts';
import { type Rule, treeOf } from './tree.ts';
import {
  commentsArePlain,
  exceptionsHaveReasons,
  leftoversNameAnIssue,
  noBannedCalls,
  noDataIsEmptied,
  noPrivatePlaces,
  noTestIsLeftOut,
  testNamesArePlain,
} from './words.ts';

type Files = Readonly<Record<string, string>>;

interface Case {
  readonly rule: Rule;
  readonly passes: readonly Files[];
  /** Trees with a fault, and the beginning of its message. */
  readonly finds: readonly (readonly [Files, string])[];
}

/** A tree with one file and one line. */
const at =
  (path: string) =>
  (line: string): Files => ({ [path]: `${line}\n` });
const found =
  (path: string) =>
  (line: string): readonly [Files, string] => [{ [path]: `first\n  ${line}\n` }, `${path}:2: `];

const header = (lines: number): string => `/**\n${' * About.\n'.repeat(lines - 2)} */\nexport {};\n`;
const stated = (id: string): string => `/**\n *   ${id}  Always so.\n */\n`;
const testOf = (begin: string, end: string, lines: number): Files => ({
  'test/a.test.ts': `describe('it', () => {\n${begin}\n${'    work();\n'.repeat(lines - 2)}${end}\n});\n`,
});
const words = (columns: number): string => 'word '.repeat(columns / 5);
const link = (to: string): Files => ({ 'docs/a.md': `[x](${to})`, 'docs/adr/0001-a.md': '', 'README.md': '' });
const MANIFEST = '{\n  "scripts": {\n    "check": "x",\n    "proto:fresh": "y"\n  }\n}';

const BLOCKS = [
  ["  it('works', async () => {", '  });'],
  ["  it.each(CASES)('%s', (one) => {", '  });'],
  ['  it(', '  );'],
  ['  async function work(one: number): Promise<void> {', '  }'],
  ['  const work = (one: number): number => {', '  };'],
] as const;

const HEAD = '| section | part | clauses |\n|---|---|---|\n';
const CLAUSES: Files = {
  'docs/spec/README.md': `${HEAD}| Rules | 6 | SPEC-HTTP-R6 |\n| | 7 | later |\n`,
  'docs/spec/http.md': '| clause | what it promises |\n|---|---|\n| SPEC-HTTP-R6 | It redirects. |\n',
  'test/spec/a.test.ts': "describe('SPEC-HTTP-R6: redirects', () => {",
};
const UNNAMED = 'docs/spec: no title of a test in test/spec or test/model names SPEC-HTTP-R6';

const NATIVE = {
  '': {},
  'node_modules/tool': { version: '1.2.3', dev: true, optionalDependencies: { 'tool-linux-x64-musl': '1.2.3' } },
};
const lock = (packages: object): Files => ({ 'package-lock.json': JSON.stringify({ packages }) });

const PART = { page: 'docs/a.md', block: 'list', content: 'new' };
const BLOCK = '<!-- begin generated: list -->\nold\n<!-- end generated: list -->';

const CASES: readonly Case[] = [
  {
    rule: leftoversNameAnIssue,
    passes: ['// TODO(#12): later', "const todo = 'METODO';"].map(at('src/raft/log.ts')),
    finds: ['// TODO: later', '// FIXME', '// TODO(me) later'].map(found('src/raft/log.ts')),
  },
  {
    rule: commentsArePlain,
    passes: [
      ['// The next one goes onto the queue.', 'src/service/a.ts'],
      ['/** Number of bytes. */', 'src/main/a.ts'],
      ["const text = 'whoever asks';", 'src/auth/a.ts'],
      ['/** Of a frame. */', 'test/unit/a.test.ts'],
    ].map(([text = '', path = '']) => at(path)(text)),
    finds: ['/** Tells whoever asks. */', ' * Of its bytes.', '  // It goes on later.', '/** What is left. */'].map(
      found('src/cluster/core/a.ts'),
    ),
  },
  {
    rule: testNamesArePlain,
    passes: ["it('refuses a client that is not authenticated', () => {", "const who = 'nobody';"].map(
      at('test/unit/a.test.ts'),
    ),
    finds: [
      "it('warns whoever asks', () => {",
      "describe('a node that nobody asks', () => {",
      "it.each(ALL)('is made anew: %s', () => {",
    ].map(found('test/unit/a.test.ts')),
  },
  {
    rule: noDataIsEmptied,
    passes: ['start it with an empty directory', 'move the directory away'].map(at('docs/errors.md')),
    finds: ['stop it; empty the directory of the copy', 'Empty the data directory'].map(found('src/cluster/a.ts')),
  },
  {
    rule: noTestIsLeftOut,
    passes: ["it('skips what is known', () => {", 'iterator.skip(1)', "it.skipIf(lacksTool('strace'))("].map(
      at('test/unit/raft/log.test.ts'),
    ),
    finds: ['it.only(', 'describe.skip(', 'test.todo(', 'it.concurrent.skip(', 'it.skipIf(ci)(', 'xit('].map(
      found('test/unit/raft/log.test.ts'),
    ),
  },
  {
    rule: exceptionsHaveReasons,
    passes: [
      '// @ts-expect-error the type is closed on purpose',
      '// oxlint-disable-next-line no-console -- the reader of this pipe is a person',
      '// biome-ignore format: a table',
    ].map(at('src/raft/log.ts')),
    finds: [
      '// @ts-ignore',
      '// @ts-expect-error',
      '/* oxlint-disable */',
      '// oxlint-disable-next-line no-console',
      '// biome-ignore format',
    ].map(found('src/raft/log.ts')),
  },
  {
    rule: noPrivatePlaces,
    passes: ['GET /api/work/x', './work/x', 'src/home/x', 'https://a.example/root/x', '~/work/x'].map(at('docs/a.md')),
    finds: [
      'see /home/me/cairn',
      'cd /work/cairn',
      '`/root/x`',
      ['in ..', 'shared', 'spec'].join('/'),
      'holds (decisions 2.8; D2)',
      ['from registry', 'npmjs', 'org'].join('.'),
    ].map(found('docs/a.md')),
  },
  {
    rule: noBannedCalls,
    passes: [
      ...['process.exitCode = 1;', 'process.pid'].map(at('src/cluster/a.ts')),
      ...['process.exit(2);', 'process.env'].map(at('src/main/main.ts')),
      ...['process.env.UPDATE', 'clock.setTimeout(done, 5)'].map(at('test/unit/cluster/a.test.ts')),
      at('test/kubernetes/kubelet/a.ts')("from 'node:timers/promises'"),
    ],
    finds: [
      ...['process.exit(1);', 'process.env.HOME', 'process.argv[2]'].map(found('src/cluster/a.ts')),
      ...["from 'node:timers/promises'", 'new Promise((done) => setTimeout(done, 5))', 'Math.random()'].map(
        found('test/unit/cluster/a.test.ts'),
      ),
      found('test/kubernetes/a.test.ts')("from 'node:timers/promises'"),
    ],
  },
  {
    rule: filesAreShort,
    passes: [{ 'src/a/b.ts': 'x\n'.repeat(500) }, { 'operator/src/api/gen/a.ts': 'x\n'.repeat(900) }],
    finds: ['src/a/b.ts', 'scripts/b.mjs', 'test/b.test.ts', '.ci/run'].map((path) => [
      { [path]: 'x\n'.repeat(501) },
      `${path}: 501 lines`,
    ]),
  },
  {
    rule: testsFitAScreen,
    passes: BLOCKS.map(([begin, end]) => testOf(begin, end, 70)),
    finds: BLOCKS.map(([begin, end]) => [testOf(begin, end, 71), 'a test of 71 lines']),
  },
  {
    rule: commentsAreNarrow,
    passes: [
      `// ${words(115)}`,
      ` * \`\`\`\n * ${words(125)}\n * \`\`\``,
      ` * a ──> ${words(125)}`,
      ` *   npm run bench -- ${words(125)}`,
      `const text = '${words(125)}';`,
    ].map(at('src/a/b.ts')),
    finds: ['// ', ' * ', '/** '].map((begin) => [{ 'src/a/b.ts': `${begin}${words(125)}\n` }, 'src/a/b.ts:1: ']),
  },
  {
    rule: unitTestsMirrorLayers,
    passes: [
      { 'src/raft/a.ts': '', 'test/unit/raft/a.test.ts': '', 'test/unit/house/a.test.ts': '' },
      { 'operator/src/kube/a.ts': '', 'test/operator/kube/a.test.ts': '' },
    ],
    finds: [
      [{ 'src/raft/a.ts': '', 'test/unit/craft/a.test.ts': '' }, 'craft mirrors no layer of src'],
      [{ 'src/raft/a.ts': '', 'test/operator/raft/a.test.ts': '' }, 'raft mirrors no layer of operator/src'],
    ],
  },
  { rule: lockFileIsWhole, passes: [lock(withPlatforms(NATIVE))], finds: [[lock(NATIVE), 'tool-linux-x64-musl']] },
  {
    rule: versionsArePinned,
    passes: [at('package.json')('{"dependencies": {"a": "1.2.3"}, "devDependencies": {"c": "1.2.3-alpha.12"}}')],
    finds: ['^1.2.3', '^1.2.3-alpha.1', '1.2.3 - 2.0.0'].map((range) => [
      { 'package.json': `{"devDependencies": {"b": "${range}"}}` },
      `b ${range} is not pinned`,
    ]),
  },
  {
    rule: layersHaveDoors,
    passes: [
      { 'src/raft/index.ts': header(10), 'src/kv/index.ts': header(30), 'src/main/main.ts': header(12) },
      { 'operator/src/api/gen/a.ts': 'export {};' },
      { 'operator/src/main.ts': '', 'operator/src/kube/index.ts': header(10) },
    ],
    finds: [
      [{ 'src/raft/log.ts': header(12) }, 'src/raft/index.ts: the layer has no door'],
      [{ 'operator/src/kube/a.ts': header(12) }, 'operator/src/kube/index.ts: the layer has no door'],
      [{ 'src/raft/index.ts': header(9) }, '9 lines'],
      [{ 'src/raft/index.ts': header(31) }, '31 lines'],
    ],
  },
  {
    rule: modulesHaveHeaders,
    passes: [
      '/** B. */',
      '#!/usr/bin/env node\n/** C. */',
      "import { b } from './b.ts';\n\n/** Does a. */\nexport function a() {}",
    ].map(at('src/a/b.ts')),
    finds: ['export {};\n/** Late. */\n', '/* */\n/** A. */\nexport const a = 1;\nexport const b = 2;\n'].map(
      (text) => [{ 'src/a/b.ts': text }, 'src/a/b.ts'],
    ),
  },
  {
    rule: noExportStar,
    passes: [{ 'src/a/index.ts': "export { a } from './a.ts';" }],
    finds: ["export * from './a.ts';", "export * as a from './a.ts';", "export type * from './a.ts';"].map((line) => [
      { 'src/a/index.ts': line },
      'src/a/index.ts:1: ',
    ]),
  },
  {
    rule: threadsStayInTheirLayer,
    passes: [{ 'src/storage/a.ts': "new Worker(new URL('./log-worker.ts', import.meta.url));" }],
    finds: ["new Worker(new URL('../storage/log-worker.ts', import.meta.url));"].map(found('src/cluster/a.ts')),
  },
  {
    rule: invariantNumbersAreUnique,
    passes: [{ 'src/a.ts': stated('R1') + stated('R2'), 'src/b.ts': ' * R1 holds here too (R1).\n// R1 again\n' }],
    finds: [[{ 'src/a.ts': stated('R1'), 'src/b.ts': ' * R1: Never so.\n' }, 'R1: stated 2 times: src/a.ts, src/b.ts']],
  },
  {
    rule: invariantsAreTested,
    passes: [{ 'src/raft/a.ts': stated('R1'), 'test/unit/raft/a.test.ts': "it('never goes back (R1)')" }],
    finds: [
      [{ 'operator/src/a.ts': stated('KM1') }, 'operator/src/a.ts: no test cites invariant KM1'],
      [{ 'src/a.ts': stated('R1'), 'test/a.test.ts': "it('is R12, not AR1')" }, 'src/a.ts: no test cites invariant R1'],
      ...[' * R1. Text.', ' * - **R1** Text.', ' * - **R1:** Text.', '// R1  Text.', ' *   R1 Text.'].map(
        (line) => [{ 'src/a.ts': line }, 'no test cites invariant R1'] as const,
      ),
    ],
  },
  {
    rule: (tree) => errorPageIsComplete(tree, ['busy', 'internal']),
    passes: [{ 'docs/errors.md': '| `internal` | 500 |\n| `busy` | 503 |\n' }],
    finds: [
      [{}, 'docs/errors.md: missing'],
      ...['internal is missing', 'lost is not in the code', 'busy is listed twice'].map(
        (says) => [{ 'docs/errors.md': '| `busy` | 1 |\n| `lost` | 1 |\n| `busy` | 1 |\n' }, says] as const,
      ),
    ],
  },
  {
    rule: (tree) => errorCodesAreTested(tree, ['busy']),
    passes: [{ 'test/a.test.ts': "expect(code).toBe('busy')" }],
    finds: [[{ 'test/a.test.ts': '// busy' }, 'busy: no test names it']],
  },
  {
    rule: (tree) => metricPageIsComplete(tree, ['cairn_a_total']),
    passes: [{ 'docs/metrics.md': '| metric | labels |\n|---|---|\n| `cairn_a_total` | kind |\n' }],
    finds: [
      [{}, 'docs/metrics.md: missing'],
      [{ 'docs/metrics.md': '| `grpc_b_total` |\n' }, 'cairn_a_total is missing'],
      [{ 'docs/metrics.md': '| `grpc_b_total` |\n' }, 'grpc_b_total is not in the code'],
    ],
  },
  {
    rule: (tree) => metricsAreFed(tree, ['cairn_a_total']),
    passes: [{ 'src/main/main.ts': '', 'src/cluster/a.ts': "metrics.count('cairn_a_total')" }],
    finds: [
      [{ 'src/main/main.ts': '', 'src/observability/a.ts': "'cairn_a_total'" }, 'cairn_a_total: nothing feeds it'],
    ],
  },
  {
    rule: (tree) => generatedPartIsFresh(tree, PART),
    passes: [{ 'docs/a.md': withBlock(`# A\n${BLOCK}\nend\n`, 'list', 'new') }],
    finds: [
      [{}, 'docs/a.md: missing'],
      [{ 'docs/a.md': `# A\n${BLOCK}` }, 'is stale'],
      [{ 'docs/a.md': '# A\n' }, 'it needs one generated block'],
      [{ 'docs/a.md': `${BLOCK}\n${BLOCK}` }, 'it needs one generated block'],
    ],
  },
  {
    rule: (tree) => generatedPageIsFresh(tree, { path: 'docs/a.md', content: '# A\n' }),
    passes: [{ 'docs/a.md': '# A\n' }],
    finds: [
      [{ 'docs/a.md': '# A \n' }, 'stale'],
      [{}, 'stale'],
    ],
  },
  {
    rule: linksLeadSomewhere,
    passes: [
      ...['adr/0001-a.md', 'adr', 'adr/', '../README.md#top', '#here', 'https://a.example/b'].map(link),
      { 'a.md': '`[a](b)`\n```\n[a](b)\n```\n' },
    ],
    finds: ['adr/0002-b.md', 'README.md', '../docs/b.md'].map((to) => [
      link(`${to}#top`),
      `the link ${to} leads nowhere`,
    ]),
  },
  {
    rule: commandsExist,
    passes: [{ 'package.json': MANIFEST, 'a.md': '`npm run -s proto:fresh`, `npm test`, npm run check. npm sorts' }],
    finds: [
      [{ 'package.json': MANIFEST, 'a.md': 'Run `npm run chek`' }, 'no script "npm run chek"'],
      [{ 'package.json': MANIFEST, 'a.md': 'npm strat' }, '"npm strat"'],
    ],
  },
  {
    rule: pagesHaveOneTitle,
    passes: [{ 'docs/a.md': '# A\n```sh\n# note\n```\n' }],
    finds: ['text\n# A\n', '# A\n# B\n', ''].map((text) => [{ 'docs/a.md': text }, 'docs/a.md']),
  },
  {
    rule: readmeIsShort,
    passes: [{ 'README.md': 'x\n'.repeat(150) }],
    finds: [[{ 'README.md': 'x\n'.repeat(151) }, '151 lines']],
  },
  {
    rule: decisionNumbersAreUnique,
    passes: [{ 'docs/adr/0001-a.md': '', 'docs/adr/0002-b.md': '' }],
    finds: [[{ 'docs/adr/0002-b.md': '', 'docs/adr/0002-c.md': '' }, '0002: ']],
  },
  {
    rule: citedDecisionsExist,
    passes: [
      { 'docs/adr/0001-a.md': '', 'src/a.ts': '// ADR 0001; 0002 is a number', 'test/tidy/a.ts': '// ADR 0002' },
      { 'docs/adr/0001-a.md': '', 'docs/adr/0003-b.md': 'see ADR 0001', 'docs/a.md': 'ADR 0001, 0003 and ADR 0001' },
    ],
    finds: ['// ADR 0002', ' * (ADR\n * 0002)', 'ADR 0001, 0002', '[ADR 0002](x)'].map((text) => [
      { 'docs/adr/0001-a.md': '', 'src/a.ts': text },
      'src/a.ts: ADR 0002',
    ]),
  },
  {
    rule: clausesAreClosed,
    passes: [
      CLAUSES,
      ...["it('SPEC-HTTP-R6: redirects')", 'it.each([1])(\n  "SPEC-HTTP-R6: %i",\n)', 'describe(`SPEC-HTTP-R6`)'].map(
        (test) => ({ ...CLAUSES, 'test/spec/a.test.ts': test }),
      ),
    ],
    finds: [
      ...['// SPEC-HTTP-R6', "it('redirects', () => { ask('SPEC-HTTP-R6') })", "it.skip('SPEC-HTTP-R6')"].map(
        (test) => [{ ...CLAUSES, 'test/spec/a.test.ts': test }, UNNAMED] as const,
      ),
      [{ ...CLAUSES, 'test/spec/a.test.ts': '', 'test/unit/a.test.ts': "it('SPEC-HTTP-R6')" }, UNNAMED],
      [{ ...CLAUSES, 'test/unit/b.test.ts': "it('SPEC-HTTP-R61')" }, 'docs/spec: a test names SPEC-HTTP-R61'],
      [{ ...CLAUSES, 'docs/spec/grpc.md': '| SPEC-HTTP-R6 | Twice. |' }, 'SPEC-HTTP-R6 is defined twice'],
      [{ ...CLAUSES, 'docs/spec/README.md': `${HEAD}| Rules | 7 | later |\n` }, 'no part leads to SPEC-HTTP-R6'],
      [{ ...CLAUSES, 'docs/spec/README.md': `${HEAD}| Rules | 6 | SPEC-HTTP-R5 |\n` }, 'what SPEC-HTTP-R5 promises'],
      [{ ...CLAUSES, 'docs/spec/README.md': `${HEAD}| | 7 | |\n` }, '"7" has neither a clause nor "later"'],
    ],
  },
];

it.each(CASES)('the rule $rule.name finds its faults, and accepts similar harmless text', ({ rule, passes, finds }) => {
  for (const files of passes) expect(rule(treeOf(files))).toEqual([]);
  for (const [files, says] of finds) expect(rule(treeOf(files))).toContainEqual(expect.stringContaining(says));
});

it('npm run lock adds the missing platforms to the lock file, and guesses none', () => {
  const added = { version: '1.2.3', cpu: ['x64'], dev: true, libc: ['musl'], optional: true, os: ['linux'] };
  expect(withPlatforms(NATIVE)['node_modules/tool-linux-x64-musl']).toEqual(added);
  const nested = {
    'node_modules/a/node_modules/tool': { optionalDependencies: { 'x-win32-x64': '1.0.0' } },
    'node_modules/a/node_modules/x-win32-x64': { version: '1.0.0' },
  };
  expect(withPlatforms(nested)).toEqual(nested);
  expect(() => withPlatforms({ 'node_modules/a': { optionalDependencies: { b: '1.0.0' } } })).toThrow('b@1.0.0');
});

it('npm run docs writes generated blocks, and needs a title, a status and a topic in each decision record', () => {
  expect(withBlock(`a\n${BLOCK}\nz`, 'list', 'new')).toBe(`a\n${BLOCK.replace('old', 'new')}\nz`);
  expect(() => withBlock('a', 'list', 'new')).toThrow('begin generated: list');
  expect(adrRow('0002-b.md', '# 0002. B\n\nStatus: accepted. Topic: raft. Replaces 0001, 0003.\n')).toEqual({
    topic: 'raft',
    text: '| 0002 | [B](0002-b.md) | 0001, 0003 |',
  });
  expect(() => adrRow('0002-b.md', '# 0003. B\n\nStatus: accepted. Topic: raft.\n')).toThrow('# 0002. Title');
  expect(() => adrRow('0002-b.md', '# 0002. B\n\nStatus: accepted\n')).toThrow('Status: accepted. Topic: T.');
  expect(() => adrRow('0002-b.md', '# 0002. B\n\nStatus: accepted. Topic: tea.\n')).toThrow('build, data');
});
