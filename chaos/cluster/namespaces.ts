/**
 * A world of its own for a run: namespaces of users, processes, mounts and networks, in which it is root whoever it is
 * outside. Everything in it (nodes, links, file systems) ends with its first process, however that ends; nothing of the
 * machine outside is touched.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

const INSIDE = 'CHAOS_INSIDE';
const NAMESPACES = ['--user', '--map-root-user', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];

/** Where the files of the run go, in the first process of such a world. */
export function dirInside(): string | undefined {
  return process.env[INSIDE];
}

/** Undefined when a world can be made here, and else why not. */
export function whyNoWorld(): string | undefined {
  const probe = spawnSync('unshare', [...NAMESPACES, 'ip', 'link', 'set', 'lo', 'up'], { encoding: 'utf8' });
  if (probe.error !== undefined) return `unshare cannot be run: ${probe.error.message}`;
  return probe.status === 0 ? undefined : `unshare and ip say: ${probe.stderr.trim()}`;
}

/**
 * Runs this program with these arguments in a world of its own, its files in a directory of this one; answers its exit
 * code, undefined when it was interrupted.
 */
export async function runInside(program: string, args: readonly string[], dir: string): Promise<number | undefined> {
  const node = [process.execPath, ...process.execArgv, program, ...args];
  const child = spawn('unshare', [...NAMESPACES, ...node], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: dir },
  });
  let isInterrupted = false;
  // Whoever stops this one stops the world: its first process goes with `unshare`.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      isInterrupted = true;
      child.kill('SIGKILL');
    });
  }
  const [code]: (number | null)[] = await once(child, 'exit');
  return isInterrupted ? undefined : (code ?? 1);
}

/** Runs a command of the system to its end. @throws Error with what it said, when it fails. */
export async function run(command: string, ...args: readonly string[]): Promise<void> {
  await execute(command, [...args]);
}

const execute = promisify(execFile);
