/**
 * The suites of tests, one after the other, and their sum: what each commit passes, or with --all everything there is.
 *
 *   node scripts/bootstrap.mjs run --conditions=source scripts/gate.ts [--all] [--seed 7]
 *
 * The seed determines the faults of chaos tests and the requests of the model. Its default follows from the commit:
 * each commit has another seed, and repeats it when it runs again. The product is built once, for all suites. A failed
 * suite does not end the run, which ends with the duration of each and the line "N passed, N failed".
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { setup } from '../test/support/build-product.ts';
import { tempDir } from '../test/support/temp-dir.ts';
import { readNumber, readOptions } from './support/command-line.ts';
import { runSteps, type Step } from './support/steps.ts';
import { type Suite, summary } from './support/summary.ts';

const SEEDS = 1_000_000;
const VITEST = 'npm test --';

const root = resolve(import.meta.dirname, '..');
const values = readOptions({ seed: undefined, all: undefined }, ['all']);
const seed = readNumber('seed', values.seed ?? String(commitSeed()), { min: 0, isWhole: true });

/** The suites that each commit passes, or smaller parts of them (CONTRIBUTING.md says which and why). */
const GATE: readonly Step[] = [
  { name: 'check', command: 'npm run check' },
  { name: 'test', command: VITEST },
  { name: 'chaos', command: `npm run chaos -- --minutes 1 --seed ${seed}` },
  { name: 'kills', command: `npm run chaos -- --kills 20 --seed ${seed}` },
];

const ALL: readonly Step[] = [
  { name: 'check', command: 'npm run check' },
  { name: 'test', command: `${VITEST} --mode all` },
  { name: 'one-node', command: `${VITEST} --mode one-node` },
  { name: 'model', command: `npm run test:model -- --requests 100000 --seed ${seed}` },
  { name: 'simulation', command: 'npm run sim -- --seeds 300' },
  { name: 'mutants', command: 'npm run sim:mutants -- --seeds 60' },
  { name: 'search', command: 'npm run search -- --change 1,2 --disks prompt --late 1 --states 60000000' },
  { name: 'chaos', command: `npm run chaos -- --minutes 10 --seed ${seed}` },
  { name: 'chaos-on-loopback', command: `npm run chaos -- --minutes 3 --seed ${seed} --world loopback` },
  { name: 'kills', command: `npm run chaos -- --kills 200 --seed ${seed}` },
];

using reports = tempDir();
const endProduct = setup();
process.on('exit', endProduct);
const steps = values.all === undefined ? GATE : ALL;
const ended = await runSteps(steps.map(reporting), { root, jobs: 1 });
const suites: readonly Suite[] = ended.map(({ name, status }) => ({ name, status, report: readReport(name) }));
const load = loadavg().map((average) => average.toFixed(1));
const took = ended.map(({ name, seconds }) => `${name} ${seconds.toFixed(0)} s`);
console.log(`── took ${took.join(', ')}; load average ${load.join(' ')}`);
const { lines, failed } = summary(suites, root);
for (const line of lines) console.log(line);
process.exitCode = failed === 0 ? 0 : 1;

/** Vitest writes a report of its tests where the environment says (vitest.config.ts). */
function reporting(step: Step): Step {
  return step.command.startsWith(VITEST) ? { ...step, env: { TEST_REPORT: reportPath(step.name) } } : step;
}

function reportPath(name: string): string {
  return join(reports.path, `${name}.json`);
}

function readReport(name: string): string | undefined {
  return existsSync(reportPath(name)) ? readFileSync(reportPath(name), 'utf8') : undefined;
}

function commitSeed(): number {
  const { stdout } = spawnSync('git', ['rev-parse', '--short=8', 'HEAD'], { cwd: root, encoding: 'utf8' });
  const commit = Number.parseInt(stdout.trim().slice(0, 8), 16);
  return Number.isNaN(commit) ? 1 : commit % SEEDS;
}
