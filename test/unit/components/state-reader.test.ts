// Goal: reads of a decision return data or an error for the component, or end the decision (F21), and result in guards
// (F20). Method: calls as they leave a guest, and views of which some cannot be rendered.
import { describe, expect, it } from 'vitest';
import type { RunnableArtifact, ViewAnswer } from '#components';
import { and, CONSTRAINTS_MAX, parameter, type Selector, term } from '#model';
import { isList, isRecord, tagged, type Value } from '#wasm';
import { DecisionReads } from '../../../src/components/decision-reads.ts';
import { ReadRecord } from '../../../src/components/read-record.ts';
import { StateReader } from '../../../src/components/state-reader.ts';
import { askOn, commandOf, readable } from '../../support/components/deciding.ts';
import { CREATED_AT_MS, KnownDatabase } from '../../support/known-database.ts';
import { memoryKv } from '../../support/memory-kv.ts';

const READER = 'cairn:component/state-reader@0.1.0';
const BINDING = { main: { name: 'decide', shape: '' }, shape: 'own', batch: undefined, query: undefined } as const;
const ARTIFACT: RunnableArtifact = { key: 'k', digest: 'd', bytes: new Uint8Array(0), binding: BINDING };
const OPEN = and([term('by-type', 't'), parameter('by-subject', 'id')]);
const LIMITS = { eventsMax: 5, bytesMax: 2000 };

interface Given {
  /** Result of rendering the view. */
  readonly rendered?: ViewAnswer;
  readonly limits?: Partial<typeof LIMITS>;
  readonly findView?: () => Promise<never>;
}

async function known(): Promise<KnownDatabase> {
  const made = new KnownDatabase(memoryKv());
  for (let n = 0; n < 4; n++) {
    made.apply([{ source: 'a', type: n < 3 ? 't' : 'u', subject: 's' }], CREATED_AT_MS + 1000 * n);
  }
  await made.flush();
  return made;
}

/** Reads at revision 3. */
async function reading({ rendered, limits, findView }: Given = {}): Promise<{
  readonly reads: DecisionReads;
  readonly ask: (functionName: string, ...values: readonly Value[]) => Promise<Value>;
}> {
  const views = new Map([
    ['view', readable('view', ARTIFACT, { selector: OPEN })],
    ['keyed', readable('keyed', ARTIFACT, { selector: and([OPEN, parameter('by-subject', 'key')]), keyType: 'int64' })],
  ]);
  const database = await known();
  const ask = askOn(database, { artifact: ARTIFACT, command: commandOf({}), views });
  const reads = new DecisionReads({
    ask,
    at: 3,
    findView: findView ?? ask.findView,
    limits: { ...LIMITS, ...limits },
    views: {
      render: async () =>
        rendered ?? { kind: 'rendered', bytes: Uint8Array.of(1), hasState: true, foldedCount: 1, isFromFirst: true },
    },
  });
  const reader = new StateReader(reads);
  const asked = (functionName: string, ...values: readonly Value[]): Promise<Value> =>
    reads.answering(() => reader.answer({ interfaceName: READER, functionName, values }));
  return { reads, ask: asked };
}

const SELECTED = { selector: term('by-type', 't'), json: '{"event_type":"t"}' };
const PAIR = [['subject.id', 's']];

function guard(selector?: Selector): unknown {
  return selector === undefined
    ? { kind: 'max-revision', revision: 3 }
    : { kind: 'max-revision', revision: 3, selector };
}

function eventsIn(answer: Value): readonly string[] {
  const { tag, val } = isRecord(answer) ? answer : { tag: undefined, val: undefined };
  if (tag !== 'ok' || !isList(val)) throw new Error('There are no events');
  return val.map((bytes) => (bytes instanceof Uint8Array ? Buffer.from(bytes).toString() : ''));
}

/** Returns the fault that the answer reports about the call. */
function wrongIn(answer: Value): Value {
  const { tag, val } = isRecord(answer) ? answer : { tag: undefined, val: undefined };
  if (tag !== 'err' || !isRecord(val) || val['tag'] !== 'invalid-input') throw new Error('There is no error');
  return val['val'];
}

