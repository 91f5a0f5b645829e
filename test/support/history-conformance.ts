// Conformance tests of histories (K10): every implementation of the kv port shows the bytes that were appended, or a
// fault.
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GroupId, toGroupId } from '#base';
import { HistoryFault, type HistoryReader, type KvStore, ReadMemory } from '#kv';
import { bytesAt, recordsAt } from './history-records.ts';
import type { KvUnderTest } from './kv-conformance.ts';

const ONE = toGroupId(7);
const OTHER = toGroupId(0x1_0007);
const BLOCK = 4090;

interface Opened extends KvUnderTest {
  /** Histories as the other handle shows them. */
  readonly history: HistoryReader;
}

type Open = () => Opened;

export function historyConformance(name: string, open: () => Promise<KvUnderTest>): void {
  describe(`the histories of ${name}`, () => {
    let tested: KvUnderTest;
    const opened = (): Opened => ({ ...tested, history: tested.reader.history });

    beforeEach(async () => {
      tested = await open();
    });
    afterEach(async () => tested.close());

    appendedRecords(opened);
    cutHistories(opened);
    copiedHistories(opened);
    batchesWithRecords(opened);
  });
}

function appendedRecords(opened: Open): void {
  it('show what was appended, at any lengths and segments, to every reader (K10)', async () => {
    const { store, history } = opened();
    const length = fc.oneof(
      fc.integer({ min: 1, max: 300 }),
      fc.constantFrom(1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK),
    );
    const appends = fc.array(fc.array(length, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(appends, fc.constantFrom(1, 5_000, 1e9), fc.nat(), async (all, segmentBytes, seed) => {
        await store.cutHistory(ONE, 0);
        let end = 0;
        let segment: number | undefined;
        for (const lengths of all) {
          const records = recordsAt({ position: end, segment, lengths, segmentBytes });
          segment = records.segments.at(-1)?.position ?? segment;
          end += records.bytes.length;
          await append(store, ONE, records);
          const from = seed % end;
          for (const each of [store.history, history]) {
            expectBytes(each.read(ONE, { from, to: end }), { from, to: end });
            expectBytes(each.read(ONE, { from: 0, to: end }), { from: 0, to: end });
          }
        }
        expect(await store.cutHistory(ONE, end)).toBe(end);
      }),
      { numRuns: 25 },
    );
  });

  it('reads ranges at once, each as it would be read alone', async () => {
    const { store, history } = opened();
    await append(store, ONE, recordsAt({ position: 0, lengths: [10_000, 10_000], segmentBytes: 1 }));
    const ranges = [
      { from: 0, to: 1 },
      { from: 9_990, to: 10_010 },
      { from: 0, to: 20_000 },
      { from: 5, to: 5 },
    ];
    const found = await history.readAll(ONE, ranges, new ReadMemory());
    expect(found).toHaveLength(ranges.length);
    for (const [index, range] of ranges.entries()) expectBytes(found[index], range);
  });

  it('does not change bytes that it has given (K5)', async () => {
    const { store, history } = opened();
    await append(store, ONE, recordsAt({ position: 0, lengths: [100] }));
    const before = history.read(ONE, { from: 0, to: 100 });
    const copy = before.slice();
    await append(store, ONE, recordsAt({ position: 100, segment: 0, lengths: [5_000] }));
    await store.cutHistory(ONE, 50);
    await append(store, ONE, { position: 50, bytes: new Uint8Array(60), segments: [] });
    expect(before).toEqual(copy);
  });

  it('fails when the history ends before the range does', async () => {
    const { store, history } = opened();
    expect(() => history.read(ONE, { from: 0, to: 1 })).toThrow(HistoryFault);
    await append(store, ONE, recordsAt({ position: 0, lengths: [100] }));
    expect(() => history.read(ONE, { from: 0, to: 101 })).toThrow(HistoryFault);
    expect(() => history.read(ONE, { from: 200_000, to: 200_001 })).toThrow(HistoryFault);
    await expect(async () => history.readAll(ONE, [{ from: 0, to: 101 }])).rejects.toThrow(HistoryFault);
  });
}

function cutHistories(opened: Open): void {
  it('keeps what is before a cut, and takes other records after it', async () => {
    const { store, history } = opened();
    for (const position of [1, 4_000, BLOCK, BLOCK + 1, 9_999, 10_000, 10_001, 25_000]) {
      await store.cutHistory(ONE, 0);
      await append(store, ONE, recordsAt({ position: 0, lengths: [10_000, 15_000], segmentBytes: 1 }));
      history.read(ONE, { from: 0, to: 25_000 });
      expect(await store.cutHistory(ONE, position)).toBe(position);
      expect(await store.cutHistory(ONE, position)).toBe(position);
      expectBytes(history.read(ONE, { from: 0, to: position }), { from: 0, to: position });
      expect(() => history.read(ONE, { from: 0, to: position + 1 })).toThrow(HistoryFault);
      const segment = position <= 10_000 ? 0 : 10_000;
      await append(store, ONE, {
        ...recordsAt({ position, segment, lengths: [20_000] }),
        bytes: new Uint8Array(20_000),
      });
      const found = history.read(ONE, { from: position - 1, to: position + 20_000 });
      expect([...found.subarray(0, 3)]).toEqual([...bytesAt(position - 1, 1), 0, 0]);
    }
  });

  it('reports how far a history that is too short reaches', async () => {
    const { store, history, sync } = opened();
    expect(await store.cutHistory(ONE, 5)).toBe(0);
    await append(store, ONE, recordsAt({ position: 0, lengths: [100] }));
    await sync();
    const synced = store.historyEnd(ONE);
    expect(await store.cutHistory(ONE, 101, synced)).toBe(100);
    expect(await store.cutHistory(ONE, 1_000_000, synced)).toBe(100);
    expectBytes(history.read(ONE, { from: 0, to: 100 }), { from: 0, to: 100 });
  });

  it('begins a history again after it was removed', async () => {
    const { store, history } = opened();
    await append(store, ONE, recordsAt({ position: 0, lengths: [10_000] }));
    history.read(ONE, { from: 0, to: 10_000 });
    await store.cutHistory(ONE, 0);
    expect(await store.historySize(ONE)).toBe(0);
    expect(() => history.read(ONE, { from: 0, to: 1 })).toThrow(HistoryFault);
    await append(store, ONE, { ...recordsAt({ position: 0, lengths: [9_000] }), bytes: new Uint8Array(9_000) });
    expect(history.read(ONE, { from: 0, to: 9_000 }).subarray(0, 9_000)).toEqual(new Uint8Array(9_000));
  });
}

function copiedHistories(opened: Open): void {
  it('copies a history, and keeps both apart', async () => {
    const { store, history } = opened();
    await append(store, OTHER, recordsAt({ position: 0, lengths: [3] }));
    await append(store, ONE, recordsAt({ position: 0, lengths: [10_000, 10_000, 100], segmentBytes: 1 }));
    await store.copyHistory(ONE, OTHER);
    expectBytes(history.read(OTHER, { from: 0, to: 20_100 }), { from: 0, to: 20_100 });
    await append(store, ONE, recordsAt({ position: 20_100, segment: 20_000, lengths: [50] }));
    expect(() => history.read(OTHER, { from: 0, to: 20_101 })).toThrow(HistoryFault);
    // A cut into a segment that both may share.
    await store.cutHistory(OTHER, 15_000);
    await append(store, OTHER, { position: 15_000, bytes: new Uint8Array(9_000), segments: [] });
    expectBytes(history.read(ONE, { from: 0, to: 20_150 }), { from: 0, to: 20_150 });
    await store.copyHistory(ONE, OTHER);
    await store.cutHistory(ONE, 0);
    expectBytes(history.read(OTHER, { from: 0, to: 20_150 }), { from: 0, to: 20_150 });
    expect(await store.historySize(OTHER)).toBeGreaterThanOrEqual(20_150);
    await store.copyHistory(ONE, OTHER);
    expect(await store.historySize(OTHER)).toBe(0);
  });
}

function batchesWithRecords(opened: Open): void {
  it('writes the records of several groups with the rows of a batch, once for each', async () => {
    const { store, history, reader } = opened();
    const batch = store.batch();
    batch.append(ONE, recordsAt({ position: 0, lengths: [10] }));
    batch.append(OTHER, recordsAt({ position: 0, lengths: [20] }));
    batch.put(Uint8Array.of(1), Uint8Array.of(2));
    expect(batch.byteLength).toBe(32);
    expect(() => batch.append(ONE, recordsAt({ position: 10, segment: 0, lengths: [1] }))).toThrow('once');
    await store.write(batch);
    expectBytes(history.read(OTHER, { from: 0, to: 20 }), { from: 0, to: 20 });
    expect([...(reader.get(Uint8Array.of(1)) ?? [])]).toEqual([2]);
  });

  it('refuses records that are not at the end of the history', async () => {
    const { store } = opened();
    await append(store, ONE, recordsAt({ position: 0, lengths: [10] }));
    await expect(append(store, ONE, recordsAt({ position: 9, segment: 0, lengths: [10] }))).rejects.toThrow(
      'at the end of a history',
    );
  });
}

async function append(store: KvStore, group: GroupId, records: ReturnType<typeof recordsAt>): Promise<void> {
  const batch = store.batch();
  batch.append(group, records);
  await store.write(batch);
}

function expectBytes(
  found: Uint8Array | undefined,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  expect(found?.length).toBeGreaterThanOrEqual(to - from);
  expect(Buffer.compare(found ?? new Uint8Array(0), bytesAt(from, found?.length ?? 0))).toBe(0);
}
