// Goal: a State View has the bytes of a fold that is written again over the events as they were sent, on every node
// of a cluster, whatever a node has kept, lost or found damaged (F4, F5, F6). Method: four real nodes in this process,
// three copies; random histories that grow between reads, selectors of every kind, a parameter of every term, cuts,
// both orders, all modes; kept states that are cut, changed, swapped or removed while a node is down.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareInstants, concatBytes, encodeUtf8, type Instant, instantFromMs } from '#base';
import { and, comparePositions, encodeSelector, type Selector, term } from '#model';
import {
  ActivateStateViewRequest,
  ExpireSnapshotsRequest,
  FetchStateViewAtRevisionRequest,
  PublishStateViewRequest,
} from '../../../src/transport/grpc/gen/cairn/v1/component.ts';
import { DataKind, EventSelector } from '../../../src/transport/grpc/gen/cairn/v1/event.ts';
import { type FoldedEvent, hashingView, naiveState } from '../../support/components/views.ts';
import { eventually } from '../../support/eventually.ts';
import { event, transaction, uniqueName } from '../../support/grpc-requests.ts';
import { runs } from '../../support/runs.ts';
import { arbSelectable, arbSelector, naivelyMatches } from '../../support/selectors.ts';
import { startServerIn, type TestServer } from '../../support/server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const RUNS = runs(2);
const SLOW_MS = 120_000 + 60_000 * RUNS;
const NAMES = ['one', 'two', 'three', 'four'];
/** Effective times are these many seconds, all before the test. */
const [TIMES_FROM, TIMES] = [1_760_000_000, 12];
const DEADLINE = { deadlineMs: 60_000 };

/** What a view leaves open, and what every read of it says. */
const arbParameter = fc.constantFrom(
  { attribute: 'stream', kind: 'by-stream', term: 1, value: 'a' } as const,
  { attribute: 'stream', kind: 'by-stream-prefix', term: 2, value: 'a' } as const,
  { attribute: 'event_type', kind: 'by-type', term: 3, value: 't.x' } as const,
  { attribute: 'event_type', kind: 'by-type-prefix', term: 4, value: 't' } as const,
  { attribute: 'subject', kind: 'by-subject', term: 5, value: 'é' } as const,
  { attribute: 'subject', kind: 'by-subject-prefix', term: 6, value: 's' } as const,
);

const arbView = fc.record({
  selector: arbSelector,
  parameter: fc.option(arbParameter, { nil: undefined }),
  isByTime: fc.boolean(),
  maintenanceMode: fc.constantFrom(1, 2, 3),
});
type View = typeof arbView extends fc.Arbitrary<infer Drawn> ? Drawn : never;

const arbSent = fc.record({
  what: arbSelectable,
  seconds: fc.option(fc.integer({ min: 0, max: TIMES }), { nil: undefined }),
  data: fc.constantFrom('', '{"a":1}', '[true,null]', '"ü"'),
});
type Sent = typeof arbSent extends fc.Arbitrary<infer Drawn> ? Drawn : never;

const arbStep = fc.record({
  grown: fc.array(arbSent, { minLength: 40, maxLength: 150, size: 'max' }),
  through: fc.nat({ max: NAMES.length - 1 }),
  /** In hundredths of the revisions. */
  at: fc.integer({ min: 0, max: 100 }),
  /** Undefined: behind the last event. */
  cut: fc.option(fc.integer({ min: -1, max: TIMES + 1 }), { nil: undefined }),
  restarted: fc.option(fc.nat({ max: NAMES.length - 1 }), { nil: undefined }),
  pick: fc.nat({ max: 1000 }),
  expires: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
});
type Step = typeof arbStep extends fc.Arbitrary<infer Drawn> ? Drawn : never;

const arbPlan = fc.record({
  views: fc.array(arbView, { minLength: 2, maxLength: 3 }),
  // One at least that keeps states, whatever else is drawn.
  all: fc.record({ selector: fc.constant(and([])), parameter: fc.constant(undefined), isByTime: fc.boolean() }),
  steps: fc.array(arbStep, { minLength: 4, maxLength: 6 }),
});

const dir = tempDir();
const nodes: TestServer[] = [];
let wasmBytes = Buffer.alloc(0);
let damaged = 0;

beforeAll(async () => {
  wasmBytes = Buffer.from(await (await hashingView({ hasBatch: true, hasQuery: true })).bytes());
  for (const place of NAMES.keys()) nodes.push(await started(place));
}, SLOW_MS);

