// Goal: what a State View answers where something is special: nothing selected, no cut, an event that the component
// refuses, more fuel than a call has, another history, many readers at once (F4, F5). Method: real executors and
// folders, a component that counts and hashes what it is given.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toRevision } from '#base';
import {
  CacheFolder,
  DEFAULT_STATE_VIEWS,
  FoldSnapshots,
  type RunnableArtifact,
  type StateViewSettings,
  StateViews,
  type ViewRead,
} from '#components';
import { memoryKv } from '#kv';
import { ALL } from '#model';
import { naiveState, runnableView } from '../../support/components/views.ts';
import { CREATED_AT_MS, KnownDatabase } from '../../support/known-database.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { artifactOf, executors } from '../../support/wasm/executors.ts';
import { viewText } from '../../support/wasm/wat.ts';

const dir = tempDir();
const running = executors({ quarantine: { killsMax: 1e6, windowMs: 1000 } });
let artifact: RunnableArtifact;
let folders = 0;

beforeAll(async () => {
  artifact = await runnableView(join(dir.path, 'artifacts'), { hasBatch: true, hasQuery: false });
}, 60_000);
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

async function database(
  count: number,
  more: { readonly data?: string; readonly from?: string } = {},
): Promise<KnownDatabase> {
  const made = new KnownDatabase(memoryKv());
  for (let n = 0; n < count; n++) {
    const data = new TextEncoder().encode(more.data ?? `"${n}"`);
    made.apply([{ source: more.from ?? 'a', type: 't', data, dataKind: 1 }], CREATED_AT_MS + 1000 * n);
  }
  await made.flush();
  return made;
}

async function snapshots(): Promise<FoldSnapshots> {
  const path = join(dir.path, `folds-${folders++}`);
  return new FoldSnapshots(await CacheFolder.open({ path, bytesMax: 1e6, memoryBytesMax: 1e6 }));
}

async function views(settings: Partial<StateViewSettings> = {}): Promise<StateViews> {
  return new StateViews(running, await snapshots(), { ...DEFAULT_STATE_VIEWS, snapshotEventsMin: 1, ...settings });
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

describe('a State View', { timeout: 60_000 }, () => {
  it('goes on from the last read, and from the first event in another epoch or when it is told to', async () => {
    const known = await database(20);
    const own = await views();
    const state = naiveState(known.events);
    expect(await own.render(readOf(known, { at: 15 }))).toMatchObject({ foldedCount: 15, isFromFirst: true });
    expect(await own.render(readOf(known))).toMatchObject({ foldedCount: 5, isFromFirst: false, bytes: state });
    expect(await own.render(readOf(known))).toMatchObject({ foldedCount: 0, isFromFirst: false, bytes: state });
    const others: readonly Partial<ViewRead>[] = [
      { foldEpoch: 2 },
      { view: 'view/v2' },
      { databaseId: 'another' },
      { refolds: true },
    ];
    for (const other of others) {
      expect(await own.render(readOf(known, other))).toMatchObject({
        foldedCount: 20,
        isFromFirst: true,
        bytes: state,
      });
    }
  });

  it('asks for a cut in the order of effective time, and does not look at one in the other', async () => {
    const known = await database(4);
    const own = await views();
    const failed = await own.render(readOf(known, { order: 'effective-time' }));
    expect(failed).toMatchObject({ kind: 'failed', code: 'InvalidParameters' });
    const cut = { seconds: CREATED_AT_MS / 1000 + 1, nanos: 0 };
    expect(await own.render(readOf(known, { order: 'effective-time', cut }))).toMatchObject({ foldedCount: 2 });
    expect(await own.render(readOf(known, { cut }))).toMatchObject({ foldedCount: 4 });
  });

  it('says what the component says of an event, each time', async () => {
    const known = await database(3, { data: '"?"' });
    const own = await views();
    const failed = { kind: 'failed', code: 'WasmExecutionError', message: 'The component refuses: no' };
    expect([await own.render(readOf(known)), await own.render(readOf(known))]).toEqual([failed, failed]);
    expect(await own.render(readOf(known, { at: 0 }))).toMatchObject({ hasState: false });
  });

  it('folds with fuel for each event where there is none for all of them (F5)', async () => {
    const known = await database(60);
    const { guest } = DEFAULT_STATE_VIEWS;
    const limits = { ...guest.limits, fuel: 2000 };
    const little = await views({ guest: { ...guest, limits } });
    expect(await little.render(readOf(known))).toMatchObject({ bytes: naiveState(known.events) });
    known.apply(
      [
        {
          source: 'a',
          type: 't'.repeat(250),
          subject: 's'.repeat(250),
          id: 'i'.repeat(250),
          data: new TextEncoder().encode(`"${'x'.repeat(2000)}"`),
          dataKind: 1,
        },
      ],
      CREATED_AT_MS + 90_000,
    );
    await known.flush();
    expect(await little.render(readOf(known))).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/^FuelExhausted: /),
    });
    expect(await (await views()).render(readOf(known))).toMatchObject({ bytes: naiveState(known.events) });
  });

  it('folds with a guest that takes memory for each event and gives none back (F5)', async () => {
    const known = await database(400, { data: `"${'x'.repeat(300)}"` });
    const greedy = { ...artifact, ...(await artifactOf(viewText())), key: 'greedy', pool: 'greedy' };
    const read = (at: number): ViewRead => readOf(known, { artifact: greedy, at: toRevision(at) });
    const cold = await (await views()).render(read(400));
    const warm = await views();
    const steps = [await warm.render(read(100)), await warm.render(read(200)), await warm.render(read(400))];
    expect(steps.map(({ kind }) => kind)).toEqual(['rendered', 'rendered', 'rendered']);
    expect(steps.at(-1)).toMatchObject({ bytes: cold.kind === 'rendered' ? cold.bytes : undefined });
  });

  it('passes over what was folded in a history that is no longer there (F4)', async () => {
    const [lost, found] = [await database(30, { from: 'lost' }), await database(40, { from: 'found' })];
    const own = await views();
    expect(await own.render(readOf(lost))).toMatchObject({ foldedCount: 30 });
    expect(await own.render(readOf(found))).toMatchObject({ foldedCount: 40, bytes: naiveState(found.events) });
    const short = await database(10, { from: 'lost' });
    expect(await own.render(readOf(short))).toMatchObject({ bytes: naiveState(short.events) });
  });

  it('folds once for many readers', async () => {
    const known = await database(50);
    const own = await views();
    const before = running.figures().calls;
    const answers = await Promise.all(Array.from({ length: 20 }, () => own.render(readOf(known))));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(running.figures().calls - before).toBe(1);
  });

  it('is busy when as many folds run as may', async () => {
    const known = await database(50);
    const own = await views({ foldsMax: 1 });
    const [first, second] = await Promise.all([own.render(readOf(known)), own.render(readOf(known, { at: 3 }))]);
    expect([first.kind, second]).toEqual(['rendered', expect.objectContaining({ kind: 'failed', code: 'Busy' })]);
  });
});
