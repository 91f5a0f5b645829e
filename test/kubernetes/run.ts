/** Runs commands of the system, and joins repeated requests for the same work. */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const OUTPUT_BYTES_MAX = 64 << 20;

/** Runs a command to its end and resolves to its standard output. @throws Error with its standard error. */
export function run(command: string, ...args: readonly string[]): Promise<string> {
  return feed('', command, ...args);
}

/** Does the same with `input` at the standard input. */
export async function feed(input: string, command: string, ...args: readonly string[]): Promise<string> {
  const running = execute(command, [...args], { maxBuffer: OUTPUT_BYTES_MAX });
  // A command may end before it has read everything; its exit code gives the reason.
  running.child.stdin?.on('error', () => undefined).end(input);
  return (await running).stdout;
}

/** Runs a command and ignores its failure, for clean-up of objects that may not exist. */
export async function attempt(command: string, ...args: readonly string[]): Promise<void> {
  await run(command, ...args).catch(() => undefined);
}

/** Waits for this time, or until the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

/** Runs `action` after each call, and never twice at the same time: calls while it runs share one more run. */
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
