// Conformance tests of the kv port: every implementation must keep K1 to K6 (src/kv/index.ts). The same cases and
// random histories run against each implementation and against a sorted list. An implementation calls
// `kvConformance` with a function that opens an empty store.
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compareBytes } from '#base';
import { type KvRangeOptions, type KvReader, type KvRow, type KvStore } from '#kv';

/** The store under test. `reader` is another handle of it if the implementation has separate handles. */
export interface KvUnderTest {
  readonly store: KvStore;
  readonly reader: KvReader;
  /** Makes everything that was written durable. */
  readonly sync: () => Promise<void>;
  close(): Promise<void>;
}

const LOWEST = new Uint8Array([0]);
const HIGHEST = new Uint8Array([0xff, 0xff]);

function bytes(...values: readonly number[]): Uint8Array {
  return Uint8Array.from(values);
}

export async function drain(reader: KvReader, options: KvRangeOptions, count = 1_000): Promise<readonly KvRow[]> {
  const range = reader.range(options);
  const rows: KvRow[] = [];
  for (let some = await range.next(count); some.length > 0; some = await range.next(count)) {
    expect(some.length).toBeLessThanOrEqual(count);
    rows.push(...some);
  }
  await range.close();
  return rows;
}

async function put(store: KvStore, ...rows: readonly (readonly [Uint8Array, Uint8Array])[]): Promise<void> {
  const batch = store.batch();
  for (const [key, value] of rows) batch.put(key, value);
  await store.write(batch);
}

/** Plain arrays, so that a Buffer and a Uint8Array with the same bytes are equal. */
function plain(rows: readonly KvRow[]): readonly (readonly [readonly number[], readonly number[]])[] {
  return rows.map((row) => [[...row.key], [...row.value]]);
}

