// Goal: a decision is committed only if it would be the same at the revision before the commit, and is refused only
// because of a change or a possible change (F20). Method: random histories and scripts, against a model that decides
// again.
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compareInstants, type Instant } from '#base';
import {
  CacheFolder,
  DEFAULT_STATE_CHANGES,
  DEFAULT_STATE_VIEWS,
  type Decision,
  type ExecutionAsk,
  FoldSnapshots,
  type ReadableView,
  type RunnableArtifact,
  StateChanges,
  StateViews,
} from '#components';
import type { TransactOutcome } from '#database';
import {
  and,
  comparePositions,
  Faults,
  parameter,
  parseJson,
  readEvent,
  type Selector,
  selectorFromJson,
  selectorToJson,
  type TransactPayload,
  term,
} from '#model';
import { isList, isRecord, tagged, type Value } from '#wasm';
import { toRecord } from '../../../sdk/component/src/event.ts';
import {
  askOn,
  commandOf,
  type Deciding,
  decidingArtifact,
  decidingBy,
  idOf,
  readable,
} from '../../support/components/deciding.ts';
import {
  digested,
  emittedBy,
  FIRST_DIGEST,
  isLeftOut,
  type Script,
  type Step,
} from '../../support/components/scripted-change.ts';
import { naiveState, runnableView } from '../../support/components/views.ts';
import {
  CREATED_AT_MS,
  DATABASE_ID,
  type EventSketch,
  KnownDatabase,
  type KnownEvent,
} from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { runs } from '../../support/runs.ts';
import { arbSelectable, arbSelector, naivelyMatches } from '../../support/selectors.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { executors } from '../../support/wasm/executors.ts';

const CREATED_AT = CREATED_AT_MS / 1000;
const TIMES = 6;
const SUBJECTS = ['s', 's/1', 'é'];
const VIEWS = ['by-revision', 'by-time'] as const;
const ATTEMPTS_MAX = 3;

const arbSketch: fc.Arbitrary<EventSketch> = fc
  .tuple(arbSelectable, fc.option(fc.integer({ min: 0, max: TIMES }), { nil: undefined }))
  .map(([what, time]) => ({
    source: what.source,
    type: what.type,
    ...(what.subject === undefined ? {} : { subject: what.subject }),
    ...(time === undefined ? {} : { time: { instant: { seconds: CREATED_AT + time, nanos: 0 } } }),
  }));
const arbHistory = (maxLength: number): fc.Arbitrary<readonly (readonly EventSketch[])[]> =>
  fc.array(fc.array(arbSketch, { minLength: 1, maxLength: 2 }), { maxLength });

const arbUnless = fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined });
const arbNarrow: fc.Arbitrary<Selector> = fc.oneof(
  arbSelector.filter(isReadable),
  fc.constantFrom('s', 's/1', 'é').map((subject) => term('by-subject', subject)),
  fc.constantFrom('t', 't.x', 'u').map((type) => term('by-type', type)),
);
const arbStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('events' as const),
      selector: arbNarrow.map(selectorToJson),
      limit: fc.constantFrom(0, 1, 2, 3, 5, 100),
      unless: arbUnless,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('view' as const),
      name: fc.constantFrom(...VIEWS),
      parameters: fc.constantFrom(...SUBJECTS).map((id) => ({ 'subject.id': id })),
      unless: arbUnless,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('database' as const), unless: arbUnless }) },
);

const arbCommand = fc.record({
  steps: fc.array(arbStep, { minLength: 1, maxLength: 4 }),
  leastEvents: fc.constantFrom(0, 1, 1, 1),
  cut: fc.integer({ min: -1, max: TIMES + 1 }),
  mode: fc.constantFrom('latest', 'latest', 'revision', 'last-seen'),
  between: fc.array(arbHistory(2), { maxLength: ATTEMPTS_MAX }),
  dryRunAt: fc.integer({ min: 0, max: 100 }),
});
const arbPlan = fc.record({
  history: arbHistory(8),
  selectors: fc.tuple(arbNarrow, arbNarrow),
  /** With true, the limits are so small that constraints on prefixes are soon too broad to evaluate. */
  isNarrow: fc.boolean(),
  commands: fc.array(arbCommand, { minLength: 1, maxLength: 4 }),
});
type Plan = typeof arbPlan extends fc.Arbitrary<infer Drawn> ? Drawn : never;
type PlannedCommand = Plan['commands'][number];

