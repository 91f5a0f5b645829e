// Goal: the level follows the free space by the rules of disk-level.ts (W15, W16). Method: a table of cases, and random
// walks of a disk that fills and empties, whose every step is held against the rules.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compactionBytesMax, type DiskLevel, type DiskThresholds, defaultThresholds } from '#storage';
import { capacityNeeded, decideDisk } from '../../../src/storage/disk-level.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const THRESHOLDS: DiskThresholds = { softBytes: 800, hardBytes: 400, ballastBytes: 300 };

it.each<readonly [string, number, readonly [DiskLevel, number], readonly [DiskLevel, string]]>([
  // What, available bytes, level and held ballast before, level and action for the ballast now.
  ['lets everything go with room and ballast', 800, ['open', 300], ['open', 'keep']],
  ['makes the ballast when there is room for it', 1100, ['open', 0], ['open', 'make']],
  ['goes on making it while there is room for the rest', 900, ['open', 200], ['open', 'make']],
  ['refuses writes when there is no room for the ballast (W15)', 1099, ['open', 0], ['refusing-writes', 'keep']],
  ['refuses writes below the soft level', 799, ['open', 300], ['refusing-writes', 'keep']],
  ['goes on refusing without an eighth to spare (W16)', 899, ['refusing-writes', 300], ['refusing-writes', 'keep']],
  ['opens again with an eighth to spare', 900, ['refusing-writes', 300], ['open', 'keep']],
  ['does not open on what the ballast gave back (W15)', 1000, ['refusing-writes', 0], ['refusing-writes', 'keep']],
  ['opens and makes the ballast again when space is back', 1100, ['refusing-writes', 0], ['open', 'make']],
  ['releases the ballast below the hard level', 399, ['refusing-writes', 300], ['refusing-writes', 'release']],
  ['releases a ballast that is only half made', 399, ['open', 1], ['refusing-writes', 'release']],
  ['only reads below the hard level without ballast', 399, ['refusing-writes', 0], ['read-only', 'keep']],
  ['goes on only reading without an eighth to spare (W16)', 449, ['read-only', 0], ['read-only', 'keep']],
  ['takes deletes again with an eighth to spare', 450, ['read-only', 0], ['refusing-writes', 'keep']],
])('decideDisk %s', (_what, availableBytes, [before, ballastHeldBytes], [level, ballast]) => {
  const state = { level: before, ballastHeldBytes };
  expect(decideDisk({ availableBytes, capacityBytes: 10_000 }, THRESHOLDS, state)).toEqual({ level, ballast });
});

it('decideDisk keeps its rules on every walk of the free space (W15, W16)', () => {
  const walk = fc.array(fc.nat(2000), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(walk, (available) => {
      let state: { level: DiskLevel; ballastHeldBytes: number } = { level: 'open', ballastHeldBytes: 0 };
      for (const availableBytes of available) {
        const decision = decideDisk({ availableBytes, capacityBytes: 10_000 }, THRESHOLDS, state);
        const { ballastHeldBytes: held } = state;
        const roomForBallast = held >= 300 || availableBytes - (300 - held) >= 800;
        expect(decision.level === 'open' && !(availableBytes >= 800 && roomForBallast)).toBe(false);
        expect(decision.level === 'read-only' && (held > 0 || availableBytes >= 450)).toBe(false);
        expect(decision.ballast === 'release').toBe(held > 0 && availableBytes < 400);
        const nextHeld = { keep: held, make: 300, release: 0 }[decision.ballast];
        state = { level: decision.level, ballastHeldBytes: nextHeld };
      }
    }),
  );
});

const SMALLEST = compactionBytesMax({ writeBufferBytes: MIB });

describe('defaultThresholds', () => {
  it.each([
    [1 * GIB, { hardBytes: 128 * MIB, softBytes: 448 * MIB, ballastBytes: Math.floor(GIB / 20) }],
    [20 * GIB, { hardBytes: 128 * MIB, softBytes: 448 * MIB, ballastBytes: 256 * MIB }],
    [50 * GIB, { hardBytes: 128 * MIB, softBytes: 640 * MIB, ballastBytes: 512 * MIB }],
    [10_000 * GIB, { hardBytes: 128 * MIB, softBytes: 1152 * MIB, ballastBytes: 1 * GIB }],
  ])('for a disk of %i bytes are %o', (capacityBytes, expected) => {
    expect(defaultThresholds(capacityBytes, { segmentBytes: 64 * MIB, compactionBytes: 320 * MIB })).toEqual(expected);
  });

  it.each([
    ['by default', { segmentBytes: 64 * MIB, compactionBytes: compactionBytesMax() }, 673 * MIB],
    ['with the smallest settings', { segmentBytes: 4 * MIB, compactionBytes: SMALLEST }, 49 * MIB],
  ])('say which disk is large enough, %s', (_what, needs, aboutBytes) => {
    const capacityBytes = capacityNeeded(needs);
    expect(Math.floor(capacityBytes / MIB) * MIB).toBe(aboutBytes);
    // With the log of an empty node there is just room for the ballast; with less there is none.
    const opensWith = (bytes: number): string => {
      const space = { capacityBytes: bytes, availableBytes: bytes - 3 * needs.segmentBytes };
      return decideDisk(space, defaultThresholds(bytes, needs), { level: 'open', ballastHeldBytes: 0 }).level;
    };
    expect([opensWith(capacityBytes), opensWith(capacityBytes - MIB)]).toEqual(['open', 'refusing-writes']);
  });

  it('always leave room for two segments and a compaction, and never take more than a twentieth for the ballast', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 50 }),
        fc.record({
          segmentBytes: fc.integer({ min: 16 * 1024, max: GIB }),
          compactionBytes: fc.integer({ min: 0, max: GIB }),
        }),
        (capacity, needs) => {
          const { hardBytes, softBytes, ballastBytes } = defaultThresholds(capacity, needs);
          expect(hardBytes).toBeGreaterThanOrEqual(2 * needs.segmentBytes);
          expect(softBytes).toBeGreaterThan(hardBytes);
          expect(softBytes - hardBytes).toBeGreaterThanOrEqual(needs.compactionBytes);
          expect(ballastBytes).toBeLessThanOrEqual(capacity / 20);
          expect(ballastBytes).toBeLessThanOrEqual(GIB);
        },
      ),
    );
  });
});
