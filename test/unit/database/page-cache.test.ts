// Goal: readers that lend pages share them: each page is read from the store once, is unchanged while a reader uses it
// (D12), and belongs to one owner (D18). Method: a store whose values are overwritten when they are released.
import { beforeAll, describe, expect, it } from 'vitest';
import { DatabaseReader, PageCache } from '#database';
import { CountingReader } from '../../support/counting-reader.ts';
import { KnownDatabase } from '../../support/known-database.ts';
import { LendingReader } from '../../support/lending-reader.ts';
import { memoryKv } from '../../support/memory-kv.ts';

/** More pages than the capacity of the cache. */
const TRANSACTIONS = 400;
const PAGES_KEPT_MAX = 128;
const LARGE = 100;
const store = memoryKv();
const database = new KnownDatabase(store);

beforeAll(() => {
  const dataOf = (n: number): Uint8Array => new Uint8Array(n === LARGE ? 40_000 : 100).fill(n % 251);
  const typeOf = (n: number): string => (n % 2 === 0 ? 'even' : 'odd');
  return database.fill(TRANSACTIONS, (n) => [{ source: 'a', type: typeOf(n), data: dataOf(n) }], 1);
});

function world(owner: object = {}) {
  const lending = new LendingReader(store);
  const counting = new CountingReader(lending);
  const cache = new PageCache(counting);
  return { lending, counting, cache, source: { ...database.source, kv: counting, pages: { cache, owner } } };
}

type World = ReturnType<typeof world>;

function readerOf({ source }: Pick<World, 'source'>): DatabaseReader {
  return new DatabaseReader(source, { lends: true });
}

/** The data of the only event of a page, as the byte that it repeats. */
function byteOf(reader: DatabaseReader, revision: number): number | undefined {
  return reader.page(revision).body().at(-1);
}

describe('shared pages', () => {
  it('are read from the store once', () => {
    const shared = world();
    const first = readerOf(shared);
    expect(byteOf(first, 7)).toBe(7);
    first.releasePages();
    const { gets } = shared.counting;
    expect(byteOf(readerOf(shared), 7)).toBe(7);
    expect({ gets: shared.counting.gets, releases: shared.lending.releases }).toEqual({ gets, releases: 0 });
  });

  it('are unchanged while a reader uses them, and are released after their eviction (D12)', () => {
    const shared = world();
    const slow = readerOf(shared);
    const page = slow.page(7);
    const quick = readerOf(shared);
    for (let revision = 1; revision <= TRANSACTIONS; revision++) {
      expect(byteOf(quick, revision)).toBe(revision % 251);
      quick.releasePages();
    }
    expect(page.body().at(-1)).toBe(7);
    const { releases } = shared.lending;
    expect(TRANSACTIONS - releases).toBeLessThanOrEqual(PAGES_KEPT_MAX + 1);
    slow.releasePages();
    expect(shared.lending.releases).toBe(releases + 1);
  });

  it('belong to their owner (D18)', () => {
    const shared = world();
    const before = byteOf(readerOf(shared), 7);
    const { gets } = shared.counting;
    const other = { ...shared.source, pages: { cache: shared.cache, owner: {} } };
    expect(byteOf(readerOf({ source: other }), 7)).toBe(before);
    expect(shared.counting.gets).toBe(gets + 1);
  });

  it('are not used by readers that do not lend', () => {
    const shared = world();
    byteOf(readerOf(shared), 7);
    const { gets } = shared.counting;
    expect(byteOf(new DatabaseReader(shared.source), 7)).toBe(7);
    expect(shared.counting.gets).toBe(gets + 1);
  });
});
