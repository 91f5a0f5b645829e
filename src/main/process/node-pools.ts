/** Sizes of the pools of Node.js: of memory for small Buffers, and of threads. */
import { usableProcessors } from './processors.ts';

/**
 * Bytes from which Node.js allocates small Buffers, and results of Buffer.concat up to half as long.
 *
 * The default is 64 KiB. A small Buffer keeps its whole pool alive and cannot be released alone: an answered request of
 * 28 KiB stays in memory, with everything else in its pool, until V8 collects its whole heap. With a pool of 8 KiB such
 * a request gets a buffer of its own, which `giveBack` frees (ADR 0017).
 */
const POOL_BYTES = 8 * 1024;

/** Takes effect for this thread, from the next pool on. */
export function narrowBufferPool(): void {
  Buffer.poolSize = POOL_BYTES;
}

/**
 * Threads of libuv, which read and write LevelDB and files for all threads of the process.
 *
 * The default of Node.js is four; it reads the size on first use. With four, the rows of a commit wait for four long
 * reads. The threads mostly sleep, so there may be more of them than processors. On one processor there are fewer,
 * because active ones compete with the event loops, and heartbeats would be late.
 */
const THREADS_MAX = 16;
const THREADS_PER_PROCESSOR = 8;

/** Must be called before the pool is used. A size that the operator has set is kept. */
export function widenThreadPool(env: NodeJS.ProcessEnv, processors: number = usableProcessors()): void {
  env['UV_THREADPOOL_SIZE'] ??= String(Math.min(THREADS_MAX, THREADS_PER_PROCESSOR * processors));
}
