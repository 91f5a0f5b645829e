// Goal: a State Change with the SDK's interfaces reads one revision, and is guarded by its reads and conditions (F20,
// F21, F50, F51). Method: a scripted function as the guest; other commits precede its own.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CacheFolder,
  type Execution,
  type ExecutionAsk,
  FoldSnapshots,
  type RunnableArtifact,
  StateChanges,
  StateViews,
  viewTitle,
} from '#components';
import { and, parameter, type TransactPayload, term } from '#model';
import { isList, isRecord, tagged, type Value } from '#wasm';
import { askOn, commandOf, decidingArtifact, decidingBy, readable } from '../../support/components/deciding.ts';
import { textArtifact } from '../../support/components/views.ts';
import { CREATED_AT_MS, type EventSketch, KnownDatabase } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { executors } from '../../support/wasm/executors.ts';
import { sdkViewText } from '../../support/wasm/sdk-shaped.ts';

const dir = tempDir();
const folding = executors();
let viewArtifact: RunnableArtifact;
let views: StateViews;

beforeAll(async () => {
  viewArtifact = await textArtifact(join(dir.path, 'artifacts'), 'state-view', sdkViewText());
  const folder = await CacheFolder.open({ path: join(dir.path, 'folds'), bytesMax: 1e6, memoryBytesMax: 1e6 });
  views = new StateViews(folding, new FoldSnapshots(folder));
});
afterAll(async () => {
  await folding[Symbol.asyncDispose]();
  dir[Symbol.dispose]();
});

const A: EventSketch = { source: 'a', type: 't', subject: 's' };
const B: EventSketch = { source: 'b', type: 'u', subject: 'x' };

/** Five events in three transactions: a a, b, a b. The first event of a is 1, the last event of b is 5. */
async function database(): Promise<KnownDatabase> {
  const known = new KnownDatabase(memoryKv());
  for (const [index, events] of [[A, A], [B], [A, B]].entries()) known.apply(events, CREATED_AT_MS + 1000 * index);
  await known.flush();
  return known;
}

const time = (seconds: number): Value => ({ seconds, nanoseconds: 0 });
const equals = (kind: string, val?: string): Value => tagged('equals', tagged(kind, val));
const OF_A = [equals('stream', 'a')];
const OF_B = [equals('stream', 'b')];
const OF_A_AND_S = and([term('by-stream', 'a'), term('by-subject', 's')]);

/** A call on the database: a method and its arguments. */
type Question = readonly [method: string, ...values: readonly Value[]];

const events = (more: Readonly<Record<string, Value>> = {}): Question => [
  'query-events',
  { selector: { nodes: OF_A }, direction: 'forward', ...more },
];
const nodes = (...all: readonly Value[]): Readonly<Record<string, Value>> => ({ selector: { nodes: all } });
const fromNumber = (start: number): Value => tagged('revision', { 'start-at': BigInt(start) });
const upToTime = (seconds: number): Value => tagged('effective-time', { 'end-at': time(seconds) });
const viewOf = (id: string): Question => ['view-state', 'view', 1n, [['id', tagged('subject', id)]]];

interface Script {
  readonly asks?: readonly Question[];
  readonly conditions?: readonly Value[];
  readonly refusal?: Value;
}

interface Around extends Partial<ExecutionAsk> {
  /** Commits of others, one before each commit. */
  readonly before?: readonly EventSketch[];
  readonly tried?: TransactPayload[];
}

interface Ran {
  readonly execution: Execution;
  readonly known: KnownDatabase;
  /** Results of its calls in the last attempt. */
  readonly answers: readonly Value[];
  /** The command and the metadata. */
  readonly given: readonly Value[];
}

const EMITTED = { id: '', source: 'decisions', specversion: '1.0', type: 'decided', data: undefined, attributes: [] };

