// Goal: a State View has the right state with little fuel, another history, many readers, background steps and a
// quarantine (F4, F5). Method: real executors and folders, a component that hashes its input, and endless ones.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toRevision } from '#base';
import {
  type AdvanceStep,
  DEFAULT_STATE_CHANGES,
  DEFAULT_STATE_VIEWS,
  type FoldExecutors,
  type RunnableArtifact,
  StateChanges,
  type ViewRead,
} from '#components';
import { undecidedError } from '#service';
import { componentFailed } from '../../../src/service/errors.ts';
import { changeText } from '../../support/components/change-text.ts';
import { askOn, commandOf } from '../../support/components/deciding.ts';
import { databaseOf, numbered, readOf, ViewWorld } from '../../support/components/view-world.ts';
import { naiveState, runnableView, textArtifact } from '../../support/components/views.ts';
import { CREATED_AT_MS, DATABASE_ID } from '../../support/known-database.ts';
import { artifactOf } from '../../support/wasm/executors.ts';
import { answer as answering, complaint, guestText } from '../../support/wasm/guests.ts';
import { viewText } from '../../support/wasm/wat.ts';

const world = new ViewWorld();
const batch = { eventsMax: 5, bytesMax: 1e5 };
const STEP: AdvanceStep = { batch, eventsMax: 10, signal: new AbortController().signal };
let artifact: RunnableArtifact;

