/**
 * npm run check: the contract of every commit. Runs the checks, each being an npm script of its own, two at a time and
 * the longest first, continues after a failure so that one run shows them all, and fails when any of them failed.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runSteps, type Step } from './support/steps.ts';

const CHECKS = ['lint', 'types', 'tidy', 'layers', 'unused', 'format:check', 'proto:fresh', 'proto:breaking'];
const JOBS = 2;

const root = resolve(import.meta.dirname, '..');
const ended = await runSteps(CHECKS.map(step), { root, jobs: JOBS });
const failed = ended.filter(({ status }) => status !== 0).map(({ name }) => name);
console.log(failed.length === 0 ? 'check: all passed' : `check: failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

// Runs the commands of package.json in a shell: npm would add its own start to each.
function step(name: string): Step {
  const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const command = scripts[name];
  if (command === undefined) throw new Error(`package.json has no script ${name}`);
  return { name, command };
}
