// Goal: a State Change of the EvidentSource SDK's shape is told one revision, decided by what it says and guarded by
// what it was told and by its conditions; what it cannot be told, and what it does wrong, ends it (F20, F21, F50, F51).
// Method: a component that componentize-js makes of the SDK's world, which does what its command says, in real
// executors; others commit in front of its commits.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CacheFolder,
  DEFAULT_STATE_CHANGES,
  type Execution,
  type ExecutionAsk,
  FoldSnapshots,
  type ReadableView,
  type RunnableArtifact,
  type StateChangeSettings,
  StateChanges,
  StateViews,
  viewTitle,
} from '#components';
import { memoryKv } from '#kv';
import { and, eventToJson, parameter, type TransactPayload, term } from '#model';
import { eventsOf } from '#query';
import { askOn, commandOf, readable } from '../../support/components/deciding.ts';
import { artifactOfBytes, textArtifact } from '../../support/components/views.ts';
import { CREATED_AT_MS, type EventSketch, KnownDatabase } from '../../support/known-database.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { executors } from '../../support/wasm/executors.ts';
import { SDK_CHANGE, sdkComponent } from '../../support/wasm/sdk-built.ts';
import { sdkViewText } from '../../support/wasm/sdk-shaped.ts';

/** A component of 12 MB is built and started, on a machine with other things to do. */
const BUILD_MS = 300_000;
const dir = tempDir();
const deciding = executors({ quarantine: { killsMax: 1e6, windowMs: 1000 } });
const folding = executors({ quarantine: { killsMax: 1e6, windowMs: 1000 } });
const parts: { change?: RunnableArtifact; view?: RunnableArtifact; views?: StateViews } = {};

beforeAll(async () => {
  const path = join(dir.path, 'artifacts');
  parts.change = await artifactOfBytes(path, 'state-change', await sdkComponent('state-change', SDK_CHANGE));
  parts.view = await textArtifact(path, 'state-view', sdkViewText());
  const folder = await CacheFolder.open({ path: join(dir.path, 'folds'), bytesMax: 1e6, memoryBytesMax: 1e6 });
  parts.views = new StateViews(folding, new FoldSnapshots(folder));
}, BUILD_MS);
afterAll(async () => {
  await Promise.all([deciding[Symbol.asyncDispose](), folding[Symbol.asyncDispose]()]);
  dir[Symbol.dispose]();
});

function part<Name extends keyof typeof parts>(name: Name): NonNullable<(typeof parts)[Name]> {
  const found = parts[name];
  if (found === undefined) throw new Error(`There is no ${name}`);
  return found;
}

function changes(settings: Partial<StateChangeSettings> = {}): StateChanges {
  return new StateChanges(deciding, part('views'), { ...DEFAULT_STATE_CHANGES, ...settings });
}

const A: EventSketch = { source: 'a', type: 't', subject: 's' };
const B: EventSketch = { source: 'b', type: 'u', subject: 'x' };

/** Five events in three transactions: a a, b, a b; the first of a is 1, the last of b is 5. */
async function database(): Promise<KnownDatabase> {
  const known = new KnownDatabase(memoryKv());
  const all: readonly (readonly EventSketch[])[] = [[A, A], [B], [A, B]];
  for (const [index, events] of all.entries()) known.apply(events, CREATED_AT_MS + 1000 * index);
  await known.flush();
  return known;
}

const STREAM = (value: string): object => ({ tag: 'equals', val: { tag: 'stream', val: value } });
const OF_A = [STREAM('a')];
const OF_B = [STREAM('b')];

interface Script {
  readonly asks?: readonly object[];
  readonly conditions?: readonly object[];
  readonly refusal?: object;
  readonly events?: number;
  readonly loop?: boolean;
}

interface Around extends Partial<ExecutionAsk> {
  /** What others commit in front of each commit. */
  readonly before?: readonly EventSketch[];
  readonly tried?: TransactPayload[];
  readonly headers?: readonly (readonly [string, string])[];
}

function asked(
  known: KnownDatabase,
  script: Script,
  { before = [], tried, headers, ...more }: Around = {},
): ExecutionAsk {
  const left = [...before];
  const selector = and([term('by-stream', 'a'), parameter('by-subject', 'id')]);
  const view: ReadableView = readable('view', part('view'), { selector });
  const told = { ...view, title: viewTitle('shop', view.definition, 1) };
  const ask = askOn(known, {
    artifact: part('change'),
    command: commandOf({
      json: script,
      contentType: 'application/json',
      ...(headers === undefined ? {} : { headers }),
    }),
    before: async () => {
      const event = left.shift();
      if (event !== undefined) known.apply([event], CREATED_AT_MS + 5000);
    },
    onCommit: (payload) => void tried?.push(payload),
  });
  return {
    ...ask,
    title: { name: 'change', version: 2 },
    findView: async (name, version) => (name === 'view' && version === 1 ? told : undefined),
    ...more,
  };
}

