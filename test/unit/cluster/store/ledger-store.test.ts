// Goal: the rows of the node and of the catalog are in the ledger and all others are not, and a batch with both is
// written to the ledger last. Method: a store in memory beside a ledger on a disk in memory.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, toGroupId } from '#base';
import { RowKeys } from '#database';
import { Ledger } from '#storage';
import { type LedgerStore, ledgerStore } from '../../../../src/cluster/store/ledger-store.ts';
import { IDENTITY_KEY, readTrash, trashKey, writeTrash } from '../../../../src/cluster/store/node-rows.ts';
import { LossyKv } from '../../../support/cluster/lossy-kv.ts';
import { recordsAt } from '../../../support/history-records.ts';
import { drain } from '../../../support/kv-conformance.ts';
import { MemoryDisk } from '../../../support/memory-disk.ts';

const [ONE, OTHER] = [toGroupId(1), toGroupId(77)];
const [CATALOG, DATABASE] = [new RowKeys(CATALOG_GROUP), new RowKeys(ONE)];
const VALUE = Uint8Array.of(1, 2, 3);

async function parts(): Promise<{ readonly kv: LossyKv; readonly ledger: Ledger; readonly store: LedgerStore }> {
  const [kv, ledger] = [new LossyKv(), await Ledger.open('data', { disk: new MemoryDisk() })];
  return { kv, ledger, store: ledgerStore(kv, ledger) };
}

it.each([
  ['a row of the node', IDENTITY_KEY, true],
  ['the last row of the node', Uint8Array.of(0, 0xff, 0xff), true],
  ['the first row of the catalog', CATALOG.applied().slice(), true],
  ['the last row of the catalog', CATALOG.position(2 ** 53 - 1).slice(), true],
  ['the first row of a database', DATABASE.applied().slice(), false],
  ['the end of a history', Uint8Array.of(2, 0, 0, 0, 0), false],
])('a store has %s in its ledger or not', async (_what, key, isKept) => {
  const { kv, ledger, store } = await parts();
  const batch = store.batch();
  batch.put(key, VALUE);
  expect([batch.count, batch.byteLength]).toEqual([1, key.length + 3]);
  await store.write(batch);
  expect(store.get(key)).toEqual(VALUE);
  expect([ledger.get(key), kv.get(key)]).toEqual(isKept ? [VALUE, undefined] : [undefined, VALUE]);
  const deletion = store.batch();
  deletion.del(key);
  await store.write(deletion);
  expect([store.get(key), ledger.get(key), kv.get(key)]).toEqual([undefined, undefined, undefined]);
});

it('a store writes a batch of both kinds to the ledger last, and keeps its own copies (K5)', async () => {
  const { kv, ledger, store } = await parts();
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  kv.gate = gate;
  const batch = store.batch();
  const value = VALUE.slice();
  batch.put(trashKey(OTHER), value);
  batch.put(DATABASE.applied(), value);
  batch.append(ONE, recordsAt({ position: 0, lengths: [10] }));
  value.fill(9);
  const writing = store.write(batch);
  expect(ledger.get(trashKey(OTHER))).toBeUndefined();
  open();
  await writing;
  expect([ledger.get(trashKey(OTHER)), kv.get(DATABASE.applied())]).toEqual([VALUE, VALUE]);
  expect(store.history.read(ONE, { from: 0, to: 10 })).toHaveLength(10);
});

it('a store whose other rows cannot be written changes nothing in the ledger', async () => {
  const { kv, ledger, store } = await parts();
  kv.gate = Promise.reject(new Error('EIO'));
  const batch = store.batch();
  batch.put(trashKey(OTHER), VALUE);
  batch.put(DATABASE.applied(), VALUE);
  await expect(store.write(batch)).rejects.toThrow('EIO');
  expect(ledger.get(trashKey(OTHER))).toBeUndefined();
});

it('a store shows the ranges of both kinds as of their opening (K3)', async () => {
  const { store } = await parts();
  const batch = store.batch();
  for (const group of [OTHER, ONE]) batch.put(trashKey(group), writeTrash());
  batch.put(CATALOG.nodes(), VALUE);
  batch.put(CATALOG.bindings(0), VALUE);
  batch.put(DATABASE.applied(), VALUE);
  await store.write(batch);
  const trash: number[] = [];
  for await (const group of readTrash(store)) trash.push(group);
  expect(trash).toEqual([ONE, OTHER]);
  const keys = (await drain(store, CATALOG.all(), 1)).map(({ key }) => key);
  expect(keys).toEqual([CATALOG.bindings(0).slice(), CATALOG.nodes().slice()]);
  expect(await drain(store, DATABASE.all())).toHaveLength(1);
  const range = store.range(CATALOG.all());
  const deletion = store.batch();
  deletion.del(CATALOG.nodes());
  await store.write(deletion);
  expect(await range.next(9)).toHaveLength(2);
  await range.close();
  expect(() => store.range({ gte: Uint8Array.of(0), lt: Uint8Array.of(3) })).toThrow('lies in the ledger or behind it');
  await expect(store.clear(Uint8Array.of(0), Uint8Array.of(3))).rejects.toThrow('are deleted one by one');
});
