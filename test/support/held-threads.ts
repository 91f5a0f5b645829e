// Blocks every thread of libuv's pool, so that queued work waits until the test releases it. Each thread opens a pipe
// without a writer, which blocks.
import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { testDir } from './test-scope.ts';

/** Default size of libuv's pool. */
const THREADS = 4;

export interface HeldThreads {
  /** Resolves when all threads are free. */
  release(): Promise<void>;
}

/** Ends with the running test, whose folder contains the pipe. */
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
