// Resources owned by a test or by a test file. Vitest releases them in reverse order, also after a timeout: a process
// or store is registered after its folder, so it ends before the folder is removed.
import type { ChildProcess } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { tempDir } from './temp-dir.ts';

/** Path of a temporary folder for the running test. It is removed after everything that the test registers later. */
export function testDir(): string {
  const dir = tempDir();
  onTestFinished(() => dir[Symbol.dispose]());
  return dir.path;
}

/** Kills the process at the end of the running test, if needed, and waits until it has exited. */
export function endWithTest(child: ChildProcess): void {
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve()).once('error', () => resolve());
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
  });
}

/** Number of nodes in this process; shared nodes outlive the test files (server.ts). */
export const nodes = { running: 0, shared: 0 };

let file = new AsyncDisposableStack();

/**
 * Registers cleanup that runs after the last test of the file and after its own hooks, in reverse order. It may be
 * called anywhere, whereas Vitest silently ignores an `afterAll` inside a test or running hook.
 */
export function endWithFile(end: () => PromiseLike<void> | void): void {
  file.defer(end);
}

/** Releases the resources of the file. */
export async function endFile(): Promise<void> {
  const ending = file;
  file = new AsyncDisposableStack();
  await ending.disposeAsync();
}
