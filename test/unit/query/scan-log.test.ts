// Goal: a scan returns the log in either direction, from any revision, with any limit, as transactions or as events
// (Q6), and fails at a missing record. Method: transactions of all sizes; LogBatch decoded by the generated code.
import { beforeAll, describe, expect, it } from 'vitest';
import { DatabaseReader, isFaultOfRow } from '#database';
import type { KvStore } from '#kv';
import type { Direction } from '#model';
import { frameTransactions, type LogScan, pulled, scanLogBatches, scanLogEvents } from '#query';
import { LogBatch } from '../../../proto/gen/cairn/v1/transaction.ts';
import { CREATED_AT_MS, KnownDatabase } from '../../support/known-database.ts';
import { LendingReader } from '../../support/lending-reader.ts';
import { memoryKv } from '../../support/memory-kv.ts';

const TRANSACTIONS = 120;
const store: KvStore = memoryKv();
const database = new KnownDatabase(store);

beforeAll(async () => {
  for (let n = 0; n < TRANSACTIONS; n++) {
    // Mostly small, sometimes larger than the first slice. Ids repeat, so that most events are stored with another id.
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
    for await (const slice of scanLogBatches({ ...database.source, kv: lending }, { ...scan, lent: true })) {
      const framed = frameTransactions(slice);
      expect(new DataView(framed.buffer).getUint32(1)).toBe(framed.length - 5);
      for (const { revision, body, storedIds } of LogBatch.decode(framed.subarray(5)).transactions) {
        revisions.push(revision);
        expect(body?.events).toHaveLength(2);
        ids.push(storedIds.find(({ index }) => index === 0)?.id ?? body?.events[0]?.id ?? '');
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

describe.each(['forward', 'reverse'] as const)('a scan of a damaged log going %s', (direction) => {
  const damaged = memoryKv();
  const other = new KnownDatabase(damaged);
  const { keys } = new DatabaseReader(other.source);

  beforeAll(() => other.fill(20, () => [{ source: 'a', type: 't' }]));

  async function scanFrom(start: number): Promise<number> {
    let count = 0;
    const scan = { at: 20, direction, start, pace: pulled(1) };
    for await (const slice of scanLogBatches(other.source, scan)) count += slice.length;
    return count;
  }

  it('fails at a record whose position is missing, or is that of another record', async () => {
    const [position, next] = [damaged.get(keys.position(7)), damaged.get(keys.position(8))];
    if (position === undefined || next === undefined) throw new Error('Each revision has a position');
    const cases = [
      [undefined, 'UnexpectedRow'],
      [next, 'CorruptRecord'],
    ] as const;
    for (const [wrong, reason] of cases) {
      const batch = damaged.batch();
      if (wrong === undefined) batch.del(keys.position(7));
      else batch.put(keys.position(7), wrong);
      await damaged.write(batch);
      await expect(scanFrom(0)).rejects.toMatchObject({ code: 'internal', details: { reason } });
    }
    const batch = damaged.batch();
    batch.put(keys.position(7), position);
    await damaged.write(batch);
    expect(await scanFrom(0)).toBe(20);
  });

  it('fails at the end of a history that is too short', async () => {
    await damaged.cutHistory(other.source.group, new DatabaseReader(other.source).start(15));
    await expect(scanFrom(0)).rejects.toSatisfy(isFaultOfRow);
  });
});
