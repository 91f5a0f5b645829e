// What a test owns until it is over, or a file until its last test is. Vitest ends it in reverse order, also after a
// timeout: a process or a store is given its folder, so it is registered after that, and is over when the folder goes.
import type { ChildProcess } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { tempDir } from './temp-dir.ts';

/** A temporary folder of the running test; its path. It goes after everything that the test has registered since. */
export function testDir(): string {
  const dir = tempDir();
  onTestFinished(() => dir[Symbol.dispose]());
  return dir.path;
}

/** Kills the process when the running test is over, unless it has ended, and waits until it is gone. */
export function endWithTest(child: ChildProcess): void {
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve()).once('error', () => resolve());
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
  });
}

/** Number of nodes that run in this process; those that files share outlive each of them (server.ts). */
export const nodes = { running: 0, shared: 0 };

let file = new AsyncDisposableStack();

/**
 * Has it done when the last test of the file is over, after its own hooks, the latest first. It may be said anywhere:
 * an `afterAll` of a test or a hook that runs already is forgotten by Vitest, without a word.
 */
export function endWithFile(end: () => PromiseLike<void> | void): void {
  file.defer(end);
}

/** Ends what the file owns. */
export async function endFile(): Promise<void> {
  const ending = file;
  file = new AsyncDisposableStack();
  await ending.disposeAsync();
}
