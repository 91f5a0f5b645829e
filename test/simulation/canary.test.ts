// Checks that the simulation detects broken nodes: runs a few mutants with the first seeds, which pass in
// seeds.test.ts. `npm run sim:mutants` runs the whole catalogue.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

const MUTANTS_MS = 240_000;

/** Mutants with the check or invariant that must detect them within their first seeds. */
const CANARIES = {
  'constraints-not-decided': /^check 4:/,
  'vote-for-shorter-log': /I5/,
} as const;

async function run(script: string, ...options: readonly string[]): Promise<{ said: string; code: number | null }> {
  const child = spawn(process.execPath, ['--conditions=source', `test/simulation/${script}`, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { said: await text(child.stdout), code: await ended };
}

it(
  'a broken node is detected by the check of the broken guarantee',
  async () => {
    const names = Object.keys(CANARIES);
    const { said, code } = await run('mutants/main.ts', '--only', names.join(','), '--seeds', '3', '--jobs', '1');
    const found = new Map(
      [...said.matchAll(/^([\w-]+): killed after \d+ s, seed \d+: (.*)$/gm)].map(([, name, how]) => [name, how]),
    );
    for (const [name, check] of Object.entries(CANARIES))
      expect([name, found.get(name)]).toEqual([name, expect.stringMatching(check)]);
    const told = expect.stringContaining(`${names.length} of ${names.length} mutants killed, 0 survive`);
    expect([code, said]).toEqual([0, told]);
  },
  MUTANTS_MS,
);
