// Goal: a view that is brought further while nobody reads it comes to the bytes that its readers come to, in steps of
// which each is kept, and never goes before a reader (F4). Method: real executors and folders, with a record of
// the calls in their order.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AdvanceStep,
  CacheFolder,
  DEFAULT_STATE_VIEWS,
  type FoldExecutors,
  FoldSnapshots,
  type RunnableArtifact,
  StateViews,
  type ViewRead,
} from '#components';
import { memoryKv } from '#kv';
import { ALL } from '#model';
import { naiveState, runnableView } from '../../support/components/views.ts';
import { CREATED_AT_MS, KnownDatabase } from '../../support/known-database.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { executors } from '../../support/wasm/executors.ts';

const dir = tempDir();
const running = executors();
const batch = { eventsMax: 5, bytesMax: 1e5 };
const STEP: AdvanceStep = { batch, eventsMax: 10, signal: new AbortController().signal };
let artifact: RunnableArtifact;
let folders = 0;

beforeAll(async () => {
  artifact = await runnableView(join(dir.path, 'artifacts'), { hasBatch: true, hasQuery: false });
}, 60_000);
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

function applied(known: KnownDatabase, count: number): KnownDatabase {
  for (let n = 0; n < count; n++) {
    const data = new TextEncoder().encode(`"${n}"`);
    known.apply([{ source: 'a', type: 't', data, dataKind: 1 }], CREATED_AT_MS + 1000 * n);
  }
  return known;
}

async function database(count: number): Promise<KnownDatabase> {
  const made = applied(new KnownDatabase(memoryKv()), count);
  await made.flush();
  return made;
}

async function views(by: FoldExecutors = running, bytesMax: number = 1e6): Promise<StateViews> {
  const path = join(dir.path, `folds-${folders++}`);
  const folder = await CacheFolder.open({ path, bytesMax, memoryBytesMax: 1e6 });
  return new StateViews(by, new FoldSnapshots(folder), { ...DEFAULT_STATE_VIEWS, batch });
}

function readOf(known: KnownDatabase, more: Partial<ViewRead> = {}): ViewRead {
  return {
    source: known.source,
    databaseId: 'a-database',
    view: 'view/v1',
    foldEpoch: 1,
    artifact,
    selector: ALL,
    order: 'revision',
    parameters: new Map(),
    at: known.revision,
    ...more,
  };
}

describe('a step of a State View', { timeout: 60_000 }, () => {
  it.each(['revision', 'effective-time'] as const)(
    'folds so many events, and keeps the state, by %s',
    async (order) => {
      const known = await database(25);
      const own = await views();
      const read = readOf(known, { order, cut: { seconds: CREATED_AT_MS / 1000 + 1000, nanos: 0 } });
      const steps = [await own.advance(read, STEP), await own.advance(read, STEP), await own.advance(read, STEP)];
      const kept = { kind: 'advanced', place: expect.any(String) };
      expect(steps).toMatchObject([
        { ...kept, foldedCount: 10, isFromFirst: true, isWhole: false },
        { ...kept, foldedCount: 10, isFromFirst: false, isWhole: false },
        { ...kept, foldedCount: 5, isFromFirst: false, isWhole: true },
      ]);
      expect(await own.advance(read, STEP)).toMatchObject({ foldedCount: 0, isWhole: true, place: undefined });
      expect(await own.render(read)).toMatchObject({ foldedCount: 0, bytes: naiveState(known.events) });
      expect(own.figures()).toEqual({ readEvents: 0, advancedEvents: 25 });
    },
  );

  it('stops when it is told to, and keeps what it has folded', async () => {
    const known = await database(20);
    const stop = new AbortController();
    const stopping: FoldExecutors = {
      call: (call) => running.call(call),
      fold: async (call) => {
        stop.abort();
        return running.fold(call);
      },
    };
    const own = await views(stopping);
    expect(await own.advance(readOf(known), { ...STEP, signal: stop.signal })).toMatchObject({
      foldedCount: 5,
      isWhole: false,
    });
    expect(await own.render(readOf(known))).toMatchObject({ foldedCount: 15, isFromFirst: false });
  });

  it('lets a reader by who comes while it is on its way, behind the batch that it is at', async () => {
    const known = await database(40);
    const calls: boolean[] = [];
    const reads: Promise<unknown>[] = [];
    const recorded: FoldExecutors = {
      call: (call) => running.call(call),
      fold: async (call) => {
        calls.push(call.givesWay === true);
        if (calls.length === 3) reads.push(own.render(readOf(known)));
        return running.fold(call);
      },
    };
    const own = await views(recorded);
    await own.advance(readOf(known, { view: 'another/v1' }), { ...STEP, eventsMax: 40 });
    expect(await Promise.all(reads)).toMatchObject([{ foldedCount: 40, bytes: naiveState(known.events) }]);
    const [before, during, after] = [3, 8, 5].map((count, at) => Array<boolean>(count).fill(at !== 1));
    expect(calls).toEqual([...(before ?? []), ...(during ?? []), ...(after ?? [])]);
  });
});
