// Goal: a tool that is called wrong says so in one line and ends with 2, before it starts anything. Method: real processes.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const CHAOS = 'chaos/kill-nine.ts';
const BENCH = 'bench/run.ts';
const BUILDS = 'bench/builds.ts';

it.each([
  { tool: CHAOS, args: ['--kills', 'abc'], says: '--kills takes a whole number from 1 on, not "abc"' },
  { tool: CHAOS, args: ['--kills', '0'], says: '--kills takes a whole number from 1 on, not "0"' },
  { tool: CHAOS, args: ['--kills=-3'], says: '--kills takes a whole number from 1 on, not "-3"' },
  { tool: CHAOS, args: ['--writers', '1.5'], says: '--writers takes a whole number from 1 on, not "1.5"' },
  { tool: CHAOS, args: ['--kill', '3'], says: "Unknown option '--kill'" },
  {
    tool: BENCH,
    args: ['--only', 'scan,nosuch'],
    says: '--only "nosuch" is no workload; there are append-1, append-64,',
  },
  { tool: BENCH, args: ['--rounds', '0'], says: '--rounds takes a whole number from 1 on, not "0"' },
  { tool: BENCH, args: ['--seconds', 'x'], says: '--seconds takes a number from 0.1 on, not "x"' },
  { tool: BUILDS, args: ['--measure', 'x', 'a=.'], says: '--measure "x" is none of append, start' },
  { tool: BUILDS, args: ['--rounds', '0', 'a=.'], says: '--rounds takes a whole number from 1 on, not "0"' },
  { tool: BUILDS, args: ['--measure=start'], says: 'there is nothing to compare' },
  { tool: BENCH, args: ['--events', ''], says: '--events takes a whole number from 1 on, not ""' },
])('$tool $args is refused', { timeout: 60_000 }, ({ tool, args, says }) => {
  const options = { encoding: 'utf8', cwd: ROOT } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=source', tool, ...args], options);
  const [line, ...rest] = stderr.split('\n').filter((text) => !text.includes('ExperimentalWarning'));
  expect({ status, stdout, rest }).toEqual({ status: 2, stdout: '', rest: [''] });
  expect(line?.startsWith(says)).toBe(true);
});
