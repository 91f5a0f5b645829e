/**
 * Breaks a copy of the sources in every way of the catalogue, one at a time, and runs the simulation over each until it
 * notices. A mutant that survives is a hole in the simulation.
 *
 *   npm run sim:mutants [-- --only name,name] [--seeds 200]
 *
 * Prints a table; exits with 1 when a mutant survives, or its text is not found.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readNumber, readOptions, refuse } from '../../../scripts/support/command-line.ts';
import { MUTANTS, type Mutant } from './catalogue.ts';
import { CLUSTER_MUTANTS } from './cluster-catalogue.ts';

const SEEDS = 200;
const MINUTES_MAX = 15;

const ALL: readonly Mutant[] = [...MUTANTS, ...CLUSTER_MUTANTS];
const root = resolve(import.meta.dirname, '../../..');
const values = readOptions({ only: undefined, seeds: String(SEEDS) });
const seeds = String(readNumber('seeds', values.seeds, { min: 1, isWhole: true }));
const chosen = values.only?.split(',');
const stranger = chosen?.find((name) => ALL.every((mutant) => mutant.name !== name));
if (stranger !== undefined) refuse(`--only ${JSON.stringify(stranger)} is no mutant of test/simulation/mutants`);
const mutants = ALL.filter(({ name }) => chosen === undefined || chosen.includes(name));
const copy = mkdtempSync(join(tmpdir(), 'cairn-mutants-'));
try {
  for (const part of ['src', 'test', 'scripts', 'package.json', 'tsconfig.json']) {
    cpSync(join(root, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  process.stdout.write('| mutant | what it breaks | killed by |\n|---|---|---|\n');
  const survivors = mutants.filter((mutant) => !isKilled(mutant));
  process.stdout.write(`\n${mutants.length - survivors.length} of ${mutants.length} mutants killed\n`);
  process.exitCode = survivors.length === 0 ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true, force: true });
}

function isKilled(mutant: Mutant): boolean {
  const edits = [mutant, ...(mutant.and === undefined ? [] : [mutant.and])];
  const originals = edits.map(({ file, find, replace }) => {
    const path = join(copy, file);
    const text = readFileSync(path, 'utf8');
    return { path, text, parts: text.split(find), replace };
  });
  const missing = originals.find(({ parts }) => parts.length !== 2);
  if (missing !== undefined) {
    report(mutant, `**not applied: its text is found ${missing.parts.length - 1} times**`);
    return false;
  }
  for (const { path, parts, replace } of originals) writeFileSync(path, parts.join(replace));
  try {
    const first = mutant.first === undefined ? [] : ['--first', mutant.first.join(',')];
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [
        '--conditions=source',
        'test/simulation/main.ts',
        '--seeds',
        seeds,
        '--nodes',
        String(mutant.nodes ?? 1),
        ...(mutant.aimed === true ? ['--aimed'] : []),
        ...first,
        '--until-failure',
      ],
      { cwd: copy, encoding: 'utf8', timeout: MINUTES_MAX * 60_000, maxBuffer: 2 ** 26 },
    );
    const lines = `${stdout}${stderr}`.split('\n');
    const found = lines.find((line) => line.startsWith('seed ')) ?? lines.find((line) => line.includes('Error'));
    report(mutant, status === 0 ? `**survives ${seeds} seeds**` : (found ?? `exit code ${status}`).slice(0, 160));
    return status !== 0 && found !== undefined;
  } finally {
    for (const { path, text } of originals) writeFileSync(path, text);
  }
}

function report({ name, breaks, anchor }: Mutant, how: string): void {
  const what = anchor === undefined ? breaks : `${breaks} (${anchor})`;
  process.stdout.write(`| ${name} | ${what} | ${how.replaceAll('|', '\\|')} |\n`);
}
