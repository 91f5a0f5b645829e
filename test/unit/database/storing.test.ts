// Goal: large, numerous or old data is stored and found like any other: chunks, records, spilled tips, evicted heads.
// Method: examples at the limits, each read back through the readers.
import { expect, it } from 'vitest';
import { encodeUtf8 } from '#base';
import {
  compareHistory,
  DatabaseReader,
  databaseAt,
  eventsOf,
  HEAD_KIND,
  type PostingEntry,
  readTimeKey,
  readTimeRow,
} from '#database';
import { and, NO_SUBJECT, readEvent, type Selector, term } from '#model';
import { CountingReader } from '../../support/counting-reader.ts';
import { walkPostings } from '../../support/database-checks.ts';
import { DatabaseHost, sourceOf } from '../../support/database-host.ts';
import type { OracleEvent } from '../../support/database-oracle.ts';
import { transactionOf } from '../../support/database-requests.ts';
import { LendingReader } from '../../support/lending-reader.ts';
import { withMethods } from '../../support/with-methods.ts';

const ORDERS = { kind: HEAD_KIND.STREAM, term: encodeUtf8('orders') } as const;

function orders(count: number, from = 0): OracleEvent[] {
  return Array.from({ length: count }, (_, place) => ({
    id: `e-${from + place}`,
    type: 'placed',
    source: 'orders',
    stream: 'orders',
    subject: `s-${from + place}`,
  }));
}

/** A reader that gets no more bytes than it asks for, which are overwritten when it releases them. */
function readerOf({ source, kv }: DatabaseHost): DatabaseReader {
  return new DatabaseReader({ ...source, kv: new LendingReader(kv) }, { lends: true });
}

/** Latest revision of the selector, as a constraint that never holds reports it. */
async function latestOf(host: DatabaseHost, selector: Selector): Promise<number> {
  const never = { kind: 'min-revision' as const, revision: 9999, selector };
  const outcome = await host.apply(transactionOf(orders(1), [never]));
  return outcome.kind === 'violated' ? (outcome.violations[0]?.found ?? -1) : -1;
}

function postings(reader: DatabaseReader, at: number): Promise<readonly PostingEntry[]> {
  return walkPostings(reader, ORDERS, { at, direction: 'forward' });
}

it.each([63, 64, 65, 1000])('posting lists have %i events of one transaction, in order', async (count) => {
  const host = new DatabaseHost();
  await host.apply(transactionOf(orders(count)));
  await host.flush();
  const reader = host.reader();
  const found = await postings(reader, 1);
  expect(found.map(({ index }) => index)).toEqual(Array.from({ length: count }, (_, index) => index));
  const ids = found.map((entry) => reader.eventBytes(entry)).map((bytes) => readEvent(bytes, 0, bytes.length).id);
  expect(ids).toEqual(orders(count).map(({ id }) => id));
  expect(reader.head(ORDERS)).toMatchObject({ count, inlineCount: count % 64 === 0 ? 64 : count % 64 });
});

it('records of any size are found by revision, by event and in slices of any size', async () => {
  const host = new DatabaseHost();
  const sizes = [0, 300, 4000, 20_000, 0, 1, 200_000];
  for (let n = 0; n < 40; n++)
    await host.apply(transactionOf(orders(1 + (n % 3), 3 * n), [], new Uint8Array(sizes[n % sizes.length] ?? 0)));
  await host.flush();
  const reader = readerOf(host);
  const whole = Array.from({ length: 40 }, (_, at) => new DatabaseReader(host.source).transaction(at + 1));
  for (const { revision, position, end } of whole.toReversed()) {
    expect(reader.transactionHead(revision)).toMatchObject({ revision, position, end });
    expect(eventsOf(reader.transaction(revision)).map(({ position: at }) => at.revision)).toContain(revision);
    reader.release();
  }
  const { end } = reader.applied() ?? { end: 0 };
  expect(reader.end(40)).toBe(end);
  expect(reader.end(39)).toBe(reader.start(40));
  expect(() => reader.start(41)).toThrow('the position of a record is missing');
  for (const bytes of [1, 5000, 1e6]) {
    const found: unknown[] = [];
    for (let from = 0; from < end; ) {
      const slice = await reader.transactions({ from, to: end }, bytes);
      found.push(...slice.map(({ position }) => position));
      const records = await reader.records({ from, to: end }, bytes);
      expect(records.bytes).toHaveLength(records.end - from);
      expect(records.records[0]).toMatchObject({ position: found[found.length - slice.length] });
      from = slice.at(-1)?.end ?? end;
      reader.release();
    }
    expect(found).toEqual(whole.map(({ position }) => position));
  }
});