beforeAll(async () => {
  artifact = await runnableView(world.artifacts, { hasBatch: true, hasQuery: false });
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

describe('a State View', { timeout: 60_000 }, () => {
  it('stops folding when no reader waits, and the next reader continues from there', async () => {
    const known = await databaseOf(40);
    const leaving = [new AbortController(), new AbortController()];
    let folds = 0;
    const fold: FoldExecutors['fold'] = (call) => {
      folds += 1;
      if (folds === 2) leaving[0]?.abort();
      if (folds === 3) leaving[1]?.abort();
      return world.running.fold(call);
    };
    const counted: FoldExecutors = { fold, call: (call) => world.running.call(call) };
    const own = await world.views({ batch }, counted);
    await Promise.all(leaving.map(({ signal }) => own.render(readOf(known, artifact), signal)));
    expect(folds).toBe(3);
    const gone = AbortSignal.abort();
    const [next] = await Promise.all([own.render(readOf(known, artifact)), own.render(readOf(known, artifact), gone)]);
    expect(next).toMatchObject({ foldedCount: 25, isFromFirst: false, bytes: naiveState(known.events) });
  });

  it('ends a running call when no reader waits any longer', async () => {
    const known = await databaseOf(5);
    const reader = new AbortController();
    const endless: FoldExecutors = {
      call: (call) => world.running.call(call),
      fold: ({ signal }) => {
        reader.abort();
        return new Promise((resolve) => {
          const fault = { code: 'Cancelled', message: '' } as const;
          signal?.addEventListener('abort', () =>
            resolve({ kind: 'fault', spent: { fuel: 0, memoryBytes: 0, hostCalls: 0 }, fault }),
          );
        });
      },
    };
    const own = await world.views({}, endless);
    expect(await own.render(readOf(known, artifact), reader.signal)).toMatchObject({ kind: 'failed' });
  });

  it('folds with the fuel of each event when that of one call is not enough for all (F5)', async () => {
    const known = await databaseOf(60);
    const { guest } = DEFAULT_STATE_VIEWS;
    const limits = { ...guest.limits, fuel: 2000 };
    const little = await world.views({ guest: { ...guest, limits } });
    expect(await little.render(readOf(known, artifact))).toMatchObject({ bytes: naiveState(known.events) });
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
    const message = expect.stringMatching(/^FuelExhausted: /);
    expect(await little.render(readOf(known, artifact))).toMatchObject({ kind: 'failed', message });
    const rendered = await (await world.views()).render(readOf(known, artifact));
    expect(rendered).toMatchObject({ bytes: naiveState(known.events) });
  });

  it('folds with a guest that allocates memory for each event and frees none (F5)', async () => {
    const known = await databaseOf(400, (n) => [numbered(n, `"${'x'.repeat(300)}"`)]);
    const greedy = { ...artifact, ...(await artifactOf(viewText())), key: 'greedy', pool: 'greedy' };
    const read = (at: number): ViewRead => readOf(known, greedy, { at: toRevision(at) });
    const cold = await (await world.views()).render(read(400));
    const warm = await world.views();
    const steps = [await warm.render(read(100)), await warm.render(read(200)), await warm.render(read(400))];
    expect(steps.map(({ kind }) => kind)).toEqual(['rendered', 'rendered', 'rendered']);
    expect(steps.at(-1)).toMatchObject({ bytes: cold.kind === 'rendered' ? cold.bytes : undefined });
  });

  it.each([
    [
      'refuses',
      complaint('64', '2'),
      /^The component refuses the event "[^"]+" of type "t" at revision 2, index 0: no$/,
    ],
    ['traps at', 'unreachable', /^Trap: .* \(the event "[^"]+" of type "t" at revision 2, index 0\)$/],
  ])('names the event that it %s', async (what, evolve, says) => {
    const known = await databaseOf(3);
    // The state of the first event is four bytes, and no later event is folded.
    const first = `(if (i32.eqz (local.get $sn)) (then ${answering('64', '4')} return))`;
    const text = viewText({ core: '(data (i32.const 64) "no")', evolve: `${first} ${evolve}` });
    const failing = { ...artifact, ...(await artifactOf(text)), key: what, pool: what };
    const rendered = await (await world.views()).render(readOf(known, failing));
    expect(rendered).toMatchObject({ kind: 'failed', message: expect.stringMatching(says) });
  });

  it('ignores states of a history that does not exist any more (F4)', async () => {
    const [lost, found] = [
      await databaseOf(30, (n) => [numbered(n, `"${n}"`, 'lost')]),
      await databaseOf(40, (n) => [numbered(n, `"${n}"`, 'found')]),
    ];
    const own = await world.views();
    expect(await own.render(readOf(lost, artifact))).toMatchObject({ foldedCount: 30 });
    const bytes = naiveState(found.events);
    expect(await own.render(readOf(found, artifact))).toMatchObject({ foldedCount: 40, bytes });
    const short = await databaseOf(10, (n) => [numbered(n, `"${n}"`, 'lost')]);
    expect(await own.render(readOf(short, artifact))).toMatchObject({ bytes: naiveState(short.events) });
  });

  it('folds once for many readers', async () => {
    const known = await databaseOf(50);
    const own = await world.views();
    const before = world.running.figures().calls;
    const answers = await Promise.all(Array.from({ length: 20 }, () => own.render(readOf(known, artifact))));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(world.running.figures().calls - before).toBe(1);
  });

  it('is busy when the maximum number of folds runs', async () => {
    const known = await databaseOf(50);
    const own = await world.views({ foldsMax: 1 });
    const [first, second] = await Promise.all([
      own.render(readOf(known, artifact)),
      own.render(readOf(known, artifact, { at: 3 })),
    ]);
    expect([first.kind, second]).toEqual(['rendered', expect.objectContaining({ kind: 'failed', code: 'Busy' })]);
  });
});

describe('a step of a State View', { timeout: 60_000 }, () => {
  it.each(['revision', 'effective-time'] as const)(
    'folds a given number of events and stores the state, by %s',
    async (order) => {
      const known = await databaseOf(25);
      const own = await world.views({ batch });
      const read = readOf(known, artifact, { order, cut: { seconds: CREATED_AT_MS / 1000 + 1000, nanos: 0 } });
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

  it('stops on its signal, and stores what it has folded', async () => {
    const known = await databaseOf(20);
    const stop = new AbortController();
    const stopping: FoldExecutors = {
      call: (call) => world.running.call(call),
      fold: async (call) => {
        stop.abort();
        return world.running.fold(call);
      },
    };
    const own = await world.views({ batch }, stopping);
    const stopped = await own.advance(readOf(known, artifact), { ...STEP, signal: stop.signal });
    expect(stopped).toMatchObject({ foldedCount: 5, isWhole: false });
    expect(await own.render(readOf(known, artifact))).toMatchObject({ foldedCount: 15, isFromFirst: false });
  });

  it('yields to a reader that arrives meanwhile, after its present batch', async () => {
    const known = await databaseOf(40);
    const calls: boolean[] = [];
    const reads: Promise<unknown>[] = [];
    const recorded: FoldExecutors = {
      call: (call) => world.running.call(call),
      fold: async (call) => {
        calls.push(call.givesWay === true);
        if (calls.length === 3) reads.push(own.render(readOf(known, artifact)));
        return world.running.fold(call);
      },
    };
    const own = await world.views({ batch }, recorded);
    await own.advance(readOf(known, artifact, { view: 'another/v1' }), { ...STEP, eventsMax: 40 });
    expect(await Promise.all(reads)).toMatchObject([{ foldedCount: 40, bytes: naiveState(known.events) }]);
    const [before, during, after] = [3, 8, 5].map((count, at) => Array<boolean>(count).fill(at !== 1));
    expect(calls).toEqual([...(before ?? []), ...(during ?? []), ...(after ?? [])]);
  });
});

const LOOPING = '(loop $l (br $l))';

describe('a component in quarantine', { timeout: 60_000 }, () => {
  const guest = {
    limits: { fuel: Number.MAX_SAFE_INTEGER, outputBytesMax: 60_000, hostCallsMax: 10 },
    time: { wallMs: 50, cpuMs: 60_000 },
  };
  const SCOPE = { databaseId: DATABASE_ID, revision: toRevision(1), databaseName: 'known' };
  const refused = {
    code: 'unavailable',
    message: expect.stringContaining('60 s'),
    details: { reason: 'Quarantined', retryAfterMs: 60_000 },
  };

  it('is not called, and readers and commands receive the remaining time', async () => {
    await using own = new ViewWorld({ quarantine: { killsMax: 1, windowMs: 60_000 } }, () => 1000.5);
    const [known, views] = [await databaseOf(1), await own.views({ guest })];
    const read = readOf(known, await textArtifact(own.artifacts, 'state-view', guestText(`${LOOPING} (i32.const 16)`)));
    expect(await views.render(read)).toMatchObject({ code: 'WasmExecutionError' });
    const answer = await views.render(read);
    expect(answer.kind === 'failed' && componentFailed(SCOPE, answer)).toMatchObject(refused);
    const changes = new StateChanges(own.running, views, { ...DEFAULT_STATE_CHANGES, guest });
    const change = await textArtifact(own.artifacts, 'state-change', changeText(`${LOOPING} unreachable`));
    const ask = askOn(known, { artifact: change, command: commandOf({ path: '/' }) });
    expect(await changes.execute(ask)).toMatchObject({ code: 'WasmExecutionError' });
    const failure = await changes.execute(ask);
    expect(failure.kind === 'failed' && undecidedError({ ...failure, ...SCOPE, failure })).toMatchObject(refused);
  });
});
