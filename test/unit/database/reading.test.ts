// Goal: a reader sees exactly the events up to its revision, whatever is written between two of its steps (D7).
// Method: every kind of walk, one wait at a time, with transactions and flushes in between, against what was there.

import { describe, expect, it } from 'vitest';
import { decodeUtf8, encodeUtf8 } from '#base';
import { HEAD_KIND, PostingCursor, revisionAtTime, walkHeads } from '#database';
import { CREATED_AT_MS, DatabaseHost } from '../../support/database-host.ts';
import type { OracleEvent } from '../../support/database-oracle.ts';
import { payloadOf } from '../../support/database-requests.ts';

const BEFORE = 150;

/** A database that grows by two events, all of one stream and of one second, whenever it is told to. */
class GrowingDatabase {
  readonly host = new DatabaseHost();
  #count = 0;

  async grow(transactions: number): Promise<void> {
    for (let n = 0; n < transactions; n++) {
      this.#count++;
      const time = { seconds: 1000 + (this.#count % 3), nanos: this.#count };
      const events = [0, 1].map((index): OracleEvent => {
        const subject = `s-${String(this.#count).padStart(5, '0')}-${index}`;
        return { id: subject, type: 'placed', source: 'orders', stream: 'orders', subject, time };
      });
      const transactionId = this.#count.toString(16).padStart(32, '0');
      await this.host.apply(
        payloadOf({ transactionId, stampedMs: CREATED_AT_MS + this.#count, events, constraints: [] }),
      );
    }
    await this.host.flush();
  }

  static async of(transactions: number): Promise<GrowingDatabase> {
    const database = new GrowingDatabase();
    for (let grown = 0; grown < transactions; grown += 10) await database.grow(10);
    return database;
  }
}

async function* entriesOf(cursor: PostingCursor | undefined): AsyncGenerator<PostingCursor> {
  if (cursor === undefined) return;
  let more = await cursor.load();
  while (more) {
    yield cursor;
    more = cursor.advance() || (await cursor.load());
  }
  await cursor.close();
}

/** Positions of both events of the revisions 1 to `BEFORE`. */
const EXPECTED = Array.from({ length: BEFORE }, (_, place) => [`${place + 1}.0`, `${place + 1}.1`]).flat();

function text({ revision, index }: { readonly revision: number; readonly index: number }): string {
  return `${revision}.${index}`;
}

describe('a posting cursor (D7)', () => {
  const name = { kind: HEAD_KIND.STREAM, term: encodeUtf8('orders') };

  it.each(['forward', 'reverse'] as const)('walks %s over what was there when it began', async (direction) => {
    const database = await GrowingDatabase.of(BEFORE);
    const cursor = PostingCursor.open(database.host.reader(), { name, at: BEFORE, direction });
    const found: string[] = [];
    for await (const entry of entriesOf(cursor)) {
      found.push(text(entry));
      if (found.length % 20 === 0) await database.grow(7);
    }
    expect(found).toEqual(direction === 'forward' ? EXPECTED : EXPECTED.toReversed());
  });

  it.each(['forward', 'reverse'] as const)('jumps %s over what was there when it began', async (direction) => {
    const database = await GrowingDatabase.of(BEFORE);
    const cursor = PostingCursor.open(database.host.reader(), { name, at: BEFORE, direction });
    const found: string[] = [];
    const revisions = [1, 40, 41, 90, 130, 149, 150, 151].map((r) => (direction === 'forward' ? r : BEFORE + 1 - r));
    for (const revision of revisions) {
      if (await cursor?.seek({ revision, index: 0 })) found.push(text(cursor ?? { revision: 0, index: 0 }));
      await database.grow(9);
    }
    await cursor?.close();
    expect(found).toEqual(revisions.slice(0, -1).map((revision) => `${revision}.0`));
  });

  it('stays at its end, and can be closed twice', async () => {
    const database = await GrowingDatabase.of(10);
    const cursor = PostingCursor.open(database.host.reader(), { name, at: 10, direction: 'forward' });
    expect(await cursor?.seek({ revision: 11, index: 0 })).toBe(false);
    expect(await cursor?.load()).toBe(false);
    expect([cursor?.onEntry, cursor?.advance()]).toEqual([false, false]);
    await cursor?.close();
    await cursor?.close();
    expect(await cursor?.seek({ revision: 1, index: 0 })).toBe(false);
  });
});

describe('walks over rows (D7)', () => {
  it('by term leave out what began later', async () => {
    const database = await GrowingDatabase.of(BEFORE);
    await database.grow(50);
    const found: (string | undefined)[] = [];
    const walk = { kind: HEAD_KIND.SUBJECT, prefix: encodeUtf8('s-001'), at: BEFORE, after: encodeUtf8('s-00139-1') };
    for await (const heads of walkHeads(database.host.reader(), walk)) {
      found.push(...heads.map((head) => decodeUtf8(head.name.term ?? new Uint8Array(0))));
      await database.grow(50);
    }
    expect(found).toEqual(EXPECTED.slice(139 * 2).map((position) => `s-00${position.replace('.', '-')}`));
  });

  it('in time find the latest revision that is not later', async () => {
    const database = await GrowingDatabase.of(BEFORE);
    const reader = database.host.reader();
    const found = [-1, 0, 1, 77, 149, 150, 9999].map((ms) => revisionAtTime(reader, BEFORE - 1, CREATED_AT_MS + ms));
    expect(found).toEqual([0, 0, 1, 77, 149, 149, 149]);
  });
});