describe('StateReader', () => {
  it.each([
    [0, 0, []],
    [2, 2, []],
    [3, 3, []],
    [4, 3, [guard(SELECTED.selector)]],
  ])('returns events up to the limit of %d, and guards those that may follow', async (limit, count, guards) => {
    const { reads, ask } = await reading();
    expect(eventsIn(await ask('query-events', SELECTED.json, limit))).toHaveLength(count);
    expect(reads.record.guards(3)).toEqual(guards);
  });

  it.each<readonly [string, readonly Value[], RegExp]>([
    ['a missing parameter', ['view', []], /subject\.id.* is required/],
    ['an unknown parameter', ['view', [...PAIR, ['subject.x', 's']]], /is no parameter/],
    ['a repeated parameter', ['view', [...PAIR, ...PAIR]], /the same name/],
    ['a value that is not a subject', ['view', [['subject.id', '']]], /must not be empty/],
    ['a key that is not an integer', ['keyed', [...PAIR, ['subject.key', '01']]], /must be an integer of 64 bits/],
  ])('reports a fault of %s, and guards nothing', async (_, values, says) => {
    const { reads, ask } = await reading();
    expect(wrongIn(await ask('get-state-view', ...values))).toMatch(says);
    expect(reads.record.guards(3)).toEqual([]);
  });

  it.each<readonly [string, readonly Value[], RegExp]>([
    ['a selector that is not JSON', ['{', 1], /^The selector is no JSON: /],
    ['an unknown member of a selector', ['{"typ":"t"}', 1], /typ is unknown/],
    ['a limit above the maximum', ['{}', 6], /^The limit is 6; it is at most 5$/],
  ])('reports a call with %s, and guards nothing', async (_, values, says) => {
    const { reads, ask } = await reading();
    expect(wrongIn(await ask('query-events', ...values))).toMatch(says);
    expect(reads.record.guards(3)).toEqual([]);
  });

  it('reports a result that is too large, and guards it only if it can become smaller', async () => {
    const events = await reading({ limits: { bytesMax: 300 } });
    const tooMuch = tagged('err', tagged('invalid-input', 'A decision reads at most 300 bytes'));
    expect(await events.ask('query-events', '{}', 5)).toEqual(tooMuch);
    expect(events.reads.record.guards(3)).toEqual([]);
    const view = await reading({ limits: { bytesMax: 0 } });
    const nothing = tagged('err', tagged('invalid-input', 'A decision reads at most 0 bytes'));
    expect(await view.ask('get-state-view', 'view', PAIR)).toEqual(nothing);
    expect(view.reads.record.guards(3)).toHaveLength(1);
  });

  it.each([
    ['Busy', 'Busy'],
    ['WasmExecutionError', 'WasmExecutionError'],
    ['InvalidParameters', 'WasmExecutionError'],
  ] as const)('ends the decision when a view fails with %s (F21)', async (code, expected) => {
    const { reads, ask } = await reading({ rendered: { kind: 'failed', code, message: 'why' } });
    const message = 'The State View view/v1 is not rendered: why';
    await expect(ask('get-state-view', 'view', PAIR)).rejects.toThrow('view/v1 is not rendered: why');
    expect(reads.failure).toEqual({ kind: 'failed', code: expected, message });
  });

  it.each<readonly [string, string, readonly Value[]]>([
    ['another function', 'put-state-view', []],
    ['an invalid name', 'get-state-view', [5, []]],
    ['parameters that are not a list', 'get-state-view', ['view', 5]],
    ['a parameter that is not a pair', 'get-state-view', ['view', [['a']]]],
    ['an invalid limit', 'query-events', ['{}', '1']],
  ])('ends the decision by %s', async (_, functionName, values) => {
    const { reads, ask } = await reading();
    await expect(ask(functionName, ...values)).rejects.toThrow(/The component/);
    expect(reads.failure).toMatchObject({ code: 'WasmExecutionError' });
  });
});

it('ReadRecord guards the whole database when there are too many selectors, or they are too large together', () => {
  const many = new ReadRecord();
  for (let n = 0; n < CONSTRAINTS_MAX; n++) many.sawAll(term('by-subject', String(n)));
  expect(many.guards(7)).toHaveLength(CONSTRAINTS_MAX);
  many.sawAll(term('by-subject', 'one more'));
  expect(many.guards(7)).toEqual([{ kind: 'max-revision', revision: 7 }]);
});