const NARROW = { comparisons: 1, bytes: 1 };

function isReadable(selector: Selector): boolean {
  return parsed(selectorToJson(selector)) !== undefined;
}

function parsed(json: string): Selector | undefined {
  const node = parseJson(new TextEncoder().encode(json));
  return node.kind === 'fault' ? undefined : selectorFromJson(node, 'selector', new Faults());
}

const dir = tempDir();
const folding = executors({ quarantine: { killsMax: 1e6, windowMs: 1000 } });
let viewArtifact: RunnableArtifact;

beforeAll(async () => {
  viewArtifact = await runnableView(join(dir.path, 'artifacts'), { hasBatch: true, hasQuery: false });
});
afterAll(async () => {
  await folding[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

/** Acts like `scripted-change.ts`, without a guest. */
const deciding = decidingBy('cairn:component/state-reader@0.1.0', async ([command], ask) => {
  const { body } = isRecord(command) ? command : {};
  const script: Script = JSON.parse(body instanceof Uint8Array ? Buffer.from(body).toString() : '');
  let digest = FIRST_DIGEST;
  for (const step of script.steps) if (!isLeftOut(step, digest)) digest = digested(digest, await readBy(step, ask));
  return tagged('ok', emittedBy(script, digest).map(toRecord) as unknown as Value);
});

async function readBy(step: Step, ask: Parameters<Deciding>[1]): Promise<string> {
  if (step.kind === 'database') {
    const told = await ask('get-database');
    const { name, id, revision, 'revision-time': time } = told as Readonly<Record<string, string | bigint>>;
    return `${name} ${id} ${revision} ${time}`;
  }
  const answer =
    step.kind === 'view'
      ? await ask('get-state-view', step.name, Object.entries(step.parameters))
      : await ask('query-events', step.selector, step.limit);
  const { tag, val } = isRecord(answer) ? answer : {};
  if (tag !== 'ok') throw new Error('The script asks for nothing that is wrong');
  if (!isList(val)) return val instanceof Uint8Array ? Buffer.from(val).toString('hex') : 'nothing';
  const events = val.map((bytes) => {
    const text = bytes instanceof Uint8Array ? Buffer.from(bytes).toString() : '';
    const { revision, index, id }: { revision: number; index: number; id: string } = JSON.parse(text);
    return `${revision}.${index} ${id}`;
  });
  return `${events.join('')}read`;
}

/** Computes the result of a script at a revision, and the later events that would change it. */
class Model {
  readonly #database: KnownDatabase;
  readonly #views: ReadonlyMap<string, { readonly selector: Selector; readonly isByTime: boolean }>;

  constructor(database: KnownDatabase, [byRevision, byTime]: Plan['selectors']) {
    this.#database = database;
    this.#views = new Map([
      ['by-revision', { selector: byRevision, isByTime: false }],
      ['by-time', { selector: byTime, isByTime: true }],
    ]);
  }

  decide(
    script: Script,
    at: number,
    cut: Instant,
  ): { readonly digest: number; readonly hasTimes: boolean; readonly hasDatabase: boolean } {
    let digest = FIRST_DIGEST;
    let [hasTimes, hasDatabase] = [false, false];
    for (const step of script.steps) {
      if (isLeftOut(step, digest)) continue;
      if (step.kind === 'database') {
        hasDatabase = true;
        digest = digested(digest, `shop ${DATABASE_ID} ${at} ${timeText(this.#timeOf(at))}`);
      } else if (step.kind === 'view') {
        hasTimes ||= this.#views.get(step.name)?.isByTime === true;
        const folded = this.#viewed(step.name, step.parameters['subject.id'], at, cut);
        digest = digested(digest, folded.length === 0 ? 'nothing' : Buffer.from(naiveState(folded)).toString('hex'));
      } else {
        const selector = parsed(step.selector);
        const found = this.#upTo(at).filter(({ event }) => selector !== undefined && naivelyMatches(selector, event));
        for (const { event, stored } of found.slice(0, step.limit)) {
          const { revision, index } = stored.position;
          digest = digested(digest, `${revision}.${index} ${stored.storedId ?? event.id}`);
        }
        digest = digested(digest, 'read');
      }
    }
    return { digest, hasTimes, hasDatabase };
  }

  #viewed(name: string, subject: string | undefined, at: number, cut: Instant): readonly KnownEvent[] {
    const view = this.#views.get(name);
    if (view === undefined) return [];
    const selected = this.#upTo(at).filter(
      ({ event }) => event.subject === subject && naivelyMatches(view.selector, event),
    );
    if (!view.isByTime) return selected;
    return selected
      .filter(({ effective }) => compareInstants(effective, cut) <= 0)
      .toSorted(
        (a, b) => compareInstants(a.effective, b.effective) || comparePositions(a.stored.position, b.stored.position),
      );
  }

  #upTo(at: number): readonly KnownEvent[] {
    return this.#database.events.filter(({ stored }) => stored.position.revision <= at);
  }

  #timeOf(at: number): number {
    const found = this.#database.events.find(({ stored }) => stored.position.revision === at);
    return found?.stored.recordedTimeMs ?? CREATED_AT_MS;
  }
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

