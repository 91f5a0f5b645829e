// Goal: each forbidden line is found, and its harmless neighbour is not. Method: tables of lines.
import { describe, expect, it } from 'vitest';
import { type Rule, treeOf } from './tree.ts';
import {
  exceptionsHaveReasons,
  leftoversNameAnIssue,
  noBannedCalls,
  noPrivatePlaces,
  noTestIsLeftOut,
} from './words.ts';

interface Case {
  readonly rule: Rule;
  readonly path: string;
  readonly found: readonly string[];
  readonly passed: readonly string[];
}

const CASES: readonly Case[] = [
  {
    rule: leftoversNameAnIssue,
    path: 'src/raft/log.ts',
    found: ['// TODO: later', '// FIXME', '// TODO(me) later'],
    passed: ['// TODO(#12): later', "const todo = 'METODO';"],
  },
  {
    rule: noTestIsLeftOut,
    path: 'test/unit/raft/log.test.ts',
    found: [
      'it.only(',
      'describe.skip(',
      'test.todo(',
      'it.concurrent.skip(',
      'it.each.only(',
      'it.skipIf(ci)(',
      'xit(',
    ],
    passed: [
      "it('skips what is known', () => {",
      'transit(1)',
      'it.each(',
      'iterator.skip(1)',
      "it.skipIf(lacksTool('strace'))(",
      'describe.skipIf(lacksCompiler(CRATE))(',
    ],
  },
  {
    rule: exceptionsHaveReasons,
    path: 'src/raft/log.ts',
    found: [
      '// @ts-ignore',
      '// @ts-expect-error',
      '/* oxlint-disable */',
      '// oxlint-disable-next-line no-console',
      'a as B; // oxlint-disable-line no-console',
      '// biome-ignore format',
    ],
    passed: [
      '// @ts-expect-error the type is closed on purpose',
      '// oxlint-disable-next-line no-console -- the reader of this pipe is a person',
      '// biome-ignore format: a table',
    ],
  },
  {
    rule: noPrivatePlaces,
    path: 'docs/a.md',
    found: [
      'see /home/me/cairn',
      'cd /work/cairn',
      '`/root/x`',
      ['in ..', 'shared', 'spec'].join('/'),
      ['from registry', 'npmjs', 'org'].join('.'),
    ],
    passed: ['GET /api/work/x', './work/x', 'src/home/x', 'https://a.example/root/x', '~/work/x'],
  },
  {
    rule: noBannedCalls,
    path: 'src/cluster/a.ts',
    found: ['process.exit(1);', 'process.env.HOME', 'process.argv[2]'],
    passed: ['process.exitCode = 1;', 'process.pid'],
  },
  {
    rule: noBannedCalls,
    path: 'test/unit/cluster/a.test.ts',
    found: [
      "import { setTimeout } from 'node:timers/promises';",
      'new Promise((done) => setTimeout(done, 5))',
      'Math.random()',
    ],
    passed: ['process.env.UPDATE', 'clock.setTimeout(done, 5)'],
  },
  { rule: noBannedCalls, path: 'src/main/main.ts', found: [], passed: ['process.exit(2);', 'process.env'] },
];

describe.each(CASES)('$rule.name in $path', ({ rule, path, found, passed }) => {
  it.each(found)('finds %s', (line) => {
    expect(rule(treeOf({ [path]: `first\n  ${line}\n` }))).toEqual([expect.stringContaining(`${path}:2: `)]);
  });

  it.each(passed)('passes %s', (line) => {
    expect(rule(treeOf({ [path]: line }))).toEqual([]);
  });
});
