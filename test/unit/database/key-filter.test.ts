// Goal: the filter never denies a key that was added and has a maximum size; the hash of stored rows never changes
// (D6). Method: random keys; the error rate for a fixed set; expected hashes.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeUtf8 } from '#base';
import { KeyFilter } from '../../../src/database/key-filter.ts';
import { KeyHash } from '../../../src/database/key-hash.ts';
import { runs } from '../../support/runs.ts';

const u32 = fc.nat(0xffff_ffff);

function hashOf(domain: number, ...parts: readonly string[]): string {
  const hash = new KeyHash();
  hash.start(domain);
  for (const [place, part] of parts.entries()) {
    if (place > 0) hash.separate();
    const bytes = encodeUtf8(part);
    hash.add(bytes, 0, bytes.length);
  }
  hash.finish();
  return `${hash.high.toString(16).padStart(8, '0')}${hash.low.toString(16).padStart(8, '0')}`;
}

it('KeyFilter (D6) never denies a key that was added, also over several sections', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(u32, u32), { maxLength: 9000, size: 'max' }), (keys) => {
      const filter = new KeyFilter(1 << 20);
      filter.complete();
      for (const [high, low] of keys) filter.add(high, low);
      expect(keys.filter(([high, low]) => !filter.mayHold(high, low))).toEqual([]);
    }),
    { numRuns: runs(20) },
  );
});

it('KeyFilter (D6) causes a look-up without a match for fewer than 1 in 100 new keys', () => {
  const filter = new KeyFilter(1 << 22);
  filter.complete();
  const hash = new KeyHash();
  const count = 20_000;
  let found = 0;
  for (let n = 0; n < 2 * count; n++) {
    const bytes = encodeUtf8(`order-${n}`);
    hash.start(1);
    hash.add(bytes, 0, bytes.length);
    hash.finish();
    if (n < count) filter.add(hash.high, hash.low);
    else if (filter.mayHold(hash.high, hash.low)) found++;
  }
  expect(found).toBeLessThan(count / 100);
});

it('KeyFilter (D6) answers "maybe" for every key until it is complete, and after it has reached its maximum size', () => {
  const filter = new KeyFilter(16 * 1024);
  expect([filter.mayHold(1, 2), filter.isComplete]).toEqual([true, false]);
  filter.complete();
  expect([filter.mayHold(1, 2), filter.isComplete]).toEqual([false, true]);
  for (let n = 0; n < 9000; n++) filter.add(n * 7919, n);
  expect([filter.isOverflowed, filter.isComplete, filter.mayHold(0xffffffff, 0xffffffff)]).toEqual([true, false, true]);
  filter.complete();
  expect(filter.mayHold(0xffffffff, 0xffffffff)).toBe(true);
});

it('KeyHash returns the keys of stored event-id rows: these values never change', () => {
  expect(hashOf(1, '')).toBe('3fb09b5785dc4844');
  expect(hashOf(1, 'orders', 'a')).toBe('933e3621efd7c2d8');
  expect(hashOf(2, 'orders', 'a')).toBe('803f4bbbcab6adf1');
  expect(hashOf(1, 'ordersa')).toBe('3573cb3ba7f6ee38');
});
