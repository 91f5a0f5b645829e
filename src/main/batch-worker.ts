/**
 * What the thread runs that reads the events of folds. It is composed here, because #components does not know what
 * a store is kept in; the directory of the store is given to it.
 */
import { workerData } from 'node:worker_threads';
import { assert } from '#base';
import { nativeCrc32, nativeSha256 } from '#cluster';
import { runBatches } from '#components';
import { openLevelStore } from '#storage';

const directory: unknown = workerData;
assert(typeof directory === 'string', 'The thread is told where the store is', directory);

await runBatches(async () => {
  const store = await openLevelStore(directory);
  return { source: { kv: store, crc32: nativeCrc32, sha256: nativeSha256 }, close: () => store.close() };
});
