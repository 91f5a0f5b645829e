/** The threads of a node, and the processes that it starts. */

/**
 * The file that each starts by in the bundle, and its source. They name each other's files, so these are no matter of
 * taste.
 */
export const THREADS: Readonly<Record<string, string>> = {
  main: 'src/main/main.ts',
  'core-worker': 'src/main/core-worker.ts',
  'batch-worker': 'src/main/batch-worker.ts',
  'log-worker': 'src/storage/log-worker.ts',
  'scrub-worker': 'src/storage/scrub-worker.ts',
  'executor-worker': 'src/wasm/executors/executor-worker.ts',
};
