// Goal: names are listed in order as of a revision, and look-ups return the events of the log. Method: a small database
// whose names are prefixes of one another; every prefix and page size is compared with a sorted list.
import { beforeAll, describe, expect, it } from 'vitest';
import {
  eventById,
  type ListedName,
  type Listing,
  listSubjects,
  revisionAtTimestamp,
  transactionAt,
  transactionById,
} from '#query';
import { CREATED_AT_MS, KnownDatabase, transactionIdOf } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';

const NAMES = ['b', 'a', 'a-b', 'ab', 'a/b', 'é', 'z', '\u{1f600}', '\uffff'];
const database = new KnownDatabase(memoryKv());

beforeAll(async () => {
  for (const [n, name] of NAMES.entries()) {
    const source = `/x/${encodeURIComponent(name)}`;
    const named = { source, type: `t.${name}`, subject: name };
    database.apply([named, { source, type: 'u', id: 'same' }], CREATED_AT_MS + 1_000 * n);
  }
  await database.flush();
});

const bytesOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

async function gather(slices: AsyncIterable<readonly ListedName[]>): Promise<readonly ListedName[]> {
  const names: ListedName[] = [];
  for await (const slice of slices) names.push(...slice);
  return names;
}

const LISTINGS: readonly Listing[] = [
  { at: NAMES.length },
  { at: 4 },
  { at: 0 },
  { at: NAMES.length, prefix: 'a' },
  { at: NAMES.length, prefix: 'nothing' },
  { at: NAMES.length, after: 'a' },
  { at: NAMES.length, after: 'aa', prefix: 'a' },
  { at: NAMES.length, after: '\u{1f600}' },
  { at: NAMES.length, limit: 2 },
  { at: NAMES.length, after: 'a', limit: 1, prefix: 'a' },
];

describe.each(LISTINGS)('a listing of subjects with %o', (listing) => {
  it('returns their names in the order of their bytes, each with its first revision', async () => {
    const wanted = NAMES.map((name, n) => ({ name, firstRevision: n + 1 }))
      .filter(({ firstRevision }) => firstRevision <= listing.at)
      .filter(({ name }) => name.startsWith(listing.prefix ?? '') && bytesOrder(name, listing.after ?? '') > 0)
      .toSorted((a, b) => bytesOrder(a.name, b.name))
      .slice(0, listing.limit ?? NAMES.length);
    expect(await gather(listSubjects(database.source, listing))).toEqual(wanted);
  });
});

describe('a look-up', () => {
  it('of a stream and an id returns the event with that id, as of a revision', async () => {
    const wanted = { stream: 'b', id: 'same' };
    expect(await eventById(database.source, 1, wanted)).toEqual(database.events[1]?.stored);
    expect(await eventById(database.source, 0, wanted)).toBeUndefined();
    expect(await eventById(database.source, 9, { stream: 'b', id: 'other' })).toBeUndefined();
    expect(await eventById(database.source, 9, { stream: 'none', id: 'same' })).toBeUndefined();
  });

  it('of a transaction id returns its transaction, as of a revision', async () => {
    expect((await transactionById(database.source, 9, transactionIdOf(4)))?.revision).toBe(4);
    expect(await transactionById(database.source, 3, transactionIdOf(4))).toBeUndefined();
    expect(await transactionById(database.source, 9, transactionIdOf(99))).toBeUndefined();
    expect(await transactionAt(database.source, 4)).toEqual(
      await transactionById(database.source, 9, transactionIdOf(4)),
    );
  });

  it.each([
    [-1, undefined],
    [0, 1],
    [999, 1],
    [1_000, 2],
    [7_500, 8],
    [1e9, 9],
  ])('of a time %d ms after the creation returns revision %s', async (passedMs, revision) => {
    const ms = CREATED_AT_MS + passedMs;
    const time = { seconds: Math.floor(ms / 1000), nanos: (ms - Math.floor(ms / 1000) * 1000) * 1_000_000 + 999_999 };
    expect(await revisionAtTimestamp(database.source, 9, time)).toBe(revision);
  });

  it('of a time returns no revision after that of the read', async () => {
    expect(await revisionAtTimestamp(database.source, 4, { seconds: 1e10, nanos: 0 })).toBe(4);
    await expect(revisionAtTimestamp(database.source, 10, { seconds: 0, nanos: 0 })).rejects.toThrow('it has applied');
  });
});
