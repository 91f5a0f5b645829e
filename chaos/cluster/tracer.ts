/** Makes system calls of a running process fail or take longer, with strace. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Attaching to a process with many threads takes a while on a busy machine. */
const SEIZED_WITHIN_MS = 15_000;
const LOOK_MS = 10;
/** strace detaches from one thread after another, and each may be in a delayed call. */
const LETS_GO_WITHIN_MS = 30_000;

/**
 * Makes system calls of all threads of a process fail or take longer (syntax of strace). Resolves when strace is
 * attached, or when the process has ended. The returned function detaches it.
 * @throws Error when strace cannot trace the process.
 */
export async function inject(pid: number, calls: string, how: string): Promise<() => Promise<void>> {
  const args = [
    '-f',
    '-q',
    '-o',
    '/dev/null',
    '-p',
    String(pid),
    '-e',
    `trace=${calls}`,
    '-e',
    `inject=${calls}:${how}`,
  ];
  const tracer = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  tracer.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(tracer, 'exit');
  await once(tracer, 'spawn');
  const untilMs = performance.now() + SEIZED_WITHIN_MS;
  for (;;) {
    const by = tracerOf(pid);
    if (by === undefined || by === tracer.pid) break;
    if (tracer.exitCode !== null || performance.now() > untilMs) {
      tracer.kill('SIGTERM');
      throw new Error(`strace does not trace the process ${pid}: ${said.trim()}`);
    }
    await delay(LOOK_MS);
  }
  return async () => {
    tracer.kill('SIGTERM');
    // strace may miss the end of its process and wait forever. SIGKILL makes the kernel detach it from the remaining
    // threads.
    const kill = setTimeout(() => tracer.kill('SIGKILL'), LETS_GO_WITHIN_MS);
    await ended;
    clearTimeout(kill);
  };
}

/** Returns the reason why strace cannot attach to processes that are not its children, or undefined when it can. */
export async function whyNoTracer(): Promise<string | undefined> {
  const probe = spawnSync('strace', ['-V'], { encoding: 'utf8' });
  if (probe.error !== undefined) return `strace cannot be run: ${probe.error.message}`;
  const sleeper = spawn('sleep', ['60'], { stdio: 'ignore' });
  try {
    await once(sleeper, 'spawn');
    const end = await inject(sleeper.pid ?? 0, 'fdatasync', 'error=EIO');
    await end();
    return undefined;
  } catch (failure) {
    return failure instanceof Error ? failure.message : String(failure);
  } finally {
    sleeper.kill('SIGKILL');
  }
}

/** Id of the tracer of a process, or 0 without one; undefined when the process has ended. */
function tracerOf(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return /^State:\s*[ZX]/m.test(status) ? undefined : Number(/^TracerPid:\s*(\d+)$/m.exec(status)?.[1]);
  } catch {
    return undefined;
  }
}
