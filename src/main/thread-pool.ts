/**
 * The size of the pool in which this process does what would block its threads: LevelDB's reads and writes of all
 * isolates, and files.
 *
 * Node makes four threads unless told otherwise, and reads the number when the pool is first used. With four, the rows
 * of a commit wait behind four long reads. The threads sleep nearly always, so there may be more of them than
 * processors. On one processor there are fewer: those that do not sleep take turns with the event loops, and heartbeats
 * would wait for all of them.
 */
import { usableProcessors } from './processors.ts';

const THREADS_MAX = 16;
const THREADS_PER_PROCESSOR = 8;

/** Call it before anything uses the pool. A size that the operator has set stays. */
export function widenThreadPool(env: NodeJS.ProcessEnv, processors: number = usableProcessors()): void {
  env['UV_THREADPOOL_SIZE'] ??= String(Math.min(THREADS_MAX, THREADS_PER_PROCESSOR * processors));
}