export function kvConformance(name: string, open: () => Promise<KvUnderTest>): void {
  describe(`the kv port of ${name}`, () => {
    let tested: KvUnderTest;
    let store: KvStore;

    beforeEach(async () => {
      tested = await open();
      store = tested.store;
    });
    afterEach(async () => tested.close());

    it('behaves like a sorted list after any history (K1, K2)', async () => {
      await fc.assert(
        fc.asyncProperty(histories(), async (history) => {
          for (const { found, wanted } of await follow(tested, history)) expect(found).toEqual(wanted);
        }),
        { numRuns: 40 },
      );
    });

    describe('reading one key', () => {
      it('returns what was written, an empty value too (K4)', async () => {
        await put(store, [bytes(1), bytes(7, 8)], [bytes(2), bytes()]);
        expect([...(store.get(bytes(1)) ?? [])]).toEqual([7, 8]);
        expect(store.get(bytes(2))?.length).toBe(0);
        expect([...(tested.reader.get(bytes(1)) ?? [])]).toEqual([7, 8]);
      });

      it('keeps its own copy of values that a caller changes afterwards (K5)', async () => {
        const key = bytes(1);
        const value = bytes(7);
        const batch = store.batch();
        batch.put(key, value);
        key[0] = 9;
        value[0] = 9;
        await store.write(batch);
        expect([...(store.get(bytes(1)) ?? [])]).toEqual([7]);
      });

      it('does not change a value that it handed out when the key is written again (K5)', async () => {
        await put(store, [bytes(1), bytes(7)]);
        const before = store.get(bytes(1));
        await put(store, [bytes(1), bytes(8)]);
        expect([...(before ?? [])]).toEqual([7]);
      });

      it('takes keys and values that are views into larger buffers', async () => {
        const large = Uint8Array.from([9, 1, 2, 3, 9]);
        await put(store, [large.subarray(1, 3), large.subarray(2, 4)]);
        expect([...(store.get(bytes(1, 2)) ?? [])]).toEqual([2, 3]);
        expect([...(store.get(large.subarray(1, 3)) ?? [])]).toEqual([2, 3]);
      });
    });

    describe('writing a batch', () => {
      it('counts the operations and bytes of a batch', () => {
        const batch = store.batch();
        expect([batch.count, batch.byteLength]).toEqual([0, 0]);
        batch.put(bytes(1, 2), bytes(3));
        batch.del(bytes(1));
        expect([batch.count, batch.byteLength]).toEqual([2, 4]);
      });

      it('takes an empty batch', async () => {
        await expect(store.write(store.batch())).resolves.toBeUndefined();
      });

      it('refuses to write a batch twice', async () => {
        const batch = store.batch();
        batch.put(bytes(1), bytes(1));
        await store.write(batch);
        await expect((async () => store.write(batch))()).rejects.toThrow('A batch is written once');
      });
    });

    describe('walking a range', () => {
      const rows = [0, 1, 2, 3, 4, 5].map((n) => [bytes(5, n), bytes(n)] as const);
      beforeEach(async () => put(store, [bytes(4), bytes()], ...rows, [bytes(5, 5, 0), bytes()], [bytes(6), bytes()]));

      it('leaves the values out when they are not wanted', async () => {
        const without = await drain(store, { gte: bytes(5), lt: bytes(5, 2), values: false });
        expect(plain(without)).toEqual([
          [[5, 0], []],
          [[5, 1], []],
        ]);
      });

      it('answers early when a chunk is full, and still gives every row once (K6)', async () => {
        const wide = new Uint8Array(3_000);
        await put(store, ...Array.from({ length: 50 }, (_, n) => [bytes(7, n), wide] as const));
        const range = store.range({ gte: bytes(7), lt: bytes(8), chunkBytes: 10_000 });
        const first = await range.next(1_000);
        expect(first.length).toBeGreaterThanOrEqual(1);
        expect(first.length).toBeLessThan(50);
        let count = first.length;
        for (let some = await range.next(1_000); some.length > 0; some = await range.next(1_000)) count += some.length;
        await range.close();
        expect(count).toBe(50);
      });

      it('gives a row that is larger than a chunk (K6)', async () => {
        await put(store, [bytes(7), new Uint8Array(100_000)]);
        const rowsRead = await drain(store, { gte: bytes(7), lt: bytes(8), chunkBytes: 10 });
        expect(rowsRead.map((row) => row.value.length)).toEqual([100_000]);
      });

      it('stays at its end once it is there (K6)', async () => {
        const range = store.range({ gte: bytes(6), lt: bytes(7) });
        expect((await range.next(10)).length).toBe(1);
        expect(await range.next(10)).toEqual([]);
        expect(await range.next(10)).toEqual([]);
        await range.close();
        await range.close();
      });

      it('may be closed before its end', async () => {
        const range = store.range({ gte: LOWEST, lt: HIGHEST });
        await range.next(1);
        await range.close();
        await put(store, [bytes(1), bytes(1)]);
        expect(store.get(bytes(1))?.length).toBe(1);
      });
    });

    describe('walking while others write', () => {
      it('shows a range the rows of the moment it was opened in (K3)', async () => {
        await put(store, ...Array.from({ length: 300 }, (_, n) => [bytes(n >> 8, n & 255), bytes(1)] as const));
        const range = store.range({ gte: LOWEST, lt: HIGHEST });
        const batch = store.batch();
        for (let n = 0; n < 300; n += 2) batch.del(bytes(n >> 8, n & 255));
        for (let n = 1; n < 300; n += 2) batch.put(bytes(n >> 8, n & 255), bytes(2));
        batch.put(bytes(9, 9), bytes(2));
        await store.write(batch);
        const seen: KvRow[] = [];
        for (let some = await range.next(7); some.length > 0; some = await range.next(7)) seen.push(...some);
        await range.close();
        expect(seen.length).toBe(300);
        expect(seen.every((row) => row.value[0] === 1)).toBe(true);
        expect((await drain(tested.reader, { gte: LOWEST, lt: HIGHEST })).length).toBe(151);
      });
    });

    describe('clearing and compacting', () => {
      it('keeps every row when it compacts, and reports a size of 0 or more', async () => {
        await put(store, [bytes(1), bytes(1)], [bytes(2), bytes(2)]);
        await store.compact(LOWEST, HIGHEST);
        expect((await drain(store, { gte: LOWEST, lt: HIGHEST })).length).toBe(2);
        expect(await store.approximateSize(LOWEST, HIGHEST)).toBeGreaterThanOrEqual(0);
      });
    });
  });
}

