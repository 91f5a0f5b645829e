/**
 * The size of the pool in which this process does what would block its threads: LevelDB's reads and writes of all
 * isolates, and files.
 *
 * Node makes four threads unless told otherwise, and reads the number when the pool is first used. With four, the rows
 * of a commit wait behind four long reads. The threads sleep nearly always, so there may be more of them than
 * processors.
 */
const THREADS = 16;

/** Call it before anything uses the pool. A size that the operator has set stands. */
export function widenThreadPool(env: NodeJS.ProcessEnv): void {
  env['UV_THREADPOOL_SIZE'] ??= String(THREADS);
}
