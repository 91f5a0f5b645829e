/**
 * npm run proto:breaking: fails when the proto files break clients of what was landed last, by the rules of buf.yaml.
 *
 * Landed is where the branch `main` is; on main itself, the commit before the last. Where there is no such commit (no
 * git, a clone of one commit) nothing is compared, and that is said. Nothing is fetched.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const landed = landedCommit();
if (landed === undefined) console.log('proto files not compared: there is no landed commit to compare with');
else compareWith(landed);

function landedCommit(): string | undefined {
  const head = git('rev-parse', 'HEAD');
  const main = ['main', 'origin/main'].map((branch) => git('merge-base', 'HEAD', branch)).find(Boolean);
  return main === undefined || main === head ? git('rev-parse', '--verify', 'HEAD~1') : main;
}

function compareWith(commit: string): void {
  const scratch = mkdtempSync(join(tmpdir(), 'cairn-landed-'));
  try {
    for (const path of (git('ls-tree', '-r', '--name-only', commit, 'proto', 'buf.yaml') ?? '').split('\n')) {
      mkdirSync(dirname(join(scratch, path)), { recursive: true });
      writeFileSync(join(scratch, path), execFileSync('git', ['show', `${commit}:${path}`], { cwd: root }));
    }
    execFileSync('buf', ['breaking', '--against', scratch], { cwd: root, stdio: 'inherit' });
    console.log(`proto files break nothing of ${commit.slice(0, 12)}`);
  } catch {
    // buf has said what is broken, or git what it could not read.
    process.exitCode = 1;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** The output of git, or undefined when it fails. */
function git(...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
