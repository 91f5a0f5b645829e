// A batch thread on a store whose reads fail from time to time, or end the thread.
import { workerData } from 'node:worker_threads';
import { nativeSha256 } from '#cluster';
import { runBatches } from '#components';
import type { KvReader } from '#kv';
import { openLevelStore } from '#storage';

const [FAILS_EACH, ENDS_EACH] = [11, 97];

const store = await openLevelStore(workerData as string);
let reads = 0;
const kv: KvReader = {
  history: store.history,
  get: (key) => store.get(key),
  range: (options) => {
    reads++;
    if (reads % ENDS_EACH === 0) process.exit(1);
    if (reads % FAILS_EACH === 0) throw new Error('This read fails');
    return store.range(options);
  },
};
const source = { kv, sha256: nativeSha256 };
await runBatches(async () => ({ source, close: () => store.close() }));