/** Makes its calls on the database, or on the result of the last `at-effective-timestamp`, and emits one event. */
async function ran({ asks = [], conditions = [], refusal }: Script, around: Around = {}): Promise<Ran> {
  const { before = [], tried, ...more } = around;
  const known = await database();
  let [answers, given]: [Value[], readonly Value[]] = [[], []];
  const guest = decidingBy('evidentsource:decider/state-change-types@0.1.0', async ([root, ...rest], ask) => {
    [answers, given] = [[], rest];
    let asked = root;
    for (const [method, ...values] of asks) {
      const answer = await ask(`[method]database.${method}`, asked, ...values);
      if (method === 'at-effective-timestamp') asked = answer;
      else answers.push(answer);
    }
    return refusal === undefined ? tagged('ok', [[EMITTED], conditions]) : tagged('err', refusal);
  });
  const left = [...before];
  const selector = and([term('by-stream', 'a'), parameter('by-subject', 'id')]);
  const view = readable('view', viewArtifact, { selector });
  const told = { ...view, title: viewTitle('shop', view.definition, 1) };
  const ask = askOn(known, {
    artifact: decidingArtifact('sdk'),
    command: commandOf({ json: {}, contentType: 'application/json', headers: [['x-who', 'ada']] }),
    before: async () => {
      const event = left.shift();
      if (event !== undefined) known.apply([event], CREATED_AT_MS + 5000);
    },
    onCommit: (payload) => void tried?.push(payload),
  });
  const execution = await new StateChanges(guest, views).execute({
    ...ask,
    title: { name: 'change', version: 2 },
    findView: async (name, version) => (name === 'view' && version === 1 ? told : undefined),
    ...more,
  });
  return { execution, known, answers, given };
}

async function answersTo(...asks: readonly Question[]): Promise<readonly Value[]> {
  return (await ran({ asks })).answers;
}

/** Constraints with which its events are committed. */
async function guardsOf(script: Script): Promise<readonly unknown[]> {
  const tried: TransactPayload[] = [];
  await ran(script, { tried });
  return tried.flatMap(({ constraints }) => constraints);
}

function idsIn(answer: Value): unknown {
  return isList(answer) ? answer.map((event) => (isRecord(event) ? event['id'] : event)) : answer;
}

const WHOLE = { kind: 'max-revision', revision: 3 };
const guard = (stream: string): object => ({ ...WHOLE, selector: term('by-stream', stream) });
const SECONDS = CREATED_AT_MS / 1000;

