// Goal: a scan returns the log in either direction, from any revision, with any limit, as transactions or as events
// (Q6), and fails at a missing page. Method: a database of pages of all sizes; LogBatch decoded by the generated code.
import { beforeAll, describe, expect, it } from 'vitest';
import { DatabaseReader } from '#database';
import type { KvStore } from '#kv';
import type { Direction } from '#model';
import { type LogScan, pulled, scanLogBatches, scanLogEvents } from '#query';
import { LogBatch } from '../../../proto/gen/cairn/v1/transaction.ts';
import { CREATED_AT_MS, KnownDatabase } from '../../support/known-database.ts';
import { LendingReader } from '../../support/lending-reader.ts';
import { memoryKv } from '../../support/memory-kv.ts';

const TRANSACTIONS = 120;
const store: KvStore = memoryKv();
const database = new KnownDatabase(store);

beforeAll(async () => {
  for (let n = 0; n < TRANSACTIONS; n++) {
    // Mostly small, sometimes larger than a page. Ids repeat, so that most events are stored with another id.
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

const up = Array.from({ length: TRANSACTIONS }, (_, n) => n + 1);

function wantedRevisions({ at, direction, start = 0, limit }: LogScan): readonly number[] {
  const upTo = up.filter((revision) => revision <= at);
  const inOrder = direction === 'forward' ? upTo : upTo.toReversed();
  const from = inOrder.filter((n) => start === 0 || (direction === 'forward' ? n >= start : n <= start));
  return from.slice(0, limit ?? from.length);
}

const SCANS: readonly LogScan[] = (['forward', 'reverse'] as const).flatMap((direction: Direction) => [
  { at: TRANSACTIONS, direction },
  { at: TRANSACTIONS, direction, pace: pulled(1) },
  { at: 0, direction },
  { at: 77, direction, start: 0 },
  { at: TRANSACTIONS, direction, start: 64 },
  { at: 77, direction, start: 78 },
  { at: TRANSACTIONS, direction, start: Number.MAX_SAFE_INTEGER },
  { at: TRANSACTIONS, direction, start: 20, limit: 1 },
  { at: TRANSACTIONS, direction, limit: 33 },
]);

describe.each(SCANS)('a scan with %o', (scan) => {
  it('returns the transactions in order, in their stored form, in slices that are lent (Q6, D12)', async () => {
    const revisions: number[] = [];
    const ids: string[] = [];
    const lending = new LendingReader(database.source.kv);
    for await (const slices of scanLogBatches({ ...database.source, kv: lending }, { ...scan, lent: true })) {
      for (const { firstRevision, lastRevision, bytes } of slices) {
        const { transactions } = LogBatch.decode(bytes);
        expect([firstRevision, lastRevision]).toEqual([transactions[0]?.revision, transactions.at(-1)?.revision]);
        for (const { revision, body, storedIds } of transactions) {
          revisions.push(revision);
          expect(body?.events).toHaveLength(2);
          ids.push(storedIds.find(({ index }) => index === 0)?.id ?? body?.events[0]?.id ?? '');
        }
      }
    }
    expect(revisions).toEqual(wantedRevisions(scan));
    expect(ids).toEqual(revisions.map((revision) => idOf(revision)));
    expect(lending.releases > 0).toBe(revisions.length > 0);
  });

  it('returns the events in order', async () => {
    const events = [];
    for await (const slice of scanLogEvents(database.source, scan)) events.push(...slice);
    const { limit, ...unlimited } = scan;
    const wanted = wantedRevisions(unlimited).flatMap((revision) => {
      const known = database.events.filter(({ stored }) => stored.position.revision === revision);
      return scan.direction === 'forward' ? known : known.toReversed();
    });
    expect(events).toEqual(wanted.slice(0, limit ?? wanted.length).map(({ stored }) => stored));
  });
});

function idOf(revision: number): string {
  const known = database.events.find(
    ({ stored: { position } }) => position.revision === revision && position.index === 0,
  );
  return known?.stored.storedId ?? known?.event.id ?? '';
}

it.each([
  ['forward', 3],
  ['reverse', 3],
  ['forward', 15],
  ['reverse', 18],
] as const)('a scan over a log with a hole going %s fails when page %i is missing', async (direction, page) => {
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