interface Tried {
  readonly payload: TransactPayload;
  readonly basis: number;
  readonly outcome: TransactOutcome;
}

/** Counts of what happened, so that a test without any activity fails. */
const seen = { committed: 0, retried: 0, conflicts: 0, nothing: 0, replayed: 0, widened: 0, spared: 0, dryRuns: 0 };

class World {
  readonly #database: KnownDatabase;
  readonly #model: Model;
  readonly #changes: StateChanges;
  readonly #views: ReadonlyMap<string, ReadableView>;
  #clock = 0;
  #ids = 0;

  constructor(plan: Plan, views: StateViews) {
    const kv = memoryKv();
    const prefixLimits = { near: NARROW, listed: NARROW, rows: 1, far: NARROW };
    this.#database = new KnownDatabase(kv, kv, plan.isNarrow ? { prefixLimits } : {});
    this.#model = new Model(this.#database, plan.selectors);
    this.#changes = new StateChanges(deciding, views, { ...DEFAULT_STATE_CHANGES, attemptsMax: ATTEMPTS_MAX });
    this.#views = new Map(VIEWS.map((name, n) => [name, viewOf(name, plan.selectors[n] ?? term('by-type', 't'))]));
  }

  async grow(history: readonly (readonly EventSketch[])[]): Promise<void> {
    for (const sketches of history) this.#database.apply(sketches, CREATED_AT_MS + 1000 * (this.#clock++ % TIMES));
    await this.#database.flush();
  }

