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

/** Whether this process is the first of such a world. */
export function isInside(): boolean {
  return process.env[INSIDE] !== undefined;
}

/** Undefined when a world can be made here, and else why not. */
export function whyNoWorld(): string | undefined {
  const probe = spawnSync('unshare', [...NAMESPACES, 'ip', 'link', 'set', 'lo', 'up'], { encoding: 'utf8' });
  if (probe.error !== undefined) return `unshare cannot be run: ${probe.error.message}`;
  return probe.status === 0 ? undefined : `unshare and ip say: ${probe.stderr.trim()}`;
}

/** Runs this program with these arguments in a world of its own; answers its exit code. */
export async function runInside(program: string, args: readonly string[]): Promise<number> {
  const node = [process.execPath, ...process.execArgv, program, ...args];
  const child = spawn('unshare', [...NAMESPACES, ...node], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: '1' },
  });
  // Whoever stops this one stops the world: its first process goes with `unshare`.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill('SIGKILL'));
  const [code]: (number | null)[] = await once(child, 'exit');
  return code ?? 1;
}

/** Runs a command of the system to its end. @throws Error with what it said, when it fails. */
export async function run(command: string, ...args: readonly string[]): Promise<void> {
  await execute(command, [...args]);
}

const execute = promisify(execFile);
