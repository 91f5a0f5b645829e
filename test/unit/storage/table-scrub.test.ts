// Goal: every live table is verified soon after its creation and again in each round; a missing one is a fault (W18,
// W19). Method: a store that is compacted while it is verified, in steps and by the thread.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { toGroupId } from '#base';
import { historiesIn, type LevelStore, openLevelStore, ScrubThread } from '#storage';
import { TableScrub } from '../../../src/storage/table-scrub.ts';
import { recordsAt } from '../../support/history-records.ts';
import { testDir } from '../../support/test-scope.ts';

const NOTHING = new Uint8Array(0);
const END = Uint8Array.of(0xff);

/** Creates a table, and merges it with the existing ones. */
async function writeTable(store: LevelStore, from: number): Promise<void> {
  const batch = store.batch();
  for (let i = from; i < from + 2000; i++) batch.put(Buffer.from(`key-${i}`), Buffer.alloc(400, i));
  await store.write(batch);
  await store.compact(NOTHING, END);
}

function tablesOf(dir: string): readonly string[] {
  return readdirSync(dir).filter((name) => name.endsWith('.ldb'));
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill((bytes[at] ?? 0) ^ 4, at, at + 1));
}

/** Steps until nothing is left. Returns the number of bytes, and whether all of them were read for the first time. */
function finish(scrub: TableScrub): { bytes: number; firstLook: boolean } {
  const done = { bytes: 0, firstLook: true };
  scrub.refresh();
  for (let step = scrub.step(); step !== undefined; step = scrub.step()) {
    done.bytes += step.bytes;
    done.firstLook &&= step.look === 'first';
  }
  return done;
}

test('new tables are verified once, all tables in each round, and the deletion of a table in between is not a fault', async () => {
  const dir = testDir();
  const store = await openLevelStore(dir, { maxFileBytes: 2 ** 20 });
  onTestFinished(async () => store.close());
  const scrub = new TableScrub(dir);
  expect(finish(scrub).bytes).toBe(0);
  await writeTable(store, 0);
  const first = finish(scrub);
  expect(first).toMatchObject({ firstLook: true });
  expect(first.bytes).toBeGreaterThan(800_000);
  expect(finish(scrub).bytes).toBe(0);
  scrub.beginRound();
  expect(finish(scrub)).toEqual({ ...first, firstLook: false });
  scrub.beginRound();
  scrub.step();
  await writeTable(store, 1000);
  expect(finish(scrub).bytes).toBeGreaterThan(first.bytes);
  scrub.close();
});

test('a missing table, or one that was damaged since the previous round, is named (W18, W19)', async () => {
  const dir = testDir();
  const store = await openLevelStore(dir);
  onTestFinished(async () => store.close());
  await writeTable(store, 0);
  const [name = ''] = tablesOf(dir);
  const scrub = new TableScrub(dir);
  finish(scrub);
  flip(join(dir, name), 500_000);
  expect(finish(scrub).bytes).toBe(0);
  scrub.beginRound();
  expect(() => finish(scrub)).toThrow(`${name} is damaged at offset`);
  rmSync(join(dir, name));
  const another = new TableScrub(dir);
  expect(() => finish(another)).toThrow(`${name} is damaged: it is missing`);
});

test('the thread starts with the first table, reports the verified bytes of each round, and then the damage', async () => {
  const dir = testDir();
  const store = await openLevelStore(dir);
  onTestFinished(async () => store.close());
  const damage = Promise.withResolvers<Error>();
  const second = Promise.withResolvers<void>();
  const rounds: number[] = [];
  let bytes = 0;
  const onVerified = (facts: { readonly bytes: number; readonly isWholeRound: boolean }): void => {
    bytes += facts.bytes;
    // A round before the MANIFEST names the first table verifies nothing.
    if (!facts.isWholeRound || bytes === 0) return;
    rounds.push(bytes);
    bytes = 0;
    if (rounds.length === 2) second.resolve();
  };
  const pace = { firstLookBytes: 2 ** 30, roundBytes: 2 ** 30, roundMs: 20, pollMs: 5 };
  const thread = new ScrubThread({ directory: dir }, { onVerified, onFailure: damage.resolve }, pace);
  onTestFinished(async () => thread.close());
  expect(thread.isRunning).toBe(false);
  await writeTable(store, 0);
  await second.promise;
  expect(thread.isRunning).toBe(true);
  expect(Math.min(...rounds)).toBeGreaterThan(800_000);
  const [name = ''] = tablesOf(dir);
  flip(join(dir, name), 300_000);
  const failure = await damage.promise;
  expect(failure).toMatchObject({ name: 'StorageFailure', kind: 'corrupt', path: join(dir, name) });
});

test('the thread verifies sealed segments, too, and reports a damaged one', async () => {
  const dir = testDir();
  const store = await openLevelStore(dir);
  onTestFinished(async () => store.close());
  await writeTable(store, 0);
  const batch = store.batch();
  batch.append(toGroupId(7), recordsAt({ position: 0, lengths: [400_000, 600_000, 10], segmentBytes: 400_000 }));
  await store.write(batch);
  await store.checkpointFiles();
  const path = join(historiesIn(dir), '00000007/0000000000061a80.segment');
  const damage = Promise.withResolvers<Error>();
  let bytes = 0;
  const onVerified = (facts: { readonly bytes: number }): void => {
    bytes += facts.bytes;
    // All of the first round.
    if (bytes < 1_800_000) return;
    flip(path, 300_000);
    bytes = Number.NEGATIVE_INFINITY;
  };
  const pace = { firstLookBytes: 2 ** 30, roundBytes: 2 ** 30, roundMs: 20, pollMs: 5 };
  const thread = new ScrubThread({ directory: dir }, { onVerified, onFailure: damage.resolve }, pace);
  onTestFinished(async () => thread.close());
  expect(await damage.promise).toMatchObject({ name: 'StorageFailure', kind: 'corrupt', path });
});
