// Goal: the ids of a flush reach the store in the order of their keys, each with its place, however they came.
// Method: random hashes, many of them shared, against the same ids looked up singly; and a table that is used again.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes, toGroupId, toHex } from '#base';
import { type KvBatch, memoryKv } from '#kv';
import { RowKeys } from '../../../src/database/keys.ts';
import { PendingIds } from '../../../src/database/pending-ids.ts';
import { readEventIdRow } from '../../../src/database/small-rows.ts';

const KEYS = new RowKeys(toGroupId(7));
/** Few values, so that hashes are shared as a whole and by halves; the highest, too. */
const half = fc.constantFrom(0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff);

interface Row {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

function rowsOf(ids: PendingIds): readonly Row[] {
  const inner = memoryKv().batch();
  const rows: Row[] = [];
  const batch: KvBatch = {
    byteLength: 0,
    count: 0,
    put: (key, value) => void rows.push({ key: key.slice(), value: value.slice() }),
    del: (key) => inner.del(key),
  };
  ids.flushInto(batch, KEYS);
  return rows;
}

describe('the ids of a flush', () => {
  it('are written in the order of the upper halves of their hashes, each with its places', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(half, half), { maxLength: 60 }), (hashes) => {
        const ids = new PendingIds();
        for (const [index, [high, low]] of hashes.entries()) {
          const isShared = ids.has(high, low);
          for (const other of ids.withHash(high, low)) other.others = [];
          ids.add(high, low, 300, index).others = isShared ? [] : undefined;
        }
        const rows = rowsOf(ids);
        const uppers = rows.map(({ key }) => key.subarray(0, 10));
        expect(uppers).toEqual(uppers.toSorted(compareBytes));
        const found = rows.map(({ key, value }) => {
          const places = readEventIdRow(key, value).map(({ index }) => index);
          return `${toHex(key)} ${places.join()}`;
        });
        const keys = hashes.map(([high, low]) => toHex(KEYS.eventId(high, low)));
        const wanted = keys.map((key) => {
          const places = keys.flatMap((other, index) => (other === key ? [index] : []));
          return `${key} ${places.join()}`;
        });
        expect(new Set(found)).toEqual(new Set(wanted));
        expect(found).toHaveLength(wanted.length);
      }),
    );
  });

  it('are those of the flush alone when the table is used again', () => {
    const ids = new PendingIds();
    for (const high of [3, 1, 2]) ids.add(high, 0, 1, high);
    expect(rowsOf(ids)).toHaveLength(3);
    ids.clear();
    for (const high of [9, 8]) ids.add(high, 0, 2, high);
    expect(rowsOf(ids).map(({ key }) => toHex(key))).toEqual([8, 9].map((high) => toHex(KEYS.eventId(high, 0))));
  });
});
