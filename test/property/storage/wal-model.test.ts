// Goal: through any batches and restarts the log has the same content as its model, and keeps only the segments that it
// needs (W1, W2, W11, W12). Method: random histories, against the fold of all records.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Wal } from '#storage';
import { GroupLedger } from '../../../src/storage/group-ledger.ts';
import type { LogRecord } from '../../../src/storage/log-records.ts';
import { type Draw, encode, fold, RecordSource, seededDraw, stateOf } from '../../support/log-model.ts';
import { MemoryDisk } from '../../support/memory-disk.ts';
import { runs } from '../../support/runs.ts';
import { openLog } from '../../support/small-log.ts';

it('the log has the same content as the model, through any number of restarts (W1, W2, W11)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ seed: fc.nat(), groups: fc.integer({ min: 1, max: 12 }), payloadBytesMax: fc.nat(1500) }),
      async ({ seed, groups, payloadBytesMax }) => {
        const draw = seededDraw(seed);
        const source = new RecordSource(draw, { groups, payloadBytesMax });
        const disk = new MemoryDisk();
        const records: LogRecord[] = [];
        for (let life = 0; life < 5; life++) {
          const { wal, recovered } = openLog(disk);
          expect(stateOf(recovered)).toEqual(fold(records));
          await live(wal, { draw, source, records });
          if (draw(2) === 0) await wal.close();
        }
        expect(stateOf(openLog(disk).recovered)).toEqual(fold(records));
      },
    ),
    { numRuns: runs(60) },
  );
});

it('the ledger needs a segment exactly while it contains an entry after the checkpoint of its group (W12)', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const draw = seededDraw(seed);
      const source = new RecordSource(draw, { groups: 4, payloadBytesMax: 0 });
      const ledger = new GroupLedger();
      const placed: { readonly record: LogRecord; readonly segment: number }[] = [];
      let segment = 1;
      for (let count = 0; count < 120; count++) {
        if (draw(6) === 0) segment += 1;
        for (const record of source.batch(1)) {
          expect(ledger.admit(record, { segment, crc: count })).toBeUndefined();
          placed.push({ record, segment });
        }
      }
      for (let number = 1; number <= segment; number++) {
        expect(ledger.isClaimed(number), `segment ${number}`).toBe(holdsNeededEntry(placed, number));
      }
    }),
    { numRuns: runs(100) },
  );
});

async function live(
  wal: Wal,
  { draw, source, records }: { readonly draw: Draw; readonly source: RecordSource; readonly records: LogRecord[] },
): Promise<void> {
  for (let count = draw(12); count > 0; count--) {
    const messages = Array.from({ length: 1 + draw(3) }, () => source.batch(draw(9)));
    wal.append(messages.map(encode));
    records.push(...messages.flat());
    if (draw(2) === 0) wal.tidy();
    if (draw(2) === 0) await new Promise(setImmediate);
  }
}

/** True when an entry in the segment survived every later truncation, checkpoint and tombstone. */
function holdsNeededEntry(
  placed: readonly { readonly record: LogRecord; readonly segment: number }[],
  segment: number,
): boolean {
  return placed.some(({ record, segment: at }, place) => {
    if (record.kind !== 'entry' || at !== segment) return false;
    return !placed.slice(place + 1).some(({ record: later }) => {
      if (later.kind === 'truncate-from') return later.group === record.group && later.index <= record.index;
      if (later.kind === 'checkpoint') return later.group === record.group && later.checkpoint.index >= record.index;
      return (later.kind === 'group-tombstone' || later.kind === 'log-start') && later.group === record.group;
    });
  });
}
