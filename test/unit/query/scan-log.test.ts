// Goal: a scan gives the log as it is, in either direction, from any revision, with any limit, as transactions or as
// events (Q6), and stops at a hole. Method: a database of pages of all sizes; LogBatch decoded by the generated code.

import { beforeAll, describe, expect, it } from 'vitest';
import { DatabaseReader } from '#database';
import { type KvStore, memoryKv } from '#kv';
import { scanLogBatches } from '#query';
import { CREATED_AT_MS, KnownDatabase } from '../../support/known-database.ts';

const TRANSACTIONS = 120;
const store: KvStore = memoryKv();
const database = new KnownDatabase(store);

beforeAll(async () => {
  for (let n = 0; n < TRANSACTIONS; n++) {
    // Mostly small, sometimes larger than a page; the id comes again and again, so that most are stored differently.
    const data = new Uint8Array(n % 10 === 0 ? 30_000 : 400);
    const id = n % 3 === 0 ? {} : { id: 'again' };
    database.apply(
      [
        { source: 'a', type: 't', data, ...id },
        { source: 'b', type: 't' },
      ],
      CREATED_AT_MS + n,
    );
    if (n % 17 === 0) await database.flush();
  }
  await database.flush();
});

describe('a scan over a log with a hole', () => {
  it.each([
    ['forward', 3],
    ['reverse', 3],
    ['forward', 15],
    ['reverse', 18],
  ] as const)('going %s fails when page %i is missing', async (direction, page) => {
    const holed = memoryKv();
    const other = new KnownDatabase(holed);
    for (let n = 0; n < 20; n++) {
      other.apply([{ source: 'a', type: 't' }], CREATED_AT_MS);
      await other.flush();
    }
    const batch = holed.batch();
    batch.del(new DatabaseReader(other.source).keys.page(page));
    await holed.write(batch);
    const scan = async (): Promise<void> => {
      for await (const slices of scanLogBatches(other.source, { at: 20, direction }))
        expect(slices.length).toBeGreaterThan(0);
    };
    await expect(scan()).rejects.toMatchObject({ code: 'internal', details: { reason: 'UnexpectedRow' } });
  });
});
