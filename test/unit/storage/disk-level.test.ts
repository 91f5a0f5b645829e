// Goal: the level follows the free space by the rules of disk-level.ts (W15, W16). Method: random walks of a disk that
// fills and empties; each step is compared with the rules.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compactionBytesMax, type DiskLevel, type DiskThresholds, defaultThresholds } from '#storage';
import { capacityNeeded, decideDisk } from '../../../src/storage/disk-level.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const THRESHOLDS: DiskThresholds = { softBytes: 800, hardBytes: 400 };

it('decideDisk follows its rules on every walk of the free space (W15, W16)', () => {
  // Each threshold, an eighth above it, and the byte below each.
  const available = fc.constantFrom(0, 399, 400, 449, 450, 799, 800, 899, 900, 2000);
  const walk = fc.array(available, { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(walk, (steps) => {
      let level: DiskLevel = 'open';
      for (const availableBytes of steps) {
        const before: DiskLevel = level;
        level = decideDisk(availableBytes, THRESHOLDS, before);
        expect(level === 'open').toBe(availableBytes >= (before === 'open' ? 800 : 900));
        expect(level === 'read-only').toBe(availableBytes < (before === 'read-only' ? 450 : 400));
      }
    }),
  );
});

const SMALLEST = compactionBytesMax({ writeBufferBytes: MIB });

describe('defaultThresholds', () => {
  it.each([
    [1 * GIB, { hardBytes: 128 * MIB, softBytes: 448 * MIB }],
    [20 * GIB, { hardBytes: 128 * MIB, softBytes: 448 * MIB }],
    [50 * GIB, { hardBytes: 128 * MIB, softBytes: 640 * MIB }],
    [10_000 * GIB, { hardBytes: 128 * MIB, softBytes: 1152 * MIB }],
  ])('for a disk of %i bytes are %o', (capacityBytes, expected) => {
    expect(defaultThresholds(capacityBytes, { segmentBytes: 64 * MIB, compactionBytes: 320 * MIB })).toEqual(expected);
  });

  it.each([
    ['by default', { segmentBytes: 64 * MIB, compactionBytes: compactionBytesMax() }, 640 * MIB],
    ['with the smallest settings', { segmentBytes: 4 * MIB, compactionBytes: SMALLEST }, 47 * MIB],
  ])('determine the smallest disk that allows writes, %s', (_what, needs, aboutBytes) => {
    const capacityBytes = capacityNeeded(needs);
    expect(Math.floor(capacityBytes / MIB) * MIB).toBe(aboutBytes);
    // With the log of an empty node the free space just allows writes; with one byte less it does not.
    const opensWith = (bytes: number): string => {
      return decideDisk(bytes - 3 * needs.segmentBytes, defaultThresholds(bytes, needs), 'open');
    };
    expect([opensWith(capacityBytes), opensWith(capacityBytes - MIB)]).toEqual(['open', 'refusing-writes']);
  });

  it('always reserve space for two segments and a compaction', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 50 }),
        fc.record({
          segmentBytes: fc.integer({ min: 16 * 1024, max: GIB }),
          compactionBytes: fc.integer({ min: 0, max: GIB }),
        }),
        (capacity, needs) => {
          const { hardBytes, softBytes } = defaultThresholds(capacity, needs);
          expect(hardBytes).toBeGreaterThanOrEqual(2 * needs.segmentBytes);
          expect(softBytes).toBeGreaterThan(hardBytes);
          expect(softBytes - hardBytes).toBeGreaterThanOrEqual(needs.compactionBytes);
        },
      ),
    );
  });
});