it('events of posting entries are the same one by one and all at once, in any order', async () => {
  const host = new DatabaseHost();
  // Every third id is taken, and some events are longer than what is read at first.
  for (let n = 0; n < 60; n++)
    await host.apply(transactionOf(orders(1, n % 3 === 0 ? 0 : n), [], new Uint8Array(n % 5 === 0 ? 5000 : 10)));
  // The ids of the second are longer than what is read at first.
  for (let n = 0; n < 2; n++) await host.apply(transactionOf(orders(100, 500), [], new Uint8Array(2000)));
  await host.flush();
  const reader = readerOf(host);
  const list = await postings(reader, 62);
  const shuffled = list.toSorted((left, right) => ((left.revision * 7) % 61) - ((right.revision * 7) % 61));
  for (const entries of [list, shuffled, list.slice(0, 1), []]) {
    reader.release();
    expect(await reader.eventsOf(entries)).toEqual(
      entries.map((entry) => new DatabaseReader(host.source).eventIn(entry)),
    );
  }
  expect(list.filter(({ hasStoredId }) => hasStoredId)).toHaveLength(119);
});

it('the facts of an earlier revision are read off this thread', async () => {
  const host = new DatabaseHost();
  for (let n = 0; n < 2; n++) await host.apply(transactionOf(orders(3, 3 * n)));
  await host.flush();
  const history = withMethods(host.kv.history, {
    read: () => {
      throw new Error('This thread would wait for the disk');
    },
  });
  const reader = new DatabaseReader({ ...host.source, kv: withMethods(host.kv, { history }) });
  const applied = host.machine.applied;
  expect(await databaseAt(reader, applied, 1)).toMatchObject({ revision: 1, totalEvents: 3 });
  expect(await databaseAt(reader, applied, 2)).toMatchObject({ revision: 2, totalEvents: 6 });
});

it('a position of a peer that is inside an event makes a comparison read little', async () => {
  const host = new DatabaseHost();
  const hash = new Uint8Array(32).fill(7);
  // It looks like a definition of 5 MB.
  const forged = [2, 0xc0, 0x96, 0xb1, 0x02, 1, 1, 1, ...hash, 2, 3];
  const data = new Uint8Array(900_000);
  data.set(forged);
  for (let n = 0; n < 7; n++) await host.apply(transactionOf(orders(1, n), [], data));
  await host.flush();
  const { bytes, position: start } = host.reader().transaction(1);
  const position = start + Buffer.from(bytes).indexOf(Buffer.from(forged));
  const { revision, chainHash } = host.machine.applied;
  const counted = new CountingReader(host.kv);
  const verdict = compareHistory({ ...host.source, kv: counted }, { revision, chainHash, control: { position, hash } });
  expect(verdict).toMatchObject({ here: 'missing' });
  expect(counted.bytes).toBeLessThan(100_000);
});

it('rows of effective times have whole transactions, and no further one when they have 256 events', async () => {
  const host = new DatabaseHost();
  for (const [n, count] of [200, 300, 2, 1].entries()) await host.apply(transactionOf(orders(count, 1000 * n)));
  await host.flush();
  await host.apply(transactionOf(orders(1, 9000)));
  await host.flush();
  const { keys } = host.reader();
  const rows = await host.kv.range(keys.tables(0x09, 0x0a)).next(10);
  const found = rows.map(({ key, value }) => {
    const place = readTimeKey(key);
    const entries = readTimeRow(key, value, place);
    return [place.firstRevision, ...new Set(entries.map(({ revision }) => revision)), entries.length];
  });
  expect(found).toEqual([
    [1, 1, 2, 500],
    [3, 3, 4, 3],
    [5, 5, 1],
  ]);
});

