// Goal: whatever the store and the archivers do, each manifest covers a beginning of the history without a gap or an
// overlap, no manifest ends before its basis, only committed records are in one, and in the end everything is archived
// (X1, X2, X3). Method: archivers of two nodes at once, which are killed, are left running beside their successors, and
// sleep for a long time; a store that refuses calls, loses answers, writes objects in part, reorders everything, and
// has stale listings.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Archiver } from '#archive';
import {
  ArchivedHistory,
  ArchivingNode,
  newHash,
  type RecordToAppend,
} from '../../support/archive/archived-history.ts';
import { manifestIn, manifestsIn, recordsOf, restored } from '../../support/archive/restored.ts';
import { type CallFault, SimulatedStore, StoreFailure } from '../../support/archive/simulated-store.ts';
import { runs } from '../../support/runs.ts';

const SEGMENT_BYTES = 400;

type Step =
  | { readonly kind: 'append'; readonly record: RecordToAppend }
  | { readonly kind: 'apply' | 'checkpoint' | 'round' | 'restart' | 'leave' | 'sleep' };

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
);

const arbFaults: fc.Arbitrary<readonly CallFault[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<CallFault>('none') },
    { weight: 1, arbitrary: fc.constantFrom<CallFault>('refused', 'lost', 'half') },
  ),
  { minLength: 1, maxLength: 80, size: 'max' },
);

class World {
  readonly store = new SimulatedStore();
  readonly history = new ArchivedHistory(SEGMENT_BYTES);
  nowMs = 0;

  archiver(node: ArchivingNode, writer: string): Archiver {
    return new Archiver({ store: this.store, newHash, source: node, clock: { nowMs: () => this.nowMs }, writer });
  }

  /** One node follows its script. What it leaves running is in `left`. */
  async run(script: readonly Step[], writer: string, left: Promise<unknown>[]): Promise<void> {
    const node = new ArchivingNode(this.history);
    node.checkpoint = 0;
    let archiver = this.archiver(node, writer);
    for (const step of script) {
      switch (step.kind) {
        case 'append':
          this.history.append(step.record);
          break;
        case 'apply':
          node.applied = this.history.count;
          break;
        case 'checkpoint':
          node.checkpoint = node.applied;
          break;
        case 'round':
          await round(archiver);
          break;
        case 'restart':
          archiver = this.archiver(node, writer);
          break;
        case 'leave':
          left.push(round(archiver).then(() => round(archiver)));
          archiver = this.archiver(node, writer);
          break;
        case 'sleep':
          this.nowMs += 3_600_000;
          break;
      }
    }
  }

  /** Checks the manifest that was created just now. @throws Error when it is wrong */
  check(name: string): void {
    const manifest = manifestIn(this.store, name);
    const { basis, number, tails } = manifest;
    const records = recordsOf(this.store, manifest);
    const before = manifestsIn(this.store)[number - 2];
    const least = before === undefined ? 0 : recordsOf(this.store, before).length;
    const faults = [
      Buffer.compare(records, this.history.bytes.subarray(0, records.length)) !== 0 && 'has other records',
      !this.history.states.some(({ position }) => position === records.length) && 'ends inside a record',
      (basis?.number ?? 0) !== number - 1 && `continues ${basis?.number}`,
      records.length < least && 'ends before its basis',
      tails.length > 12 && `has ${tails.length} tails`,
    ].filter((fault) => fault !== false);
    if (faults.length > 0) throw new Error(`manifest ${number} ${faults.join(', ')}`);
  }
}

async function round(archiver: Archiver): Promise<string> {
  return archiver.round().catch((failure: unknown) => {
    if (failure instanceof StoreFailure) return 'failed';
    throw failure;
  });
}

it('archives everything without a gap or a duplicate, whatever store and archivers do', async () => {
  const script = fc.array(arbStep, { minLength: 5, maxLength: 60, size: 'max' });
  const ages = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 });
  const property = fc.asyncProperty(
    fc.scheduler(),
    script,
    script,
    fc.tuple(arbFaults, ages),
    async (scheduler, one, other, [faults, ageList]) => {
      const world = new World();
      const { store, history } = world;
      store.onCreated = (name) => world.check(name);
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
      const last = new ArchivingNode(history);
      last.applied = history.count;
      const archiver = world.archiver(last, 'last');
      const outcomes: string[] = [];
      while (outcomes.at(-1) !== 'current') outcomes.push(await round(archiver));
      expect(outcomes.length).toBeLessThan(10);
      const end = await restored(store, { kind: 'end' });
      expect(Buffer.compare(end, history.bytes)).toBe(0);
      expect(manifestsIn(store).map(({ number }) => number)).toEqual(manifestsIn(store).map((_, index) => index + 1));
    },
  );
  await fc.assert(property, { numRuns: runs(300) });
});
