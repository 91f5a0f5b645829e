// Goal: after any crash the log has every acknowledged record and no record that was not appended (W4, W6, W9, W10).
// Method: a simulated disk that crashes before each change; the fold of the records.
import { expect, it } from 'vitest';
import type { LogRecord } from '../../../src/storage/log-records.ts';
import { BATCH_HEADER_BYTES } from '../../../src/storage/wal-format.ts';
import { batchBytesMax } from '../../../src/storage/wal-segment.ts';
import {
  type Draw,
  encode,
  fold,
  type ModelState,
  RecordSource,
  seededDraw,
  stateOf,
} from '../../support/log-model.ts';
import { EVERYTHING_SURVIVES, MemoryDisk, NOTHING_SURVIVES, type Survival } from '../../support/memory-disk.ts';
import { IS_LONG } from '../../support/runs.ts';
import { openLog, SEGMENT_BYTES, settled } from '../../support/small-log.ts';

/** In `npm run test:all` the disk crashes before each of its changes, otherwise before every fifth. */
const STRIDE = IS_LONG ? 1 : 5;

interface Workload {
  readonly seed: number;
  readonly batches: number;
  readonly recordsMax: number;
  readonly payloadBytesMax: number;
}

interface Expected {
  readonly acknowledged: readonly LogRecord[];
  readonly underWay: readonly LogRecord[];
}

it.each([
  { seed: 1, batches: 60, recordsMax: 4, payloadBytesMax: 300 },
  { seed: 2, batches: 30, recordsMax: 10, payloadBytesMax: 2000 },
  { seed: 3, batches: 120, recordsMax: 2, payloadBytesMax: 40 },
  { seed: 4, batches: 25, recordsMax: 30, payloadBytesMax: 700 },
  { seed: 8, batches: 150, recordsMax: 3, payloadBytesMax: 100 },
])(
  'a log whose disk loses power recovers what was acknowledged in workload $seed (W4, W6, W9, W10)',
  { timeout: 120_000 },
  async (workload) => {
    const draw = seededDraw(1000 + workload.seed);
    let steps = 0;
    let crashes = 0;
    const recycled = await run(workload, (disk, expected) => {
      steps += 1;
      if (steps % STRIDE !== workload.seed % STRIDE) return;
      const some = [2, 2, 3, 8, 16].map((odds) => someSurvive(draw, odds));
      for (const survival of [NOTHING_SURVIVES, EVERYTHING_SURVIVES, ...some]) {
        checkAfterCrash(disk.afterPowerLoss(survival), expected);
        crashes += 1;
      }
    });
    expect(recycled, 'segments in files of earlier ones').toBeGreaterThan(0);
    // All workloads together have more than 10,000 crashes.
    expect(crashes).toBeGreaterThan(1000 / STRIDE);
  },
);

it('a log whose process dies recovers acknowledged records, and keeps them through a later power loss (W10)', async () => {
  const draw = seededDraw(5);
  await run({ seed: 5, batches: 50, recordsMax: 6, payloadBytesMax: 500 }, (disk, expected) => {
    const next = disk.afterProcessDeath();
    const state = open(next);
    expect(statesAllowed(expected)).toContainEqual(state);
    for (const survival of [NOTHING_SURVIVES, someSurvive(draw, 2)])
      expect(open(next.afterPowerLoss(survival))).toEqual(state);
  });
});

it('a log whose process dies keeps through a power loss the records that it recovered after a failed sync (W10)', () => {
  const disk = new MemoryDisk();
  const { wal } = openLog(disk);
  const source = new RecordSource(seededDraw(6), { groups: 2, payloadBytesMax: 900 });
  const acknowledged = source.batch(10);
  const underWay = source.batch(5);
  wal.append([encode(acknowledged)]);
  disk.onStep = (step): void => {
    if (step.kind === 'sync') throw new Error('EIO: i/o error, fdatasync');
  };
  expect(() => wal.append([encode(underWay)])).toThrow('EIO');
  disk.onStep = undefined;
  // The pages of the failed sync are clean in memory but not on disk: reading them back must not be enough.
  expect(open(disk.afterPowerLoss(NOTHING_SURVIVES))).toEqual(fold(acknowledged));
  const state = open(disk);
  expect(state).toEqual(fold([...acknowledged, ...underWay]));
  expect(open(disk.afterPowerLoss(NOTHING_SURVIVES))).toEqual(state);
});

it('a log whose process dies continues after any number of consecutive crashes', async () => {
  const draw = seededDraw(7);
  const source = new RecordSource(draw, { groups: 3, payloadBytesMax: 600 });
  let disk = new MemoryDisk();
  const records: LogRecord[] = [];
  for (let life = 0; life < 30; life++) {
    const { wal, recovered } = openLog(disk);
    expect(stateOf(recovered)).toEqual(fold(records));
    for (let count = draw(6); count > 0; count--) {
      const batch = source.batch(1 + draw(5));
      wal.append([encode(batch)]);
      records.push(...batch);
      wal.tidy();
      if (draw(2) === 0) await settled();
    }
    disk = disk.afterPowerLoss(someSurvive(draw, 3));
  }
});

/**
 * Runs the workload and calls `crash` before each change of the disk, with the expected recovery at that point.
 * Returns the number of segments whose files became spares.
 */
async function run(workload: Workload, crash: (disk: MemoryDisk, expected: Expected) => void): Promise<number> {
  const draw = seededDraw(workload.seed);
  const source = new RecordSource(draw, { groups: 3, payloadBytesMax: workload.payloadBytesMax });
  const disk = new MemoryDisk();
  const acknowledged: LogRecord[] = [];
  let underWay: readonly LogRecord[] = [];
  let recycled = 0;
  disk.onStep = ({ kind, path }): void => {
    if (kind === 'rename' && path.endsWith('.spare')) recycled += 1;
    crash(disk, { acknowledged, underWay });
  };
  const { wal } = openLog(disk);
  for (let count = 0; count < workload.batches; count++) {
    underWay = source.batch(1 + draw(workload.recordsMax));
    wal.append([encode(underWay)]);
    acknowledged.push(...underWay);
    underWay = [];
    wal.tidy();
    if (draw(3) > 0) await settled();
  }
  await wal.close();
  return recycled;
}

/** A batch is present completely or not at all; records that exceed one batch may be present as a prefix. */
function statesAllowed({ acknowledged, underWay }: Expected): readonly ModelState[] {
  const isOneBatch = encode(underWay).length <= batchBytesMax(SEGMENT_BYTES) - BATCH_HEADER_BYTES;
  const counts = isOneBatch ? [0, underWay.length] : Array.from({ length: underWay.length + 1 }, (_, count) => count);
  return counts.map((count) => fold([...acknowledged, ...underWay.slice(0, count)]));
}

function checkAfterCrash(disk: MemoryDisk, expected: Expected): void {
  const state = open(disk);
  expect(statesAllowed(expected)).toContainEqual(state);
  // Recovered records are durable from then on (W10).
  expect(open(disk.afterPowerLoss(NOTHING_SURVIVES))).toEqual(state);
}

function open(disk: MemoryDisk): ModelState {
  return stateOf(openLog(disk).recovered);
}

/** Each unsynced sector survives with a probability of 1 in `odds`, and so do some names. */
function someSurvive(draw: Draw, odds: number): Survival {
  return { sector: () => draw(odds) === 0, names: (count) => draw(count + 1) };
}
