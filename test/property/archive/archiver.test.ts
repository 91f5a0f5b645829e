// Goal: whatever the store and the archivers do, each manifest covers a beginning of the history without a gap or an
// overlap, no manifest ends before its basis, only committed records are in one, retention removes nothing that is
// needed, and in the end everything is archived (X1, X2, X3, X7). Method: archivers of two nodes at once, which are
// killed, are left running beside their successors, and sleep for a long time; retention at any moment; a store that
// refuses calls, loses answers, writes objects in part, reorders everything, and has stale listings.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { ArchiveWorld, type Step } from '../../support/archive/archive-world.ts';
import type { RecordToAppend } from '../../support/archive/archived-history.ts';
import type { CallFault } from '../../support/archive/simulated-store.ts';
import { runs } from '../../support/runs.ts';

const arbRecord: fc.Arbitrary<RecordToAppend> = fc.record({
  bytes: fc.integer({ min: 1, max: 150 }),
  isTransaction: fc.boolean(),
  afterMs: fc.nat(2),
});

const arbStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: arbRecord.map((record): Step => ({ kind: 'append', record })) },
  { weight: 4, arbitrary: fc.constant<Step>({ kind: 'apply' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: 'checkpoint' }) },
  { weight: 6, arbitrary: fc.constant<Step>({ kind: 'round' }) },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: 'restart' }, { kind: 'leave' }, { kind: 'sleep' }) },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: 'prune' }, { kind: 'many' }) },
);

const arbFaults: fc.Arbitrary<readonly CallFault[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<CallFault>('none') },
    { weight: 1, arbitrary: fc.constantFrom<CallFault>('refused', 'lost', 'half') },
  ),
  { minLength: 1, maxLength: 80, size: 'max' },
);

it('archives everything without a gap or a duplicate, whatever store and archivers do', async () => {
  const script = fc.array(arbStep, { minLength: 5, maxLength: 60, size: 'max' });
  const ages = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 });
  const property = fc.asyncProperty(
    fc.scheduler(),
    script,
    script,
    fc.tuple(arbFaults, ages),
    async (scheduler, one, other, [faults, ageList]) => {
      const world = new ArchiveWorld();
      const { store } = world;
      let calls = 0;
      store.disturbance = {
        fault: () => faults[calls++ % faults.length] ?? 'none',
        delay: (call) => scheduler.schedule(Promise.resolve(), call).then(() => undefined),
        age: (count) => (ageList[calls % ageList.length] ?? 0) % count,
      };
      const left: Promise<unknown>[] = [];
      await scheduler.waitFor(Promise.all([world.run(one, 'one', left), world.run(other, 'other', left)]));
      await scheduler.waitFor(Promise.all(left));
      store.disturbance = undefined;
      expect(await world.isWhole()).toBe(true);
    },
  );
  await fc.assert(property, { numRuns: runs(300) });
});
