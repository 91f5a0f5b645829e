// Goal: the store in memory implements the port like any other store, and stays fast when it is large. Method: the
// conformance suite of the port, and a count of the steps in a large store.
import { expect, it } from 'vitest';
import { KeyWriter } from '#kv';
import { historyConformance } from '../../support/history-conformance.ts';
import { drain, kvConformance } from '../../support/kv-conformance.ts';
import { memoryKv } from '../../support/memory-kv.ts';

for (const conformance of [kvConformance, historyConformance]) {
  conformance('the store in memory', () => {
    const store = memoryKv();
    return Promise.resolve({ store, reader: store, sync: async () => undefined, close: () => store.close() });
  });
}

it('the store in memory holds 20,000 rows put in mixed order and returns them sorted (K1)', async () => {
  const store = memoryKv();
  const rows = 20_000;
  const writer = new KeyWriter();
  const batch = store.batch();
  // The number of rows and 77,773 have no common factor, so that every key occurs once.
  for (let n = 0; n < rows; n++) batch.put(writer.u32((n * 77_773) % rows).key(), new Uint8Array([n & 255]));
  await store.write(batch);
  const read = await drain(store, { gte: new Uint8Array([0]), lt: new Uint8Array([1]) });
  expect(read.length).toBe(rows);
  expect(read.every((row, n) => Buffer.from(row.key).readUInt32BE(0) === n)).toBe(true);
});

it('the store in memory refuses every call after it was closed', async () => {
  const store = memoryKv();
  await store.close();
  expect(() => store.get(new Uint8Array([1]))).toThrow('The store is open');
});
