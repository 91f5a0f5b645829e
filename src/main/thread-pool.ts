/**
 * Size of the libuv thread pool, which reads and writes LevelDB and files for all threads of the process.
 *
 * The default of Node.js is four threads; it reads the size on first use. With four, the rows of a commit wait for four
 * long reads. The threads mostly sleep, so there may be more of them than processors. On one processor there are fewer,
 * because active ones compete with the event loops, and heartbeats would be late.
 */
import { usableProcessors } from './processors.ts';

const THREADS_MAX = 16;
const THREADS_PER_PROCESSOR = 8;

/** Must be called before the pool is used. A size that the operator has set is kept. */
export function widenThreadPool(env: NodeJS.ProcessEnv, processors: number = usableProcessors()): void {
  env['UV_THREADPOOL_SIZE'] ??= String(Math.min(THREADS_MAX, THREADS_PER_PROCESSOR * processors));
}
