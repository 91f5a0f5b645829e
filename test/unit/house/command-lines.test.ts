// Goal: a tool that is called wrong says so in one line and ends with 2, before it starts anything. Method: real
// processes.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const CHAOS = 'chaos/main.ts';
const BENCH = 'bench/run.ts';
const COMPARE = 'bench/compare.ts';
const BUILDS = 'bench/builds.ts';
const SIMULATION = 'test/simulation/main.ts';
const MUTANTS = 'test/simulation/mutants/main.ts';
const SEARCH = 'scripts/search.ts';

it.each([
  { tool: CHAOS, args: ['--kills', 'abc'], says: '--kills takes a whole number from 1 on, not "abc"' },
  { tool: CHAOS, args: ['--kills', '0'], says: '--kills takes a whole number from 1 on, not "0"' },
  { tool: CHAOS, args: ['--kills=-3'], says: '--kills takes a whole number from 1 on, not "-3"' },
  { tool: CHAOS, args: ['--writers', '1.5'], says: '--writers takes a whole number from 1 on, not "1.5"' },
  { tool: CHAOS, args: ['--nodes', '2'], says: '--nodes takes a whole number from 3 on, not "2"' },
  { tool: CHAOS, args: ['--kills', '3', '--nodes', '3'], says: '--kills and --writers are for one node' },
  { tool: CHAOS, args: ['--kill', '3'], says: "Unknown option '--kill'" },
  {
    tool: BENCH,
    args: ['--only', 'scan,nosuch'],
    says: '--only "nosuch" is no workload; there are append-1, append-64,',
  },
  { tool: BENCH, args: ['--rounds', '0'], says: '--rounds takes a whole number from 1 on, not "0"' },
  { tool: BENCH, args: ['--seconds', 'x'], says: '--seconds takes a number from 0.1 on, not "x"' },
  { tool: BENCH, args: ['--suite', 'x'], says: '--suite "x" is none of default, standard, esbs, umadb, all' },
  { tool: BENCH, args: ['--suite', 'all', '--only', 'scan'], says: '--only and --suite do not go together' },
  { tool: COMPARE, args: [], says: 'name what to compare with first, such as: npm run bench:compare -- main' },
  { tool: COMPARE, args: ['no-such-ref'], says: '"no-such-ref" is no commit of this repository' },
  {
    tool: BUILDS,
    args: ['--measure', 'x', 'a=.'],
    says: '--measure "x" is none of append, cluster, read, start, memory',
  },
  { tool: BUILDS, args: ['--measure=read', '--loads=x', 'a=.'], says: '--loads "x" is none of selector-1,' },

  { tool: BUILDS, args: ['--rounds', '0', 'a=.'], says: '--rounds takes a whole number from 1 on, not "0"' },
  { tool: BUILDS, args: ['--measure=start'], says: 'there is nothing to compare' },
  { tool: BENCH, args: ['--events', ''], says: '--events takes a whole number from 1 on, not ""' },
  { tool: SIMULATION, args: ['--seeds', 'many'], says: '--seeds takes a whole number from 1 on, not "many"' },
  { tool: SIMULATION, args: ['--seed=-1'], says: '--seed takes a whole number from 0 on, not "-1"' },
  {
    tool: SIMULATION,
    args: ['--seed', '1', '--faults', '3,x'],
    says: '--faults takes a whole number from 0 on, not "x"',
  },
  { tool: SIMULATION, args: ['--seed', '1', '--seeds', '2'], says: '--seed and --seeds do not go together' },
  { tool: SIMULATION, args: ['--seed', '1', '--until-failure'], says: '--until-failure goes with --seeds' },
  { tool: SIMULATION, args: ['--operations', '5'], says: '--operations goes with --seed' },
  {
    tool: SIMULATION,
    args: ['--seed', '7', '--faults', '3,999999'],
    says: '--faults 999999 is no fault of the seed: it has 0 to ',
  },
  { tool: MUTANTS, args: ['--only', 'nosuch'], says: '--only "nosuch" is no mutant of test/simulation/mutants' },
  { tool: MUTANTS, args: ['--since', 'nosuch'], says: '--since "nosuch" is no mutant of test/simulation/mutants' },
  { tool: SEARCH, args: ['--voters', '0'], says: '--voters takes a whole number from 1 on, not "0"' },
  { tool: SEARCH, args: ['--states', '1e6'], says: '--states takes a whole number from 1 on, not "1e6"' },
  { tool: SEARCH, args: ['--change', '1,two'], says: '--change takes a whole number from 1 on, not "two"' },
  { tool: SEARCH, args: ['--change', '1,9'], says: '--change 9 is no member: --voters and --learners make 1 to 3' },
  {
    tool: SEARCH,
    args: ['--learners', '1', '--change', '1,4', '--change-learners', '5'],
    says: '--change-learners 5 is no member: --voters and --learners make 1 to 4',
  },
  { tool: SEARCH, args: ['--change-learners', '3'], says: '--change-learners goes with --change' },
])('$tool $args is refused', ({ tool, args, says }) => {
  const options = { encoding: 'utf8', cwd: ROOT } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=source', tool, ...args], options);
  const [line, ...rest] = stderr.split('\n').filter((text) => !text.includes('ExperimentalWarning'));
  expect({ status, stdout, rest }).toEqual({ status: 2, stdout: '', rest: [''] });
  expect(line?.startsWith(says)).toBe(true);
});

it.each([
  { tool: SIMULATION, says: /^Runs the simulation\.\n\n {2}npm run sim -- --seed 7 [^]*must be the same\.\n$/ },
  { tool: MUTANTS, says: /^Breaks a copy[^]*\n {2}npm run sim:mutants \[-- --only[^]*text is not found\.\n$/ },
  { tool: CHAOS, says: /^npm run chaos: real nodes[^]*\[--minutes 3\][^]*again and again\.\n$/ },
  { tool: SEARCH, says: /npm run search/ },
])('$tool --help prints what the tool says of itself, and nothing begins', ({ tool, says }) => {
  const args = ['--conditions=source', tool, '--seeds', '1', '--help'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: ROOT });
  expect({ status, stderr: stderr.replaceAll(/.*Warning.*\n/g, '') }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(says);
});

it('bench --help prints the options and the names of the workloads', () => {
  const args = ['--conditions=source', BENCH, '--help'];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: ROOT });
  expect(status).toBe(0);
  expect(stdout).toMatch(/^npm run bench -- \[--suite default\|standard\|esbs\|umadb\|all/);
  expect(stdout).toMatch(/^ {4}append-64$/m);
});
