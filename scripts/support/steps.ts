/** Runs commands of a shell, one after the other or a few at a time, and says how each ended and how long it took. */
import { spawn } from 'node:child_process';

export interface Step {
  readonly name: string;
  /** For a shell in the root of the repository; the programs of node_modules are on its path. */
  readonly command: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface EndedStep {
  readonly name: string;
  /** The exit code, or the signal that ended it. */
  readonly status: number | string;
  readonly seconds: number;
}

/**
 * Goes on after a failure, so that one run shows them all. With one job the output is that of the commands; with more,
 * each command's output is printed when it has ended.
 */
export async function runSteps(
  steps: readonly Step[],
  { root, jobs }: { readonly root: string; readonly jobs: number },
): Promise<readonly EndedStep[]> {
  const waiting = [...steps];
  const ended: EndedStep[] = [];
  const work = async (): Promise<void> => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      ended.push(await runStep(step, root, jobs > 1));
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return ended;
}

async function runStep({ name, command, env }: Step, root: string, isBuffered: boolean): Promise<EndedStep> {
  const startedMs = performance.now();
  const output = isBuffered ? 'pipe' : 'inherit';
  if (!isBuffered) console.log(`── ${name}: ${command}`);
  const child = spawn(command, {
    cwd: root,
    shell: true,
    stdio: ['ignore', output, output],
    env: { ...process.env, ...env },
  });
  const parts: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part: Buffer) => parts.push(part));
  const status = await new Promise<number | string>((resolve, reject) => {
    child.once('error', reject).once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const seconds = (performance.now() - startedMs) / 1000;
  if (isBuffered) process.stdout.write(`── ${name}: ${command}\n${Buffer.concat(parts).toString()}`);
  console.log(`── ${name}: ${status === 0 ? 'passed' : `FAILED (${status})`} in ${seconds.toFixed(1)} s\n`);
  return { name, status, seconds };
}
