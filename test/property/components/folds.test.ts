// Goal: a State View renders the same bytes as a fold from the first event, regardless of kept or lost snapshots and
// killed executors (F4, F5, F6, F7). Method: random histories, schedules and damage, against a naive fold.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compareInstants, concatBytes } from '#base';
import {
  CacheFolder,
  DEFAULT_STATE_VIEWS,
  FoldSnapshots,
  type RunnableArtifact,
  StateViews,
  type ViewRead,
} from '#components';
import { comparePositions, type Selector } from '#model';
import { MortalExecutors, naiveState, runnableView } from '../../support/components/views.ts';
import { CREATED_AT_MS, type EventSketch, KnownDatabase } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { runs } from '../../support/runs.ts';
import { arbSelectable, arbSelector, naivelyMatches } from '../../support/selectors.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { executors } from '../../support/wasm/executors.ts';

const MISCHIEF = ['none', 'none', 'kill', 'reopen', 'cut', 'change', 'swap', 'remove'] as const;
const TIMES = 12;
const NEVER = new AbortController().signal;

interface Step {
  readonly grown: readonly (readonly EventSketch[])[];
  readonly mischief: (typeof MISCHIEF)[number];
  readonly pick: number;
  readonly at: number;
  readonly cut: number;
  readonly order: ViewRead['order'];
  readonly refolds: boolean;
  /** Number of events folded in advance before the read; 0 for none. */
  readonly advance: number;
}

const arbSketch: fc.Arbitrary<EventSketch> = fc
  .record({
    what: arbSelectable,
    time: fc.option(fc.integer({ min: 0, max: TIMES }), { nil: undefined }),
    id: fc.option(fc.constantFrom('twin', 'é"\\'), { nil: undefined }),
    data: fc.option(fc.constantFrom('{"a":1}', '[true,null]', '"ü"'), { nil: undefined }),
  })
  .map(({ what, time, id, data }) => ({
    source: what.source,
    type: what.type,
    ...(what.subject === undefined ? {} : { subject: what.subject }),
    ...(time === undefined ? {} : { time: { instant: { seconds: CREATED_AT_MS / 1000 + time, nanos: 0 } } }),
    ...(id === undefined ? {} : { id }),
    ...(data === undefined ? {} : { data: new TextEncoder().encode(data), dataKind: 1 }),
  }));