  async do(planned: PlannedCommand): Promise<readonly unknown[]> {
    const script: Script = { steps: planned.steps, leastEvents: planned.leastEvents };
    const began = this.#database.revision;
    const tried: Tried[] = [];
    const cut = { seconds: CREATED_AT + planned.cut, nanos: 0 };
    const ask = this.#ask(script, { planned, cut, tried });
    const dryRunAt = Math.floor((began * planned.dryRunAt) / 100);
    const faults = this.#ofDryRun(await this.#changes.decide(ask, dryRunAt), script, { at: dryRunAt, cut });
    if (this.#database.revision !== began) faults.push('a dry run has committed');
    const answer = await this.#changes.execute(ask);
    for (const each of tried) faults.push(...this.#ofCommit(each, script, cut));
    const last = tried.at(-1)?.outcome.kind;
    // The repeated decision may produce no events.
    const isAgain = planned.mode === 'latest' && tried.length < ATTEMPTS_MAX;
    const expected = last === 'violated' ? ['conflict', ...(isAgain ? ['nothing'] : [])] : [last ?? 'nothing'];
    if (!expected.includes(answer.kind)) faults.push({ answer, expected });
    if (answer.kind === 'nothing') faults.push(...this.#ofNothing(script, answer.at, cut));
    if (answer.kind === 'committed') faults.push(...(await this.#ofRepeat(ask, answer.transaction.revision)));
    if (answer.kind === 'conflict' || answer.kind === 'nothing')
      seen[answer.kind === 'nothing' ? 'nothing' : 'conflicts']++;
    if (tried.length > 1 && answer.kind === 'committed') seen.retried++;
    return faults;
  }

  #ofDryRun(
    decision: Decision,
    script: Script,
    { at, cut }: { readonly at: number; readonly cut: Instant },
  ): unknown[] {
    seen.dryRuns++;
    const wanted = idsOf(script, this.#model.decide(script, at, cut).digest);
    const found =
      decision.kind === 'decided' ? decision.events.map((bytes) => readEvent(bytes, 0, bytes.length).id) : decision;
    return JSON.stringify(found) === JSON.stringify(wanted) ? [] : [{ dryRun: found, wanted, at, script }];
  }

  #ofNothing(script: Script, at: number, cut: Instant): readonly unknown[] {
    const wanted = idsOf(script, this.#model.decide(script, at, cut).digest);
    return wanted.length === 0 ? [] : [{ nothing: at, wanted }];
  }

  #ofCommit({ payload, basis, outcome }: Tried, script: Script, cut: Instant): readonly unknown[] {
    const at = payload.options.lastReadRevision ?? -1;
    const before = this.#model.decide(script, at, cut);
    const now = this.#model.decide(script, basis, cut);
    const ids = JSON.stringify(payload.events.map((bytes) => readEvent(bytes, 0, bytes.length).id));
    const isWhole = payload.constraints.some(({ selector }) => selector === undefined);
    if (ids !== JSON.stringify(idsOf(script, before.digest))) return [{ decided: ids, at, script }];
    if (outcome.kind === 'committed') {
      seen.committed++;
      if (basis > at) seen.spared++;
      return ids === JSON.stringify(idsOf(script, now.digest)) ? [] : [{ letThrough: ids, at, basis, script }];
    }
    if (outcome.kind !== 'violated') return [];
    if (isWhole && !before.hasDatabase) seen.widened++;
    const isTold = isWhole ? basis > at : before.hasTimes || before.digest !== now.digest;
    return isTold ? [] : [{ refused: ids, at, basis, script, constraints: payload.constraints }];
  }

  /** The same command with the same id returns the recorded result, regardless of later events. */
  async #ofRepeat(ask: ExecutionAsk, revision: number): Promise<readonly unknown[]> {
    const before = this.#database.revision;
    const again = await this.#changes.execute(ask);
    seen.replayed++;
    const isSame = again.kind === 'committed' && again.isReplayed && again.transaction.revision === revision;
    return isSame && this.#database.revision === before ? [] : [{ again }];
  }

  #ask(
    script: Script,
    { planned, cut, tried }: { readonly planned: PlannedCommand; readonly cut: Instant; readonly tried: Tried[] },
  ): ExecutionAsk {
    const revision = this.#database.revision;
    const between = [...planned.between];
    const command = commandOf({ path: '/scripts', json: script });
    const asked = askOn(this.#database, { artifact: decidingArtifact('own'), command, views: this.#views });
    return {
      ...asked,
      cut,
      basis: { kind: planned.mode, revision },
      transactionId: idOf(this.#ids++),
      log: {
        ...asked.log,
        commit: async (payload) => {
          await this.grow(between.shift() ?? []);
          const basis = this.#database.revision;
          const outcome = await this.#database.transact(payload, CREATED_AT_MS + 1000 * (this.#clock++ % TIMES));
          tried.push({ payload, basis, outcome });
          return outcome;
        },
      },
    };
  }
}

function idsOf(script: Script, digest: number): readonly string[] {
  return emittedBy(script, digest).map(({ id = '' }) => id);
}

function viewOf(name: (typeof VIEWS)[number], selector: Selector): ReadableView {
  const order = name === 'by-time' ? 'effective-time' : 'revision';
  return readable(name, viewArtifact, { selector: and([selector, parameter('by-subject', 'id')]), order });
}

it('a decision is committed only if it would be the same at its commit (F20, F21, F22)', {
  timeout: 600_000,
}, async () => {
  let started = 0;
  await fc.assert(
    fc.asyncProperty(arbPlan, async (plan) => {
      const path = join(dir.path, `run-${started++}`);
      const folder = await CacheFolder.open({ path, bytesMax: 1e6, memoryBytesMax: 1e6 });
      const views = new StateViews(folding, new FoldSnapshots(folder), {
        ...DEFAULT_STATE_VIEWS,
        snapshotEventsMin: 1,
      });
      const world = new World(plan, views);
      await world.grow(plan.history);
      const faults: unknown[] = [];
      for (const planned of plan.commands) faults.push(...(await world.do(planned)));
      expect(faults).toEqual([]);
    }),
    { numRuns: runs(300) },
  );
  expect(Object.entries(seen).filter(([, count]) => count < 10)).toEqual([]);
});
