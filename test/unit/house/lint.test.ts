// Goal: the linter and the pure compiler settings reject code that docs/style.md forbids, so that a lost setting is
// found here. Method: a tree with one violation of each rule, and the real configuration.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tempDir } from '../../support/temp-dir.ts';

const root = resolve(import.meta.dirname, '../../..');
const HEADER = "declare function work(): Promise<void>;\ndeclare const u: { kind: 'a' } | { kind: 'b' };\n";
const long = (lines: number): string => '// One more line.\n'.repeat(lines);
const LONG_FUNCTION = `export function f(): void {\n${'  void 0;\n'.repeat(70)}}`;

const LINT_VIOLATIONS = [
  ['src/raft/clock.ts', 'export const now: number = Date.now();', 'no-restricted-globals'],
  ['src/query/random.ts', 'export const r: number = Math.random();', 'no-restricted-properties'],
  ['src/cluster/BadName.ts', 'export const x = 1;', 'filename-case'],
  ['src/cluster/long-file.ts', long(501), 'max-lines'],
  ['src/cluster/long-function.ts', LONG_FUNCTION, 'max-lines-per-function'],
  [
    'src/cluster/params.ts',
    'export const f = (a: 1, b: 1, c: 1, d: 1, e: 1): unknown => [a, b, c, d, e];',
    'max-params',
  ],
  ['src/cluster/floating.ts', `${HEADER}export function f(): void { work(); }`, 'no-floating-promises'],
  [
    'src/cluster/misused.ts',
    `${HEADER}export function f(): void { [1].forEach(async () => { await work(); }); }`,
    'no-misused-promises',
  ],
  [
    'src/cluster/switch.ts',
    `${HEADER}switch (u.kind) { case 'a': work().catch(String); }`,
    'switch-exhaustiveness-check',
  ],
  ['src/cluster/any.ts', 'export const x: any = 1;', 'no-explicit-any'],
  ['src/cluster/unsafe.ts', "export const x: { a: 1 } = JSON.parse('1');", 'no-unsafe-assignment'],
  ['src/cluster/as.ts', 'declare const x: unknown; export const y = x as string;', 'no-unsafe-type-assertion'],
  ['src/cluster/bang.ts', 'declare const x: 1 | undefined; export const y = x!;', 'no-non-null-assertion'],
  ['src/cluster/console.ts', "console.log('x');", 'no-console'],
  ['src/cluster/default.ts', 'export default 1;', 'no-default-export'],
  [
    'src/cluster/else.ts',
    'export function f(x: number): number { if (x > 1) { return 1; } else { return 2; } }',
    'no-else-return',
  ],
  ['test/a.test.ts', long(501), 'max-lines'],
  ['bench/a.ts', long(501), 'max-lines'],
  ['chaos/a.ts', long(501), 'max-lines'],
  ['test/support/a.ts', LONG_FUNCTION, 'max-lines-per-function'],
  ['bench/b.ts', LONG_FUNCTION, 'max-lines-per-function'],
  ['chaos/b.ts', LONG_FUNCTION, 'max-lines-per-function'],
] as const;

const ALLOWED = {
  'src/cluster/clock.ts': 'export const now: number = Date.now();',
  'src/cluster/just-right.ts': `${long(499)}export const x = 1;`,
  'test/b.test.ts': `export function f(): void {\n${'  void 0;\n'.repeat(400)}}`,
  'proto/gen/BadName.ts': 'export const x: any = 1;',
};

const AMBIENT =
  'process Buffer console setTimeout queueMicrotask performance crypto URL AbortController structuredClone'.split(' ');

const tree = tempDir();
let found: readonly string[] = [];

beforeAll(() => {
  for (const name of ['.oxlintrc.json', 'tsconfig.json', 'tsconfig.pure.json'])
    cpSync(join(root, name), join(tree.path, name));
  write('package.json', '{ "type": "module" }');
  symlinkSync(join(root, 'node_modules'), join(tree.path, 'node_modules'));
  for (const [path, text] of [...Object.entries(ALLOWED), ...LINT_VIOLATIONS]) write(path, text);
  const { stdout } = tool('oxlint', ['--type-aware', '--format=json', '.']);
  const { diagnostics }: { diagnostics: readonly { code: string; filename: string }[] } = JSON.parse(stdout);
  found = diagnostics.map(({ code, filename }) => `${filename} ${/\((.+)\)/.exec(code)?.[1] ?? code}`);
});

afterAll(() => tree[Symbol.dispose]());

it('the linter finds each violation, and nothing in allowed code', () => {
  expect(found).toEqual(expect.arrayContaining(LINT_VIOLATIONS.map(([path, , rule]) => `${path} ${rule}`)));
  expect(found.filter((fault) => Object.keys(ALLOWED).some((path) => fault.startsWith(`${path} `)))).toEqual([]);
});

it('the pure compiler settings have the types of neither Node nor the browser', () => {
  const uses = AMBIENT.map((name) => `export const use_${name}: unknown = ${name};`);
  write(
    'src/kv/ambient.ts',
    [...uses, "import 'node:fs';", 'export const fine: Promise<1> = Promise.resolve(1);'].join('\n'),
  );
  const { stdout } = tool('tsc', ['-p', 'tsconfig.pure.json', '--pretty', 'false']);
  const lines = stdout.split('\n').filter((line) => line.startsWith('src/kv/ambient.ts'));
  const missing = /Cannot find (?:name|module|module or type declarations for side-effect import of) '([^']+)'/;
  const named = lines.flatMap((line) => missing.exec(line)?.[1] ?? []);
  expect(named.toSorted()).toEqual([...AMBIENT, 'node:fs'].toSorted());
  expect(lines).toHaveLength(AMBIENT.length + 1);
});

function tool(name: string, args: readonly string[]): { stdout: string } {
  return spawnSync(join(root, 'node_modules/.bin', name), args, { cwd: tree.path, encoding: 'utf8' });
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(tree.path, path)), { recursive: true });
  writeFileSync(join(tree.path, path), text);
}
