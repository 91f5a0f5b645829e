// The command `npm run sim:mutants`: breaks a copy of the sources in every way of the catalogues, one at a time, and
// runs the simulation on each until it detects the defect. A surviving mutant is a gap in the simulation.
//
//   npm run sim:mutants [-- --only name,name | --since name] [--seeds 100] [--jobs 2]
//
// It prints the result of each mutant as soon as it is known, and finally a table of all in the order of the catalogue,
// with the equivalents. It exits with 1 when a mutant survives, or when its text is not found.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readNumber, readOptions, refuse } from '../../../scripts/support/command-line.ts';
import { MODES } from '../modes.ts';
import { ALL_MUTANTS } from './all.ts';
import { EQUIVALENTS } from './equivalents.ts';
import type { Mutant } from './mutant.ts';

interface Verdict {
  readonly mutant: Mutant;
  readonly isKilled: boolean;
  readonly how: string;
  readonly seconds: number;
}

const MINUTES_MAX = 10;
const SHOWN_MAX = 160;
const LINE = /^seed (\d+) \((\d+) nodes?\): (.*)$/;

const root = resolve(import.meta.dirname, '../../..');
const values = readOptions({ only: undefined, since: undefined, seeds: '100', jobs: '2' });
const seeds = String(readNumber('seeds', values.seeds, { min: 1, isWhole: true }));
const jobs = readNumber('jobs', values.jobs, { min: 1, isWhole: true });
const startedMs = performance.now();
const waiting = [...chosen()];
const verdicts: Verdict[] = [];
await Promise.all(Array.from({ length: Math.min(jobs, waiting.length) }, () => work()));
report();

/** The mutants that the command line selects, in the order of the catalogue. */
function chosen(): readonly Mutant[] {
  const only = values.only?.split(',');
  refuseStrangers('only', only ?? []);
  refuseStrangers('since', values.since === undefined ? [] : [values.since]);
  const since = ALL_MUTANTS.findIndex(({ name }) => name === values.since);
  return ALL_MUTANTS.slice(Math.max(0, since)).filter(({ name }) => only === undefined || only.includes(name));
}

function refuseStrangers(option: string, names: readonly string[]): void {
  const stranger = names.find((name) => ALL_MUTANTS.every((mutant) => mutant.name !== name));
  if (stranger === undefined) return;
  refuse(`--${option} ${JSON.stringify(stranger)} is no mutant of test/simulation/mutants`);
}

/** Processes one mutant after the other, in a separate copy. */
async function work(): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), 'cairn-mutants-'));
  try {
    for (const part of ['src', 'proto', 'test', 'scripts', 'package.json', 'tsconfig.json']) {
      cpSync(join(root, part), join(copy, part), { recursive: true });
    }
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const verdict = await judge(mutant, copy);
      verdicts.push(verdict);
      const { isKilled, how, seconds } = verdict;
      say(`${mutant.name}: ${isKilled ? 'killed' : 'SURVIVES'} after ${seconds.toFixed(0)} s, ${how}`);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function judge(mutant: Mutant, copy: string): Promise<Verdict> {
  const originals = new Map<string, string>();
  const broken = new Map<string, string>();
  for (const { file, find, replace } of [mutant, ...(mutant.and ?? [])]) {
    const path = join(copy, file);
    const text = broken.get(path) ?? readFileSync(path, 'utf8');
    if (!broken.has(path)) originals.set(path, text);
    const parts = text.split(find);
    if (parts.length !== 2) {
      return { mutant, isKilled: false, how: `not applied: a text is found ${parts.length - 1} times`, seconds: 0 };
    }
    broken.set(path, parts.join(replace));
  }
  for (const [path, text] of broken) writeFileSync(path, text);
  try {
    return await simulate(mutant, copy);
  } finally {
    for (const [path, text] of originals) writeFileSync(path, text);
  }
}

async function simulate(mutant: Mutant, copy: string): Promise<Verdict> {
  const beganMs = performance.now();
  const { nodes = 1, first, ...modes } = mutant.run ?? {};
  const { status, lines } = await run(copy, [
    '--seeds',
    seeds,
    '--nodes',
    String(nodes),
    '--until-failure',
    ...MODES.flatMap((mode) => (modes[mode] === true ? [`--${mode}`] : [])),
    ...(first === undefined ? [] : ['--first', first.join(',')]),
  ]);
  const seconds = (performance.now() - beganMs) / 1000;
  if (status === 0) return { mutant, isKilled: false, how: `survives ${seeds} seeds`, seconds };
  const [, seed, , found] = lines.map((line) => LINE.exec(line)).find((match) => match !== null) ?? [];
  // An error that ends the simulation counts as detection, but a syntax error does not.
  const failure = lines.find((line) => line.includes('Error') && !line.startsWith('SyntaxError'));
  const how = seed === undefined ? failure : `seed ${seed}: ${found}`;
  // A missing name or module is a mistake in the catalogue or the copy.
  if (how !== undefined && /ReferenceError|ERR_MODULE_NOT_FOUND/.test(how))
    return { mutant, isKilled: false, how: `not applied: ${how}`, seconds };
  if (how === undefined) return { mutant, isKilled: false, how: `no verdict, exit code ${status}`, seconds };
  return { mutant, isKilled: true, how: how.slice(0, SHOWN_MAX), seconds };
}

async function run(
  copy: string,
  options: readonly string[],
): Promise<{ readonly status: number | string; readonly lines: readonly string[] }> {
  return new Promise((settle, reject) => {
    const parameters = ['--conditions=source', 'test/simulation/main.ts', ...options];
    // Unchanged files are compiled only once.
    const env = { ...process.env, NODE_COMPILE_CACHE: join(copy, 'compiled') };
    const child = spawn(process.execPath, parameters, { cwd: copy, env, timeout: MINUTES_MAX * 60_000 });
    let text = '';
    const hear = (part: Buffer): void => void (text += part.toString());
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('error', reject);
    child.on('close', (code, signal) => settle({ status: code ?? signal ?? 'none', lines: text.split('\n') }));
  });
}

function report(): void {
  const ordered = ALL_MUTANTS.flatMap(({ name }) => verdicts.filter(({ mutant }) => mutant.name === name));
  const survivors = ordered.filter(({ isKilled }) => !isKilled);
  say('\n| mutant | what it breaks | verdict | s |\n|---|---|---|---|');
  for (const { mutant, isKilled, how, seconds } of ordered) {
    const { name, breaks, anchor } = mutant;
    const what = anchor === undefined ? breaks : `${breaks} (${anchor})`;
    const verdict = isKilled ? `killed: ${how}` : `**survives**: ${how}`;
    say(`| \`${name}\` | ${cell(what)} | ${cell(verdict)} | ${seconds.toFixed(0)} |`);
  }
  for (const { name, breaks, why } of EQUIVALENTS) say(`| ${name} | ${cell(breaks)} | equivalent: ${cell(why)} | |`);
  const minutes = (performance.now() - startedMs) / 60_000;
  say(
    `\n${ordered.length - survivors.length} of ${ordered.length} mutants killed, ${survivors.length} survive, ${EQUIVALENTS.length} equivalent; ${minutes.toFixed(1)} minutes`,
  );
  process.exitCode = survivors.length === 0 ? 0 : 1;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
