// Goal: a tool that is called with wrong arguments reports it in one line and exits with 2, before it starts anything.
// Method: real processes, a few at a time.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function ended(tool: string, ...args: readonly string[]): Promise<Ended> {
  return new Promise((settle) => {
    execFile(process.execPath, ['--conditions=source', tool, ...args], { cwd: ROOT }, (error, stdout, stderr) =>
      settle({ code: Number(error?.code ?? 0), stdout, stderr: stderr.replaceAll(/.*Warning.*\n/g, '') }),
    );
  });
}

it.concurrent.each([
  ['chaos/main.ts --kills abc', '--kills takes a whole number from 1 on, not "abc"'],
  ['chaos/main.ts --kills 3 --nodes 3', '--kills and --writers are for one node'],
  ['bench/run.ts --only scan,nosuch', '--only "nosuch" is no workload; there are append-1, append-64,'],
  ['bench/compare.ts no-such-ref', '"no-such-ref" is no commit of this repository'],
  ['bench/builds.ts --measure=read --loads=x a=.', '--loads "x" is none of selector-1,'],
  ['test/simulation/main.ts --seed 7 --faults 3,999999', '--faults 999999 is no fault of the seed: it has 0 to '],
  ['test/simulation/mutants/main.ts --only nosuch', '--only "nosuch" is no mutant of test/simulation/mutants'],
  ['scripts/search.ts --change 1,9', '--change 9 is no member: --voters and --learners make 1 to 3'],
])('%s is refused', async (line, says) => {
  const [tool = '', ...args] = line.split(' ');
  const { code, stdout, stderr } = await ended(tool, ...args);
  const [said, ...rest] = stderr.split('\n');
  expect([code, stdout, rest, said?.slice(0, says.length)]).toEqual([2, '', [''], says]);
});

it('a tool with --help prints its description and starts nothing', async () => {
  const says =
    /^The command `npm run sim`: runs the simulation\.\n\n {2}npm run sim -- --seed 7 [^]*must be equal\.\n$/;
  const found = await ended('test/simulation/main.ts', '--seeds', '1', '--help');
  expect(found).toEqual({ code: 0, stdout: expect.stringMatching(says), stderr: '' });
});
