/**
 * The command `npm run bench:compare`: compares this checkout with a commit, using builds.ts.
 *
 *   npm run bench:compare -- <ref> [options of builds.ts]
 *   npm run bench:compare -- main --loads 64x1 --rounds 9
 *   npm run bench:compare -- HEAD~20 --measure read
 *
 * It builds the commit in a temporary worktree. The worktree uses the packages of this checkout when both have the same
 * lock file, and installs its own otherwise. The contender `old` is the commit, `new` is this checkout with its
 * uncommitted changes, and ratios are old ÷ new.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { refuse } from '../scripts/support/command-line.ts';
import { commitLine } from './support/commit.ts';

const ROOT = resolve(import.meta.dirname, '..');
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

const [ref, ...options] = process.argv.slice(2);
if (ref === undefined || ref.startsWith('-')) {
  refuse('name what to compare with first, such as: npm run bench:compare -- main --loads 64x1');
}
const asked = spawnSync('git', ['-C', ROOT, 'rev-parse', '--verify', '--quiet', `${ref}^{commit}`], {
  encoding: 'utf8',
});
const commit =
  asked.status === 0 ? asked.stdout.trim() : refuse(`${JSON.stringify(ref)} is no commit of this repository`);

let child: ChildProcess | undefined;
let interruptedBy: NodeJS.Signals | undefined;
for (const signal of SIGNALS) {
  process.on(signal, () => {
    interruptedBy = signal;
    child?.kill(signal);
  });
}

const dir = mkdtempSync(join(tmpdir(), 'cairn-compare-'));
const worktree = join(dir, 'old');
try {
  process.exitCode = await compareIn(worktree);
} finally {
  spawnSync('git', ['-C', ROOT, 'worktree', 'remove', '--force', worktree], { stdio: 'ignore' });
  rmSync(dir, { recursive: true, force: true });
}
if (interruptedBy !== undefined) {
  process.removeAllListeners(interruptedBy);
  process.kill(process.pid, interruptedBy);
}

/** Returns the exit code of the first failed step, or 0. */
async function compareIn(old: string): Promise<number> {
  const made = await step(ROOT, 'git', ['worktree', 'add', '--quiet', '--detach', old, commit]);
  if (made !== 0) return made;
  if (lockOf(old) === lockOf(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(old, 'node_modules'));
  const built = await step(old, process.execPath, ['scripts/bootstrap.mjs', 'build']);
  if (built !== 0) return built;
  process.stdout.write(`old is commit ${commitLine(old)}\nnew is commit ${commitLine(ROOT)}\n\n`);
  const tool = ['--conditions=source', 'bench/builds.ts', ...options, `old=${old}`, `new=${ROOT}`];
  return step(ROOT, process.execPath, tool);
}

/** Runs a program with the output of this process. After an interruption it starts nothing. */
async function step(cwd: string, program: string, args: readonly string[]): Promise<number> {
  if (interruptedBy !== undefined) return 1;
  child = spawn(program, args, { cwd, stdio: 'inherit' });
  const [code]: unknown[] = await once(child, 'exit');
  return typeof code === 'number' ? code : 1;
}

function lockOf(root: string): string {
  return readFileSync(join(root, 'package-lock.json'), 'utf8');
}