const arbStep: fc.Arbitrary<Step> = fc.record({
  grown: fc.array(fc.array(arbSketch, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
  mischief: fc.constantFrom(...MISCHIEF),
  pick: fc.nat({ max: 1000 }),
  at: fc.integer({ min: 0, max: 100 }),
  cut: fc.integer({ min: -1, max: TIMES + 1 }),
  order: fc.constantFrom('revision', 'effective-time'),
  refolds: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  advance: fc.integer({ min: 0, max: 9 }),
});

const arbPlan = fc.record({
  // The database renames events of a transaction with the same id in one stream.
  selectors: fc.array(arbSelector, { minLength: 1, maxLength: 2 }),
  parameters: fc.dictionary(fc.constantFrom('subject.id', 'stream.é', 'event_type."'), fc.string({ maxLength: 5 })),
  batchEvents: fc.integer({ min: 1, max: 7 }),
  batchBytes: fc.constantFrom(1, 300, 1e5),
  snapshotEvents: fc.integer({ min: 1, max: 9 }),
  snapshotEventsMin: fc.integer({ min: 1, max: 4 }),
  hasBatch: fc.boolean(),
  steps: fc.array(arbStep, { minLength: 2, maxLength: 12 }),
});
type Plan = typeof arbPlan extends fc.Arbitrary<infer Drawn> ? Drawn : never;

const dir = tempDir();
const mortal = new MortalExecutors(() => executors({ quarantine: { killsMax: 1e6, windowMs: 1000 } }));
const artifacts: RunnableArtifact[] = [];

beforeAll(async () => {
  for (const hasBatch of [false, true]) {
    artifacts.push(await runnableView(join(dir.path, 'artifacts'), { hasBatch, hasQuery: true }));
  }
}, 60_000);
afterAll(async () => {
  await mortal[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

/** The result of a fold from the first event, without the host. */
function naivelyRendered(database: KnownDatabase, read: ViewRead): Uint8Array {
  const { selector, at, cut, order, parameters } = read;
  const selected = database.events
    .filter(({ stored, event }) => stored.position.revision <= at && naivelyMatches(selector, event))
    .filter(({ effective }) => order === 'revision' || cut === undefined || compareInstants(effective, cut) <= 0)
    .toSorted((a, b) => {
      const times = order === 'revision' ? 0 : compareInstants(a.effective, b.effective);
      return times || comparePositions(a.stored.position, b.stored.position);
    });
  const names = [...parameters.keys()].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const members = names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(parameters.get(name))}`);
  return concatBytes([naiveState(selected), new TextEncoder().encode(`{${members.join(',')}}`)]);
}

function damage(path: string, { mischief, pick }: Step): void {
  const names = readdirSync(path).toSorted();
  const [name, other] = [names[pick % names.length], names[(pick + 1) % names.length]];
  if (name === undefined || other === undefined) return;
  const [file, bytes] = [join(path, name), readFileSync(join(path, name))];
  const place = pick % bytes.length;
  if (mischief === 'cut') writeFileSync(file, bytes.subarray(0, place));
  if (mischief === 'change') writeFileSync(file, bytes.fill((bytes[place] ?? 0) ^ (1 << (pick % 8)), place, place + 1));
  if (mischief === 'swap') writeFileSync(file, readFileSync(join(path, other)));
  if (mischief === 'remove') rmSync(file);
}

class World {
  readonly database = new KnownDatabase(memoryKv());
  readonly #plan: Plan;
  readonly #path: string;
  #views: StateViews | undefined;

  constructor(plan: Plan, path: string) {
    this.#plan = plan;
    this.#path = path;
  }

  async do(step: Step): Promise<readonly unknown[]> {
    for (const [n, sketches] of step.grown.entries()) {
      this.database.apply(sketches, CREATED_AT_MS + 1000 * ((this.database.revision + n) % TIMES));
    }
    await this.database.flush();
    if (step.mischief === 'kill') mortal.callsLeft = step.pick % 4;
    else if (step.mischief !== 'none') await this.#reopen(step);
    this.#views ??= await this.#open();
    const differing: unknown[] = [];
    for (const selector of this.#plan.selectors) {
      const read = this.#read(step, selector);
      await this.#advance(read, step);
      const answer = await this.#views.render(read);
      const wanted = Buffer.from(naivelyRendered(this.database, read)).toString('hex');
      const found = answer.kind === 'rendered' ? Buffer.from(answer.bytes).toString('hex') : answer.message;
      if (found !== wanted) differing.push({ step, selector, found, wanted });
    }
    return differing;
  }

  /** Folds to the end of the log, as maintenance does, or a part of it. */
  async #advance(read: ViewRead, { advance, pick }: Step): Promise<void> {
    if (advance === 0) return;
    const at = this.database.revision;
    const step = { batch: { eventsMax: 1 + (pick % 4), bytesMax: 1e5 }, eventsMax: advance, signal: NEVER };
    const advanced = await this.#views?.advance({ ...read, at, refolds: false }, step);
    const place = advanced?.kind === 'advanced' ? advanced.place : undefined;
    if (place !== undefined && pick % 5 === 0) await this.#views?.drop(place);
  }

  async #reopen(step: Step): Promise<void> {
    this.#views = undefined;
    if (step.mischief !== 'reopen') damage(this.#path, step);
  }

  async #open(): Promise<StateViews> {
    const { batchEvents, batchBytes, snapshotEvents, snapshotEventsMin } = this.#plan;
    // Keeps nothing in memory, so that every state comes from its file.
    const folder = await CacheFolder.open({ path: this.#path, bytesMax: 3000, memoryBytesMax: 0 });
    return new StateViews(mortal, new FoldSnapshots(folder), {
      ...DEFAULT_STATE_VIEWS,
      batch: { eventsMax: batchEvents, bytesMax: batchBytes },
      snapshotEvents,
      snapshotEventsMin,
    });
  }

  #read({ at, cut, order, refolds }: Step, selector: Selector): ViewRead {
    const [one, many] = artifacts;
    const artifact = this.#plan.hasBatch ? many : one;
    if (artifact === undefined) throw new Error('There is no artifact');
    return {
      source: this.database.source,
      databaseId: 'a-database',
      view: 'view/v1',
      foldEpoch: 1,
      artifact,
      selector,
      order,
      parameters: new Map(Object.entries(this.#plan.parameters)),
      at: Math.ceil((this.database.revision * at) / 100),
      cut: { seconds: CREATED_AT_MS / 1000 + cut, nanos: 0 },
      refolds,
    };
  }
}

it('a State View renders the result of a fold from the first event, regardless of kept and lost snapshots', {
  timeout: 240_000,
}, async () => {
  let folder = 0;
  await fc.assert(
    fc.asyncProperty(arbPlan, async (plan) => {
      const world = new World(plan, join(dir.path, `run-${folder++}`));
      await CacheFolder.open({ path: join(dir.path, `run-${folder - 1}`), bytesMax: 0, memoryBytesMax: 0 });
      const differing: unknown[] = [];
      for (const step of plan.steps) differing.push(...(await world.do(step)));
      expect(differing).toEqual([]);
    }),
    { numRuns: runs(60) },
  );
  expect(mortal.ended).toBeGreaterThan(runs(10));
});
