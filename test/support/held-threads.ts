// Holds every thread of libuv's pool, so that nothing that was handed to it is done before the test says so: each opens
// a pipe that nobody writes into, which takes as long as that.
import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { testDir } from './test-scope.ts';

/** As many as libuv has where nobody says otherwise. */
const THREADS = 4;

export interface HeldThreads {
  /** Resolves when all of them are free. */
  release(): Promise<void>;
}

/** For the running test, whose folder the pipe is in. */
export async function holdThreadPool(): Promise<HeldThreads> {
  const pipe = join(testDir(), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const count = Number(process.env['UV_THREADPOOL_SIZE'] ?? THREADS);
  const opening = Array.from({ length: count }, () => open(pipe, 'r'));
  let released: Promise<void> | undefined;
  const release = async (): Promise<void> => {
    const writer = openSync(pipe, 'r+');
    for (const each of await Promise.all(opening)) await each.close();
    closeSync(writer);
  };
  const once = (): Promise<void> => (released ??= release());
  onTestFinished(once);
  return { release: once };
}
