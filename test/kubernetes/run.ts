/** Commands of the system, and work that is asked for again and again. */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const OUTPUT_BYTES_MAX = 64 << 20;

/** Runs a command to its end and answers its standard output. @throws Error with what it wrote to standard error. */
export function run(command: string, ...args: readonly string[]): Promise<string> {
  return feed('', command, ...args);
}

/** The same, with `input` at its standard input. */
export async function feed(input: string, command: string, ...args: readonly string[]): Promise<string> {
  const running = execute(command, [...args], { maxBuffer: OUTPUT_BYTES_MAX });
  // A command that ends before it has read everything says why by its exit code.
  running.child.stdin?.on('error', () => undefined).end(input);
  return (await running).stdout;
}

/** Runs a command and ignores its failure, for clean-up of objects that may not exist. */
export async function attempt(command: string, ...args: readonly string[]): Promise<void> {
  await run(command, ...args).catch(() => undefined);
}

/** Waits so long, or until the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

/** Runs `action` after each call, and never twice at a time: calls that come meanwhile are answered by one more run. */
export function coalesced(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let isStale = false;
  const repeat = async (): Promise<void> => {
    while (isStale) {
      isStale = false;
      await action();
    }
  };
  return () => {
    isStale = true;
    running ??= repeat().finally(() => {
      running = undefined;
    });
    return running;
  };
}
