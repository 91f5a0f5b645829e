/** System calls of a running process that fail or take long, by strace. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A process with many threads on a busy machine takes a while to be seized. */
const SEIZED_WITHIN_MS = 15_000;
const LOOK_MS = 10;
/** It lets go of a thread at a time, each of which may stand in a call that it holds up. */
const LETS_GO_WITHIN_MS = 30_000;

/**
 * Lets the calls of all threads of a process fail, or take long, as strace says it; ends with the returned function.
 * Resolves when that is so, or when there is no such process any more.
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
    // One that waits for a process that is already gone does not hear of it. The kernel lets go of whoever is left.
    const kill = setTimeout(() => tracer.kill('SIGKILL'), LETS_GO_WITHIN_MS);
    await ended;
    clearTimeout(kill);
  };
}

/** Undefined when processes can be traced that are no children of the tracer; else why not. */
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

/** Who traces a process, 0 when nobody does; undefined when it has ended. */
function tracerOf(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return /^State:\s*[ZX]/m.test(status) ? undefined : Number(/^TracerPid:\s*(\d+)$/m.exec(status)?.[1]);
  } catch {
    return undefined;
  }
}