it.each(['kept in memory', 'read again after a restart'])(
  'spilled tips (D4) give the right answer for every combination, %s',
  async (how) => {
    const host = new DatabaseHost();
    const reopen = how !== 'kept in memory';
    for (let n = 0; n < 40; n++) {
      const event = { id: `e-${n}`, type: `t-${n}`, source: `/n/${n}/orders`, stream: 'orders', subject: 's' };
      await host.apply(transactionOf([event]));
      await host.flush();
    }
    if (reopen) await host.reopen(true);
    const subject = term('by-subject', 's');
    const stream = term('by-stream', 'orders');
    for (const n of [0, 31, 32, 39]) {
      const type = term('by-type', `t-${n}`);
      const source = term('by-source', `/n/${n}/orders`);
      const other = term('by-type', `t-${(n + 1) % 40}`);
      for (const parts of [
        [stream, type],
        [subject, type],
        [subject, source],
        [subject, stream, type],
        [subject, source, type],
      ]) {
        expect(await latestOf(host, and(parts))).toBe(n + 1);
      }
      expect(await latestOf(host, and([subject, source, other]))).toBe(0);
      expect(await latestOf(host, and([source, other]))).toBe(0);
    }
    expect(await latestOf(host, and([subject, stream]))).toBe(40);
    expect(await latestOf(host, and([subject, term('by-type-prefix', 't-3')]))).toBe(40);
    expect(await latestOf(host, and([stream, term('by-type-prefix', 't-1')]))).toBe(20);
  },
);

it.each([false, true])(
  'spilled tips of streams and sources (D4) have the latest event without a subject, from before and after they spilled (reopened: %s)',
  async (reopen) => {
    const host = new DatabaseHost();
    const event = (n: number, type: number, subject: string | undefined): OracleEvent => {
      return { id: `e-${n}`, type: `t-${type}`, source: 'orders', stream: 'orders', subject };
    };
    for (let n = 1; n <= 40; n++) await host.apply(transactionOf([event(n, n, n % 2 === 0 ? 's' : undefined)]));
    await host.flush();
    if (reopen) await host.reopen(false);
    // Types 3 and 35 had their first event without a subject, 4 and 36 with one; type 3 existed before the head
    // spilled.
    for (const [n, type] of [3, 4, 35, 36].entries()) await host.apply(transactionOf([event(100 + n, type, 's')]));
    await host.apply(transactionOf([event(200, 36, undefined)]));
    const found: number[] = [];
    for (const type of [3, 4, 35, 36]) {
      for (const where of [term('by-stream', 'orders'), term('by-source', 'orders')]) {
        found.push(await latestOf(host, and([where, term('by-type', `t-${type}`), NO_SUBJECT])));
        found.push(await latestOf(host, and([where, term('by-type', `t-${type}`)])));
      }
    }
    expect(found).toEqual([3, 41, 3, 41, 0, 42, 0, 42, 35, 43, 35, 43, 45, 45, 45, 45]);
  },
);

it('broken rows (D1) stop a machine that needs them', async () => {
  const host = new DatabaseHost();
  await host.apply(transactionOf(orders(3)));
  await host.flush();
  const key = host.reader().keys.head(ORDERS).slice();
  const value = host.kv.get(key)?.slice() ?? new Uint8Array(1);
  value[5] = (value[5] ?? 0) ^ 1;
  const batch = host.kv.batch();
  batch.put(key, value);
  await host.kv.write(batch);
  await host.reopen(false);
  await expect(host.apply(transactionOf(orders(1, 9)))).rejects.toThrow('is corrupt: its checksum is');
  const reader = new DatabaseReader(sourceOf(host.kv));
  expect(() => reader.head(ORDERS)).toThrow('is corrupt');
});
