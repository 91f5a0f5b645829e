/**
 * npm run check: the contract of every commit. Runs the checks one after the other, each being an npm script of its
 * own, goes on after a failure so that one run shows them all, and fails when any of them failed.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const CHECKS = [
  'format:check',
  'types',
  'lint',
  'layers',
  'unused',
  'proto:fresh',
  'proto:breaking',
  'tidy',
  'house',
] as const;

const root = resolve(import.meta.dirname, '..');
const scripts = readScripts();
const failed = CHECKS.filter((name) => !passes(name));
console.log(failed.length === 0 ? 'check: all passed' : `check: failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

// The commands of package.json by a shell instead of by npm, which would cost its own start each time.
function passes(name: (typeof CHECKS)[number]): boolean {
  const command = scripts.get(name);
  if (command === undefined) throw new Error(`package.json has no script ${name}`);
  const startedMs = performance.now();
  console.log(`── ${name}: ${command}`);
  const { status, signal } = spawnSync(command, { cwd: root, shell: true, stdio: ['ignore', 'inherit', 'inherit'] });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const outcome = status === 0 ? 'passed' : `FAILED (${signal ?? `exit code ${status}`})`;
  console.log(`── ${name}: ${outcome} in ${seconds} s\n`);
  return status === 0;
}

function readScripts(): ReadonlyMap<string, string> {
  const manifest: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  return new Map(Object.entries(manifest.scripts));
}
