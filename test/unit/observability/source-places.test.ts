// Goal: a stack trace of the product names the sources, and an invalid source map changes nothing. Method: a real
// bundle of two files in a temporary folder, built like the product; it prints the stack trace of an error.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';
import { inSources } from '../../../src/observability/source-places.ts';
import { testDir } from '../../support/test-scope.ts';

/** Returns the stack trace of an error in line 3 of `cause.ts` in a bundle, and the folder. */
async function traceOfBundle(before: (dir: string) => void = () => undefined): Promise<{ dir: string; stack: string }> {
  const dir = testDir();
  writeFileSync(join(dir, 'first.ts'), "interface Unused { a: 1 }\nexport const first: string = 'first';\n");
  writeFileSync(
    join(dir, 'cause.ts'),
    "type A = 1;\nexport function cause(a: A): Error {\n  return new Error('x' + a);\n}\n",
  );
  const entry =
    "import { first } from './first.ts';\nimport { cause } from './cause.ts';\nconsole.assert(first);\nconsole.log(cause(1).stack);\n";
  writeFileSync(join(dir, 'entry.ts'), entry);
  await using bundled = await rolldown({ cwd: dir, input: 'entry.ts', tsconfig: false });
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }');
  await bundled.write({ dir: join(dir, 'dist'), sourcemap: true, sourcemapExcludeSources: true });
  before(dir);
  // The bundle runs in another process, because the test runner would name the sources already.
  return { dir, stack: execFileSync(process.execPath, [join(dir, 'dist/entry.js')], { encoding: 'utf8' }) };
}

it('names the positions in the sources', async () => {
  const { dir, stack } = await traceOfBundle();
  expect(stack).toContain('/dist/entry.js:');
  const told = inSources(stack);
  expect(told).toContain(`at cause (${pathToFileURL(join(dir, 'cause.ts')).href}:3:10)`);
  expect(told).not.toContain('/dist/entry.js:');
});

it.each([
  'Error: a://b.js:1:2 is no place',
  '    at f (node:internal/modules/run_main:1:2)',
  '    at f (file:///a/node_modules/b/c.js:1:2)',
  '    at f (/a/node_modules/b/c.js:1:2)',
])('does not change the trace with %s', (line) => {
  expect(inSources(line)).toBe(line);
});