afterAll(async () => {
  for (const node of nodes.toReversed()) await node[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
}, SLOW_MS);

function started(place: number): Promise<TestServer> {
  const settings = ['--peer-port=0', '--guest-executors=1', `--node-name=${NAMES[place]}`];
  const other = nodes.find((_, at) => at !== place);
  const seed = other === undefined ? [] : [`--join=${other.peer}`];
  return startServerIn(join(dir.path, `${place}`), ...settings, ...seed);
}

function nodeAt(place: number): TestServer {
  const node = nodes[place];
  if (node === undefined) throw new Error(`there is no node ${place}`);
  return node;
}

/** Ended, its kept states damaged, started again. */
async function restart(place: number, step: Step): Promise<void> {
  const old = nodeAt(place);
  await old[Symbol.asyncDispose]();
  damage(join(old.dataDir, 'guests', 'states'), step);
  nodes[place] = await started(place);
}

/** Of five files one is left; each of the others has another mischief, near its end, where the state is. */
function damage(path: string, { pick }: Step): void {
  // A node that has folded nothing yet has no such folder.
  const files = (existsSync(path) ? readdirSync(path) : []).toSorted().map((name) => join(path, name));
  const contents = files.map((file) => readFileSync(file));
  for (const [n, file] of files.entries()) {
    const bytes = Buffer.from(contents[n] ?? '');
    const place = Math.max(0, bytes.length - 1 - (pick % 24));
    const other = contents[(n + 1) % files.length] ?? bytes;
    const mischief = [
      (): void => writeFileSync(file, bytes.fill((bytes[place] ?? 0) ^ 1, place, place + 1)),
      (): void => writeFileSync(file, other),
      (): void => writeFileSync(file, bytes.subarray(0, place)),
      (): void => rmSync(file),
    ][(pick + n) % 5];
    mischief?.();
    if (mischief !== undefined) damaged++;
  }
}

class World {
  readonly databaseName: string = uniqueName('folds');
  readonly #views: readonly View[];
  readonly #sent: (FoldedEvent & { readonly effective: Instant })[] = [];
  #revision = 0;

  constructor(views: readonly View[]) {
    this.#views = views;
  }

  async begin(): Promise<void> {
    const { databaseName } = this;
    await eventually(() => nodeAt(0).client.send('createDatabase', { databaseName }, DEADLINE));
    for (const [n, { selector, parameter, isByTime, maintenanceMode }] of this.#views.entries()) {
      const { client } = nodeAt(n % NAMES.length);
      const fixed = EventSelector.decode(encodeSelector(selector));
      const open = parameter && { name: 'who', term: parameter.term };
      const both = [fixed, { kind: { $case: 'parameter' as const, value: open ?? {} } }];
      const selected = open ? { kind: { $case: 'and' as const, value: { selectors: both } } } : fixed;
      const published = PublishStateViewRequest.fromPartial({
        databaseName,
        stateViewName: `view-${n}`,
        contentType: 'application/octet-stream',
        eventSelection: { selectors: [selected] },
        queryTemporality: isByTime ? 2 : 1,
        wasmBytes,
      });
      await client.send('publishStateView', published, DEADLINE);
      const activation = { databaseName, stateViewName: `view-${n}`, version: 1, maintenanceMode };
      await client.send('activateStateView', ActivateStateViewRequest.fromPartial(activation), DEADLINE);
    }
  }

  /** What was rendered and what was wanted, where they differ. */
  async do(step: Step): Promise<readonly unknown[]> {
    await this.#grow(step);
    if (step.restarted !== undefined) await restart(step.restarted, step);
    const differing: unknown[] = [];
    for (const [n, view] of this.#views.entries()) {
      if (step.expires) await this.#expire(n, step);
      const at = Math.ceil((this.#revision * step.at) / 100);
      // The latest revision and an earlier one, so that kept states are ahead and behind.
      for (const revision of new Set([this.#revision, Math.max(1, at)])) {
        const wanted = Buffer.from(this.#naivelyRendered(view, revision, cutOf(step))).toString('hex');
        const asked = nodes.map((node) => this.#rendered(node, n, revision, cutOf(step)));
        const found = await Promise.all(asked);
        if (found.some((each) => each !== wanted)) differing.push({ view, revision, step, found, wanted });
      }
    }
    return differing;
  }

  async #grow({ grown, through }: Step): Promise<void> {
    const events = grown.map(({ what, seconds, data }, n) => {
      const { source, type: ty, subject } = what;
      const time = seconds === undefined ? {} : { time: { seconds: TIMES_FROM + seconds, nanos: 0 } };
      const json = data === '' ? {} : { data: Buffer.from(data), dataKind: DataKind.DATA_KIND_JSON };
      return event({ id: `${this.#sent.length + n}`, source, ty, subject, ...time, ...json });
    });
    const request = transaction(this.databaseName, events, { transactionId: crypto.randomUUID() });
    const reply = await eventually(() => nodeAt(through).client.send('transact', request, DEADLINE));
    const { seconds = 0, nanos = 0 } = reply.recordedTime ?? {};
    this.#revision = reply.revision;
    const before = this.#sent.length;
    for (const [index, sent] of grown.entries()) {
      this.#sent.push(
        asSent(sent, `${before + index}`, { revision: reply.revision, index }, seconds * 1000 + nanos / 1e6),
      );
    }
  }

  async #expire(n: number, { through }: Step): Promise<void> {
    const request = ExpireSnapshotsRequest.fromPartial({ databaseName: this.databaseName, stateViewName: `view-${n}` });
    await eventually(() => nodeAt(through).client.send('expireSnapshots', request, DEADLINE));
  }

  /** In hexadecimal. A node that begins is asked again until it answers. */
  #rendered({ client }: TestServer, n: number, revision: number, cut: Instant): Promise<string> {
    const view = this.#views[n];
    const request = FetchStateViewAtRevisionRequest.fromPartial({
      databaseName: this.databaseName,
      stateViewName: `view-${n}`,
      revision,
      parameters: bindingsOf(view),
      ...(view?.isByTime ? { effectiveTimeEndAt: cut } : {}),
    });
    return eventually(async () => {
      const { bytes } = await client.send('fetchStateViewAtRevision', request, DEADLINE);
      return Buffer.from(bytes).toString('hex');
    });
  }

  #naivelyRendered(view: View, at: number, cut: Instant): Uint8Array {
    const { parameter, isByTime } = view;
    const selector: Selector = parameter ? and([view.selector, term(parameter.kind, parameter.value)]) : view.selector;
    const selected = this.#sent
      .filter(({ stored, event: each }) => stored.position.revision <= at && naivelyMatches(selector, each))
      .filter(({ effective }) => !isByTime || compareInstants(effective, cut) <= 0)
      .toSorted((a, b) => {
        const times = isByTime ? compareInstants(a.effective, b.effective) : 0;
        return times || comparePositions(a.stored.position, b.stored.position);
      });
    return concatBytes([naiveState(selected), encodeUtf8(JSON.stringify(bindingsOf(view)))]);
  }
}

function bindingsOf(view: View | undefined): Readonly<Record<string, string>> {
  const parameter = view?.parameter;
  return parameter ? { [`${parameter.attribute}.who`]: parameter.value } : {};
}

function cutOf({ cut }: Step): Instant {
  return { seconds: cut === undefined ? 4_000_000_000 : TIMES_FROM + cut, nanos: 0 };
}

function asSent(
  { what, seconds, data }: Sent,
  id: string,
  position: FoldedEvent['stored']['position'],
  recordedTimeMs: number,
): FoldedEvent & { readonly effective: Instant } {
  const effective = seconds === undefined ? instantFromMs(recordedTimeMs) : { seconds: TIMES_FROM + seconds, nanos: 0 };
  const time = seconds === undefined ? undefined : { instant: effective };
  return { event: { ...what, id, time, data: encodeUtf8(data) }, stored: { position, recordedTimeMs }, effective };
}

describe('a State View in a cluster', () => {
  it('renders on every node what a fold of what was sent gives', { timeout: SLOW_MS }, async () => {
    await fc.assert(
      fc.asyncProperty(arbPlan, async ({ views, all, steps }) => {
        const world = new World([...views, { ...all, maintenanceMode: 1 }]);
        await world.begin();
        const differing: unknown[] = [];
        for (const step of steps) differing.push(...(await world.do(step)));
        expect(differing).toEqual([]);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    // Otherwise the files were never what a node found damaged.
    expect(damaged).toBeGreaterThan(0);
  });
});