describe('a State Change with the interfaces of the SDK', { timeout: 60_000 }, () => {
  it('commits the events that it decides, and receives its command and metadata', async () => {
    const { execution, given } = await ran({}, { basis: { kind: 'last-seen', revision: 3 } });
    expect(execution).toMatchObject({ kind: 'committed', attempts: 1, transaction: { revision: 4, eventCount: 1 } });
    expect(given).toEqual([
      { body: expect.any(Uint8Array), 'content-type': 'application/json', 'content-schema': undefined },
      {
        'state-change-name': 'change',
        'state-change-version': 2,
        // Number of the last event of the revision that the client has seen.
        'last-seen-revision': 5,
        'command-received-at': time(SECONDS),
        'command-headers': [
          ['content-type', 'application/json'],
          ['x-who', 'ada'],
        ],
      },
    ]);
  });

  it.each<readonly [string, Readonly<Record<string, Value>>, readonly string[]]>([
    ['all of a selector', {}, ['1-0', '1-1', '3-0']],
    ['so many', { limit: 2n }, ['1-0', '1-1']],
    ['none', { limit: 0n }, []],
    ['the newest first', { direction: 'reverse', limit: 2n }, ['3-0', '1-1']],
    ['those from a number on, inside a transaction', { range: fromNumber(2) }, ['1-1', '3-0']],
    ['so many from a number on', { range: fromNumber(2), limit: 1n }, ['1-1']],
    ['those down to a number', { range: fromNumber(2), direction: 'reverse' }, ['3-0', '1-1']],
    ['those after the last one', { range: fromNumber(6) }, []],
    ['those up to a time', { range: upToTime(SECONDS + 1) }, ['1-0', '1-1']],
    ['of none of two', nodes(...OF_A, ...OF_B, tagged('and', [0, 1])), []],
    ['of one of two', { ...nodes(...OF_A, ...OF_B, tagged('or', [0, 1])), limit: 3n }, ['1-0', '1-1', '2-0']],
    ['by a prefix', nodes(tagged('starts-with', tagged('event-type', 'u'))), ['2-0', '3-1']],
    ['without a subject', nodes(equals('subject')), []],
  ])('reads events: %s', async (_, question, ids) => {
    expect((await answersTo(events(question))).map(idsIn)).toEqual([ids]);
  });

  it('reads a State View as of its last event, or nothing', async () => {
    const [view, none] = await answersTo(viewOf('s'), viewOf('nobody'));
    const context = { database: 'shop', name: 'view', version: 1, 'database-revision': 4 };
    expect(view).toMatchObject({ context, 'last-modified-revision': 4, 'last-modified-timestamp': time(SECONDS + 2) });
    const { content } = isRecord(view) ? view : {};
    expect(content instanceof Uint8Array && Buffer.from(content).toString()).toContain('shopviewapplication/json');
    expect(none).toBeUndefined();
  });

  it('reads the database up to an effective time', async () => {
    const at: Question = ['at-effective-timestamp', time(SECONDS)];
    const [effective, found] = await answersTo(at, ['effective-timestamp'], events());
    expect([effective, idsIn(found)]).toEqual([time(SECONDS), ['1-0', '1-1']]);
  });

  it.each<readonly [string, Script, readonly unknown[]]>([
    ['nothing', { asks: [['name'], ['effective-timestamp']] }, []],
    ['the database', { asks: [events(), ['revision']] }, [WHOLE]],
    ['its time', { asks: [['revision-timestamp']] }, [WHOLE]],
    ['all events of a selector', { asks: [events()] }, [guard('a')]],
    ['as many as it asks for', { asks: [events({ limit: 3n })] }, []],
    ['fewer than it asks for', { asks: [events({ limit: 4n })] }, [guard('a')]],
    ['the newest', { asks: [events({ limit: 1n, direction: 'reverse' })] }, [guard('a')]],
    ['some in effective time', { asks: [events({ limit: 1n, range: upToTime(2_000_000_000) })] }, [guard('a')]],
    ['some from a number on', { asks: [events({ limit: 2n, range: fromNumber(2) })] }, []],
    ['fewer from a number on', { asks: [events({ limit: 3n, range: fromNumber(2) })] }, [guard('a')]],
    ['a State View', { asks: [viewOf('s')] }, [{ ...WHOLE, selector: OF_A_AND_S }]],
    ['nothing, and a least number that is there', { conditions: [condition('min', OF_A, { revision: 4n })] }, []],
    ['nothing, and the most', { conditions: [condition('max', OF_A, { revision: 4n })] }, [guard('a')]],
    ['nothing, and a range', { conditions: [condition('range', OF_B, { min: 5n, max: 5n })] }, [guard('b')]],
    [
      'the same that it has a condition on',
      { asks: [events()], conditions: [condition('max', OF_A, { revision: 9n })] },
      [guard('a')],
    ],
  ])('is guarded after it has read %s', async (_, script, guards) => {
    expect(await guardsOf(script)).toEqual(guards);
  });

  it.each<readonly [string, Value, RegExp]>([
    ['least number', condition('min', OF_A, { revision: 5n }), /from 5 on; the latest of its selector is 4/],
    [
      'most, inside a transaction',
      condition('max', OF_B, { revision: 4n }),
      /after 4; the latest of its selector is 5/,
    ],
    ['nothing at all', condition('max', OF_A, { revision: 0n }), /after 0; the latest of its selector is 4/],
    ['range', condition('range', OF_A, { min: 1n, max: 3n }), /after 3/],
  ])('commits nothing when its condition on the %s does not hold', async (_, wrong, says) => {
    const { execution, known } = await ran({ conditions: [wrong] });
    expect(execution).toMatchObject({ kind: 'refused', code: 'Conflict', message: expect.stringMatching(says) });
    expect(known.revision).toBe(3);
  });

  it.each<readonly [string, Question, RegExp]>([
    ['a State View that does not exist', ['view-state', 'none', 1n, []], /no State View none v1/],
    ['another version', ['view-state', 'view', 2n, []], /no State View view v2/],
    ['a State View without its parameter', ['view-state', 'view', 1n, []], /subject\.id/],
    ['a selector without nodes', events(nodes()), /one node at least/],
    ['a node above its parent', events(nodes(tagged('and', [0, 1]))), /do not come before it/],
    ['more events than the maximum', events({ limit: 10_001n }), /10000 are the most/],
    ['a tree without end', events(nodes(...doubled(40))), /more parts than a selector may have|at most/],
  ])('fails when it requests %s', async (_, question, says) => {
    const { execution } = await ran({ asks: [question] });
    expect(execution).toMatchObject({ kind: 'failed', message: expect.stringMatching(says) });
  });
});

function condition(kind: string, selected: readonly Value[], bounds: Readonly<Record<string, bigint>>): Value {
  return tagged(kind, { selector: { nodes: selected }, ...bounds });
}

/** Each node joins the previous one with itself. */
function doubled(levels: number): readonly Value[] {
  return [...OF_A, ...Array.from({ length: levels }, (_, n) => tagged(n % 2 === 0 ? 'and' : 'or', [n, n]))];
}
