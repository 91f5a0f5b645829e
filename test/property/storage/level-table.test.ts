// Goal: the rows of tables, compressed or not, are those that LevelDB returns (W19). Method: random histories; the live
// tables of the MANIFEST, merged by sequence numbers.
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { openLevelStore } from '#storage';
import { ManifestReader, tableName } from '../../../src/storage/level-manifest.ts';
import { LevelTable } from '../../../src/storage/level-table.ts';
import { runs } from '../../support/runs.ts';
import { tempDir } from '../../support/temp-dir.ts';

const NOTHING = new Uint8Array(0);
const END = Uint8Array.of(0xff, 0xff);
const KEY_TAIL_BYTES = 8;
const PUT = 1;

type Step = { readonly key: Uint8Array; readonly value: Uint8Array | undefined };
type Rows = ReadonlyMap<string, string>;

const key = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 3, max: 3 }),
  fc.uint8Array({ minLength: 1, maxLength: 40, max: 254 }),
);
const value = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.tuple(fc.nat(255), fc.integer({ min: 1, max: 9000 })).map(([byte, length]) => new Uint8Array(length).fill(byte)),
);
const step: fc.Arbitrary<Step> = fc.record({ key, value: fc.option(value, { nil: undefined, freq: 4 }) });

it('rows of tables are those that LevelDB reads (W19)', { timeout: 120_000 }, async () => {
  const history = fc.array(fc.array(step, { minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(history, fc.boolean(), async (batches, compression) => {
      using dir = tempDir();
      const byLevelDb = await written(dir.path, batches, compression);
      expect(rowsOfTables(dir.path)).toEqual(byLevelDb);
    }),
    { numRuns: runs(25) },
  );
});

/** Writes the batches, with at least one table after each, and reads everything back through LevelDB. */
async function written(dir: string, batches: readonly (readonly Step[])[], compression: boolean): Promise<Rows> {
  const store = await openLevelStore(dir, { compression, maxFileBytes: 2 ** 20 });
  for (const [i, steps] of batches.entries()) {
    const batch = store.batch();
    for (const { key: at, value: bytes } of steps) {
      if (bytes === undefined) batch.del(at);
      else batch.put(at, bytes);
    }
    await store.write(batch);
    // Compacts a part of the keys, so that several tables of several ages remain.
    await store.compact(NOTHING, i % 2 === 0 ? END : Uint8Array.of(2));
  }
  await store.compact(NOTHING, END);
  const range = store.range({ gte: NOTHING, lt: END });
  const rows = new Map<string, string>();
  // A slice is shorter when its rows are large.
  for (let slice = await range.next(1000); slice.length > 0; slice = await range.next(1000)) {
    for (const row of slice) rows.set(hex(row.key), hex(row.value));
  }
  await range.close();
  await store.close();
  return rows;
}

function rowsOfTables(dir: string): Rows {
  const newest = new Map<string, { readonly sequence: bigint; readonly value: string | undefined }>();
  for (const { number, bytes } of new ManifestReader(dir).readOn()?.tables ?? []) {
    const table = LevelTable.open(join(dir, tableName(number)), bytes);
    table.verify(table.rowBlocks);
    for (const row of table.rowBlocks.flatMap((block) => table.rows(block))) {
      const at = row.key.length - KEY_TAIL_BYTES;
      const tail = new DataView(row.key.buffer, row.key.byteOffset + at).getBigUint64(0, true);
      const name = hex(row.key.subarray(0, at));
      const sequence = tail >> 8n;
      if ((newest.get(name)?.sequence ?? -1n) > sequence) continue;
      newest.set(name, { sequence, value: Number(tail & 0xffn) === PUT ? hex(row.value) : undefined });
    }
    table.close();
  }
  const live = [...newest].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Map(live.flatMap(([name, { value: bytes }]) => (bytes === undefined ? [] : [[name, bytes] as const])));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