interface Told {
  readonly answers: readonly unknown[];
  readonly command: unknown;
  readonly metadata: unknown;
}

/** What the component was told, which is the payload of its event. */
function toldIn(execution: Execution): Told {
  if (execution.kind !== 'committed') throw new Error(JSON.stringify(execution));
  const [event] = eventsOf(execution.transaction);
  if (event === undefined) throw new Error('The transaction has no event');
  const { bytes, position, recordedTimeMs } = event;
  const json: { data: Told } = JSON.parse(eventToJson(bytes, { ...position, recordedTimeMs }));
  return json.data;
}

async function answersTo(...asks: readonly object[]): Promise<readonly unknown[]> {
  return toldIn(await changes().execute(asked(await database(), { asks }))).answers;
}

/** The constraints that its events are committed under. */
async function guardsOf(script: Script): Promise<readonly unknown[]> {
  const tried: TransactPayload[] = [];
  await changes().execute(asked(await database(), script, { tried }));
  return tried.flatMap(({ constraints }) => constraints);
}

const WHOLE = { kind: 'max-revision', revision: 3 };
const guard = (stream: string): object => ({ ...WHOLE, selector: term('by-stream', stream) });
const READ_A = { ask: 'events', nodes: OF_A };

describe('a State Change of the shape of the SDK', { timeout: 120_000 }, () => {
  it('commits what it decides, and knows its command and itself', async () => {
    const headers = [['x-who', 'ada']] as const;
    const execution = await changes().execute(asked(await database(), {}, { headers }));
    expect(execution).toMatchObject({ kind: 'committed', attempts: 1, transaction: { revision: 4, eventCount: 1 } });
    expect(toldIn(execution)).toEqual({
      answers: [],
      command: { contentType: 'application/json' },
      metadata: {
        stateChangeName: 'change',
        stateChangeVersion: 2,
        lastSeenRevision: 0,
        commandReceivedAt: { seconds: CREATED_AT_MS / 1000, nanoseconds: 0 },
        commandHeaders: [
          ['content-type', 'application/json'],
          ['x-who', 'ada'],
        ],
      },
    });
  });

  it('is told the database, in the numbers of the SDK', async () => {
    const [name, revision, time, effective] = await answersTo(
      { ask: 'name' },
      { ask: 'revision' },
      { ask: 'time' },
      { ask: 'effective' },
    );
    expect([name, revision, effective]).toEqual(['shop', 5, 'none']);
    expect(time).toEqual({ seconds: CREATED_AT_MS / 1000 + 2, nanoseconds: 0 });
  });

  it.each<readonly [string, object, readonly string[]]>([
    ['all of a selector', {}, ['1-0', '1-1', '3-0']],
    ['so many', { limit: 2 }, ['1-0', '1-1']],
    ['none', { limit: 0 }, []],
    ['the newest first', { direction: 'reverse', limit: 2 }, ['3-0', '1-1']],
    ['those from a number on, inside a transaction', { range: { revision: 2 } }, ['1-1', '3-0']],
    ['so many from a number on', { range: { revision: 2 }, limit: 1 }, ['1-1']],
    ['those down to a number', { range: { revision: 2 }, direction: 'reverse' }, ['3-0', '1-1']],
    ['those behind the last', { range: { revision: 6 } }, []],
    ['those up to a time', { range: { end: CREATED_AT_MS / 1000 + 1 } }, ['1-0', '1-1']],
    ['of none of two', { nodes: [...OF_A, ...OF_B, { tag: 'and', val: [0, 1] }] }, []],
    ['of one of two', { nodes: [...OF_A, ...OF_B, { tag: 'or', val: [0, 1] }], limit: 3 }, ['1-0', '1-1', '2-0']],
    ['by a prefix', { nodes: [{ tag: 'starts-with', val: { tag: 'event-type', val: 'u' } }] }, ['2-0', '3-1']],
    ['without a subject', { nodes: [{ tag: 'equals', val: { tag: 'subject', val: undefined } }] }, []],
  ])('is told events: %s', async (_, question, ids) => {
    expect(await answersTo({ ...READ_A, ...question })).toEqual([ids]);
  });

  it('is told events in the record of the SDK, each with its number', async () => {
    const [events] = await answersTo({ ask: 'whole', nodes: OF_B });
    const text = (name: string, val: string): readonly unknown[] => [name, { tag: 'string', val }];
    expect(events).toEqual([
      expect.objectContaining({ id: '2-0', source: 'b', type: 'u', specversion: '1.0' }),
      {
        id: '3-1',
        source: 'b',
        specversion: '1.0',
        type: 'u',
        attributes: [
          text('subject', 'x'),
          text('revision', '5'),
          text('sequence', ';5'),
          text('recordedtime', '2025-10-09T08:53:22Z'),
        ],
      },
    ]);
  });

  it('is told a State View as of its last event, or that it has none', async () => {
    const [view, none] = await answersTo(
      { ask: 'view', name: 'view', version: 1, parameters: [['id', { tag: 'subject', val: 's' }]] },
      { ask: 'view', name: 'view', version: 1, parameters: [['id', { tag: 'subject', val: 'nobody' }]] },
    );
    const lastModifiedTimestamp = { seconds: CREATED_AT_MS / 1000 + 2, nanoseconds: 0 };
    expect(view).toMatchObject({
      context: { database: 'shop', name: 'view', version: 1, databaseRevision: 4, contentType: 'application/json' },
      lastModifiedRevision: 4,
      lastModifiedTimestamp,
      content: expect.stringContaining('shopviewapplication/json'),
    });
    // An absent answer is nothing in a list of JSON.
    expect(none).toBeNull();
  });

  it('is told the database up to an effective time', async () => {
    const [[effective, ids]] = (await answersTo({
      ask: 'at',
      seconds: CREATED_AT_MS / 1000,
      asks: [{ ask: 'effective' }, READ_A],
    })) as readonly [readonly unknown[]];
    expect([effective, ids]).toEqual([{ seconds: CREATED_AT_MS / 1000, nanoseconds: 0 }, ['1-0', '1-1']]);
  });

  it('is told the revision that was seen, as the number of its last event', async () => {
    const basis = { kind: 'last-seen', revision: 3 } as const;
    const execution = await changes().execute(asked(await database(), {}, { basis }));
    expect(toldIn(execution).metadata).toMatchObject({ lastSeenRevision: 5 });
  });

  it.each<readonly [string, Script, readonly unknown[]]>([
    ['nothing', { asks: [{ ask: 'name' }, { ask: 'effective' }] }, []],
    ['the database', { asks: [READ_A, { ask: 'revision' }] }, [WHOLE]],
    ['its time', { asks: [{ ask: 'time' }] }, [WHOLE]],
    ['all events of a selector', { asks: [READ_A] }, [guard('a')]],
    ['as many as it asks for', { asks: [{ ...READ_A, limit: 3 }] }, []],
    ['fewer than it asks for', { asks: [{ ...READ_A, limit: 4 }] }, [guard('a')]],
    ['the newest', { asks: [{ ...READ_A, limit: 1, direction: 'reverse' }] }, [guard('a')]],
    ['some in effective time', { asks: [{ ...READ_A, limit: 1, range: { end: 2_000_000_000 } }] }, [guard('a')]],
    ['some from a number on', { asks: [{ ...READ_A, limit: 2, range: { revision: 2 } }] }, []],
    ['fewer from a number on', { asks: [{ ...READ_A, limit: 3, range: { revision: 2 } }] }, [guard('a')]],
    [
      'a State View',
      { asks: [{ ask: 'view', name: 'view', version: 1, parameters: [['id', { tag: 'subject', val: 's' }]] }] },
      [{ ...WHOLE, selector: and([term('by-stream', 'a'), term('by-subject', 's')]) }],
    ],
    ['nothing, and a least number that is there', { conditions: [{ tag: 'min', nodes: OF_A, revision: 4 }] }, []],
    ['nothing, and the most', { conditions: [{ tag: 'max', nodes: OF_A, revision: 4 }] }, [guard('a')]],
    ['nothing, and a range', { conditions: [{ tag: 'range', nodes: OF_B, min: 5, max: 5 }] }, [guard('b')]],
    [
      'the same that it has a condition on',
      { asks: [READ_A], conditions: [{ tag: 'max', nodes: OF_A, revision: 9 }] },
      [guard('a')],
    ],
  ])('that was told %s is guarded by it', async (_, script, guards) => {
    expect(await guardsOf(script)).toEqual(guards);
  });

  it.each<readonly [string, object, RegExp]>([
    ['least number', { tag: 'min', nodes: OF_A, revision: 5 }, /from 5 on; the latest of its selector is 4/],
    [
      'most, inside a transaction',
      { tag: 'max', nodes: OF_B, revision: 4 },
      /behind 4; the latest of its selector is 5/,
    ],
    ['nothing at all', { tag: 'max', nodes: OF_A, revision: 0 }, /behind 0; the latest of its selector is 4/],
    ['range', { tag: 'range', nodes: OF_A, min: 1, max: 3 }, /behind 3/],
  ])('whose condition on the %s does not hold commits nothing', async (_, condition, says) => {
    const known = await database();
    const execution = await changes().execute(asked(known, { conditions: [condition] }));
    expect(execution).toMatchObject({ kind: 'refused', code: 'Conflict', message: expect.stringMatching(says) });
    expect(known.revision).toBe(3);
  });

  it('is decided again where what its condition is on has changed, and then holds no more (F51)', async () => {
    const known = await database();
    const script = { conditions: [{ tag: 'max', nodes: OF_A, revision: 4 }] };
    const execution = await changes().execute(asked(known, script, { before: [A] }));
    expect(execution).toMatchObject({ kind: 'refused', code: 'Conflict', at: 4 });
    expect(known.revision).toBe(4);
  });

  it('is decided again where what it was told has changed, and not where anything else has (F20)', async () => {
    const other = await changes().execute(asked(await database(), { asks: [READ_A] }, { before: [B] }));
    expect(other).toMatchObject({ kind: 'committed', attempts: 1 });
    const again = await changes().execute(asked(await database(), { asks: [READ_A] }, { before: [A] }));
    expect(again).toMatchObject({ kind: 'committed', attempts: 2 });
    expect(toldIn(again).answers).toEqual([['1-0', '1-1', '3-0', '4-0']]);
  });

  it.each([
    ['validation', 'ValidationFailed'],
    ['conflict', 'Conflict'],
    ['not-found', 'StateNotFound'],
    ['unauthorized', 'Unauthorized'],
    ['internal', 'InternalError'],
  ])('refuses by %s', async (tag, code) => {
    const known = await database();
    const execution = await changes().execute(asked(known, { refusal: { tag, val: 'no' } }));
    expect(execution).toEqual({ kind: 'refused', at: 3, code, message: 'no', reason: undefined, details: undefined });
    expect(known.revision).toBe(3);
  });

  it.each<readonly [string, Script, RegExp]>([
    ['a State View that is none', { asks: [{ ask: 'view', name: 'none', version: 1 }] }, /no State View none v1/],
    ['another version', { asks: [{ ask: 'view', name: 'view', version: 2 }] }, /no State View view v2/],
    ['a State View without its parameter', { asks: [{ ask: 'view', name: 'view', version: 1 }] }, /subject\.id/],
    ['a selector without nodes', { asks: [{ ...READ_A, nodes: [] }] }, /one node at least/],
    [
      'a node above its parent',
      { asks: [{ ...READ_A, nodes: [{ tag: 'and', val: [0, 1] }] }] },
      /do not come before it/,
    ],
    ['more than there is room for', { asks: [{ ...READ_A, limit: 10_001 }] }, /10000 are the most/],
    [
      'a tree without end',
      { asks: [{ ...READ_A, nodes: doubled(40) }] },
      /more parts than a selector may have|at most/,
    ],
  ])('that asks for %s is ended', async (_, script, says) => {
    const execution = await changes().execute(asked(await database(), script));
    expect(execution).toMatchObject({ kind: 'failed', message: expect.stringMatching(says) });
  });

  it('whose condition makes no sense has decided nothing', async () => {
    const crossed = { tag: 'range', nodes: OF_A, min: 3, max: 2 };
    expect(await changes().execute(asked(await database(), { conditions: [crossed] }))).toMatchObject({
      kind: 'failed',
      code: 'ValidationError',
      message: expect.stringContaining('from 3 to 2'),
    });
  });

  it('that never ends has decided nothing', async () => {
    const { guest } = DEFAULT_STATE_CHANGES;
    const little = { ...guest, limits: { ...guest.limits, fuel: 100_000_000 } };
    const execution = await changes({ guest: little }).execute(asked(await database(), { loop: true }));
    expect(execution).toMatchObject({ kind: 'failed', message: expect.stringMatching(/^FuelExhausted: /) });
  });

  it('and asks too often has decided nothing', async () => {
    const { guest } = DEFAULT_STATE_CHANGES;
    const one = { ...guest, limits: { ...guest.limits, hostCallsMax: 1 } };
    const asks = [{ ask: 'name' }, { ask: 'name' }];
    const execution = await changes({ guest: one }).execute(asked(await database(), { asks }));
    expect(execution).toMatchObject({ kind: 'failed', message: expect.stringMatching(/^HostCallLimit: /) });
  });
});

/** Each node joins the one before it with itself. */
function doubled(levels: number): readonly object[] {
  return [...OF_A, ...Array.from({ length: levels }, (_, n) => ({ tag: n % 2 === 0 ? 'and' : 'or', val: [n, n] }))];
}
