/**
 * Runs the program in its own user, process, mount and network namespaces, in which it is root regardless of the user
 * outside. Nodes, links and file systems inside end with the first process of the namespaces, however it ends. The run
 * changes nothing outside.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

const INSIDE = 'CHAOS_INSIDE';
const NAMESPACES = ['--user', '--map-root-user', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];

/** Directory for the files of the run; undefined outside the namespaces. */
export function dirInside(): string | undefined {
  return process.env[INSIDE];
}

/** Returns the reason why namespaces cannot be created here, or undefined when they can. */
export function whyNoWorld(): string | undefined {
  const probe = spawnSync('unshare', [...NAMESPACES, 'ip', 'link', 'set', 'lo', 'up'], { encoding: 'utf8' });
  if (probe.error !== undefined) return `unshare cannot be run: ${probe.error.message}`;
  return probe.status === 0 ? undefined : `unshare and ip say: ${probe.stderr.trim()}`;
}

/**
 * Runs this program with these arguments in new namespaces, with its files in `dir`. Returns the exit code, or
 * undefined when it was interrupted.
 */
export async function runInside(program: string, args: readonly string[], dir: string): Promise<number | undefined> {
  const node = [process.execPath, ...process.execArgv, program, ...args];
  const child = spawn('unshare', [...NAMESPACES, ...node], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: dir },
  });
  let isInterrupted = false;
  // A signal to this process ends the run: the first process inside is killed together with `unshare`.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      isInterrupted = true;
      child.kill('SIGKILL');
    });
  }
  const [code]: (number | null)[] = await once(child, 'exit');
  return isInterrupted ? undefined : (code ?? 1);
}

/** Runs a system command to its end. @throws Error with its output, when it fails. */
export async function run(command: string, ...args: readonly string[]): Promise<void> {
  await execute(command, [...args]);
}

const execute = promisify(execFile);
