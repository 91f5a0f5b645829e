// A worker thread that opens a LevelDB store and answers each key with its value, until it receives `close`.
import { parentPort, workerData } from 'node:worker_threads';
import { openLevelStore } from '#storage';

const store = await openLevelStore(workerData as string);
parentPort?.on('message', (message: Uint8Array | 'close') => {
  if (message === 'close') void store.close().then(() => parentPort?.close());
  else answer(Uint8Array.from(store.get(message) ?? []));
});
answer('open');

function answer(message: unknown): void {
  parentPort?.postMessage(message, []);
}
