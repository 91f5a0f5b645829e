/**
 * The server processes of a benchmark, by the directory that each keeps its files in: starts them, finds free ports,
 * waits until one listens, and ends them. They are killed when the benchmark ends for any reason.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { processTree } from './process-cpu.ts';

const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 20_000;

const launched = new Map<ChildProcess, string>();

/** Starts a server that keeps its files in this directory. */
export function launch(
  directory: string,
  program: string,
  { args, ...options }: SpawnOptions & { readonly args: readonly string[] },
): ChildProcess {
  const child = spawn('setpriv', ['--pdeathsig=KILL', program, ...args], options);
  launched.set(child, directory);
  child.once('exit', () => launched.delete(child));
  return child;
}

/** Returns whether a server with files in or below the directory is running. */
export function isServing(directory: string): boolean {
  return serversIn(directory).length > 0;
}

/** Kills the servers with files in or below the directory. */
export async function killServers(directory: string): Promise<void> {
  await Promise.all(serversIn(directory).map(killProcess));
}

function serversIn(directory: string): readonly ChildProcess[] {
  const found = [...launched].filter(([, place]) => place === directory || place.startsWith(`${directory}/`));
  return found.map(([child]) => child);
}

/** Kills the process and its descendants. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  // The parent comes first, because it might start other children.
  for (const pid of processTree(child.pid)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // The process has ended meanwhile.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
  await ended;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  return address.port;
}

/** Waits until something listens on the port; otherwise ends the process and rejects. */
export async function untilListening(port: number, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null)
      throw new Error(`the server ended with exit code ${child.exitCode} before it listened`);
    if (await accepts(port)) return;
    await delay(20);
  }
  await killProcess(child);
  throw new Error(`nothing listened on port ${port} within ${READY_WITHIN_MS} ms`);
}

/** Sends SIGTERM, and SIGKILL when the process does not end in time. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
  await ended;
  clearTimeout(timer);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