interface Operation {
  readonly key: Uint8Array;
  /** Absent: a deletion. */
  readonly value?: Uint8Array;
}

type Step =
  | { readonly kind: 'write'; readonly operations: readonly Operation[] }
  | { readonly kind: 'clear'; readonly gte: Uint8Array; readonly lt: Uint8Array }
  | { readonly kind: 'read'; readonly options: KvRangeOptions; readonly count: number };

function histories(): fc.Arbitrary<readonly Step[]> {
  // Few distinct bytes, so that keys collide and are prefixes of each other.
  const key = fc
    .array(fc.constantFrom(0, 1, 2, 0x7f, 0x80, 0xff), { minLength: 1, maxLength: 4 })
    .map((k) => Uint8Array.from(k));
  const value = fc.uint8Array({ maxLength: 8 });
  const write = fc.record({
    kind: fc.constant('write' as const),
    operations: fc.array(fc.oneof(fc.record({ key, value }), fc.record({ key })), { maxLength: 60 }),
  });
  const clear = fc.record({ kind: fc.constant('clear' as const), gte: key, lt: key });
  const read = fc.record({
    kind: fc.constant('read' as const),
    options: fc.record(
      { gte: key, lt: key, reverse: fc.boolean(), limit: fc.nat(20), chunkBytes: fc.integer({ min: 1, max: 64 }) },
      { requiredKeys: ['gte', 'lt'] },
    ),
    count: fc.integer({ min: 1, max: 20 }),
  });
  return fc.array(
    fc.oneof({ weight: 3, arbitrary: write }, { weight: 1, arbitrary: clear }, { weight: 4, arbitrary: read }),
    { maxLength: 30 },
  );
}

interface Answer {
  readonly found: unknown;
  readonly wanted: unknown;
}

async function follow({ store, reader }: KvUnderTest, history: readonly Step[]): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  await store.clear(LOWEST, bytes(0xff, 0xff, 0xff, 0xff, 0xff));
  let judge: readonly KvRow[] = [];
  for (const step of history) {
    if (step.kind === 'read') {
      const found = plain(await drain(reader, step.options, step.count));
      answers.push({ found, wanted: plain(judgeRange(judge, step.options)) });
    } else if (step.kind === 'clear') {
      await store.clear(step.gte, step.lt);
      judge = judge.filter(({ key }) => compareBytes(key, step.gte) < 0 || compareBytes(key, step.lt) >= 0);
    } else {
      judge = await writeBoth(store, judge, step.operations);
    }
  }
  for (const { key, value } of judge) answers.push({ found: [...(reader.get(key) ?? [])], wanted: [...value] });
  return answers;
}

async function writeBoth(
  store: KvStore,
  judge: readonly KvRow[],
  operations: readonly Operation[],
): Promise<readonly KvRow[]> {
  const batch = store.batch();
  let rows = judge;
  for (const { key, value } of operations) {
    rows = rows.filter((row) => compareBytes(row.key, key) !== 0);
    if (value === undefined) batch.del(key);
    else {
      batch.put(key, value);
      rows = [...rows, { key, value }].toSorted((a, b) => compareBytes(a.key, b.key));
    }
  }
  await store.write(batch);
  return rows;
}

function judgeRange(rows: readonly KvRow[], options: KvRangeOptions): readonly KvRow[] {
  const inside = rows.filter(({ key }) => compareBytes(key, options.gte) >= 0 && compareBytes(key, options.lt) < 0);
  return (options.reverse === true ? inside.toReversed() : inside).slice(0, options.limit ?? inside.length);
}
