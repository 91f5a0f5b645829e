// Goal: the ids of a flush reach the store in the order of their keys, those of this flush alone. Method: a table that
// is used twice; the oracle of test/property/database-machine.test.ts knows what the rows say.
import { expect, it } from 'vitest';
import { toGroupId, toHex } from '#base';
import { memoryKv } from '#kv';
import { RowKeys } from '../../../src/database/keys.ts';
import { PendingIds } from '../../../src/database/pending-ids.ts';

const KEYS = new RowKeys(toGroupId(7));

function keysOf(ids: PendingIds): readonly string[] {
  const written: string[] = [];
  const put = (key: Uint8Array): void => void written.push(toHex(key));
  ids.flushInto({ ...memoryKv().batch(), put }, KEYS);
  return written;
}

it('the ids of a flush are written in the order of their keys, whatever the table held before', () => {
  const ids = new PendingIds();
  for (const halves of [
    [3, 1, 0xffff_ffff, 2],
    [9, 0x8000_0000, 8],
  ]) {
    for (const high of halves) ids.add(high, 0, 1, high);
    expect(keysOf(ids)).toEqual(halves.toSorted((a, b) => a - b).map((high) => toHex(KEYS.eventId(high, 0))));
    ids.clear();
  }
});
