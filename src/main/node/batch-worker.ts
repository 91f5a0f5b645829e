/**
 * Entry point of the thread that reads events for folds. It is composed here because #components does not know the
 * store; the thread receives the directory of the store.
 */
import { workerData } from 'node:worker_threads';
import { assert } from '#base';
import { nativeSha256 } from '#cluster';
import { runBatches } from '#components';
import { openLevelStore } from '#storage';

const directory: unknown = workerData;
assert(typeof directory === 'string', 'The thread has the directory of the store', directory);

await runBatches(async () => {
  const store = await openLevelStore(directory);
  return { source: { kv: store, sha256: nativeSha256 }, close: () => store.close() };
});
