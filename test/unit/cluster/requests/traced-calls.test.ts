// Goal: what a core tells of traced requests, and to whom it says in which span it asks: nothing is gathered for who
// does not trace, what is no context is passed over, and memory has a bound. Method: two of them as two nodes, whose
// clock the test moves.
import { describe, expect, it } from 'vitest';
import { type GroupId, toGroupId, toLogIndex, toNodeId, toTerm } from '#base';
import type { TraceContext } from '../../../../src/cluster/peer/trace-context.ts';
import { type OpenSpan, TRACED_MAX, TracedCalls } from '../../../../src/cluster/requests/traced-calls.ts';
import type { SpanFact } from '../../../../src/cluster/thread/link.ts';

const GROUP = toGroupId(7);
const TRACE = 'a'.repeat(32);
const PARENT: TraceContext = { traceparent: `00-${TRACE}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' };
const ASKER = toNodeId(2);
const REQUEST = { session: 5, id: 9 };

interface World {
  readonly calls: TracedCalls;
  readonly told: SpanFact[];
  nowMs: number;
}

function world(isTraced = true): World {
  const told: SpanFact[] = [];
  let drawn = 0;
  const made: World = {
    told,
    nowMs: 0,
    calls: new TracedCalls({
      isTraced,
      monotonicMs: () => made.nowMs,
      random: { bytes: (length) => new Uint8Array(length).fill(++drawn) },
      told: (span) => told.push(span),
    }),
  };
  return made;
}

function answering({ calls }: World, context: TraceContext, id = REQUEST.id): OpenSpan | undefined {
  calls.heard(ASKER, [{ kind: 'forward', session: REQUEST.session, id, ...context }]);
  return calls.answering(ASKER, { session: REQUEST.session, id }, { what: 'propose', group: GROUP });
}

it('a request of another node is of no trace where spans go nowhere, or when its context is not kept or is none', () => {
  expect(answering(world(false), PARENT)).toBeUndefined();
  const { traceparent } = PARENT;
  const others = [
    traceparent.replace(/01$/, '00'),
    traceparent.replace(/^00/, 'ff'),
    traceparent.replaceAll('a', '0'),
    traceparent.replaceAll('b', '0'),
    traceparent.replace('a', 'A'),
    `${traceparent}-1`,
    '',
  ];
  for (const other of others) expect([other, answering(world(), { traceparent: other })]).toEqual([other, undefined]);
});

it('a request of another node has the place of the oldest when there are too many', () => {
  const { calls } = world();
  const contexts = Array.from(
    { length: TRACED_MAX + 1 },
    (_, id) => ({ kind: 'forward', session: 5, id, ...PARENT }) as const,
  );
  calls.heard(ASKER, contexts);
  const isKnown = (id: number): boolean =>
    calls.answering(ASKER, { session: 5, id }, { what: 'propose', group: GROUP }) !== undefined;
  expect([isKnown(0), isKnown(1), isKnown(TRACED_MAX)]).toEqual([false, true, true]);
});

describe('an entry', () => {
  const entered = ({ calls }: World, id: GroupId, index: number): void =>
    calls.entered(PARENT, id, toLogIndex(index), toTerm(3));

  it('makes room for others when it is over, and is not shown beyond the bound', () => {
    const node = world();
    for (let index = 1; index <= TRACED_MAX + 1; index += 1) entered(node, GROUP, index);
    const apply = (index: number): void => node.calls.applied(GROUP, { index: toLogIndex(index), term: toTerm(3) });
    for (let index = 1; index <= TRACED_MAX + 1; index += 1) apply(index);
    expect(node.told).toHaveLength(TRACED_MAX);
    entered(node, GROUP, TRACED_MAX + 2);
    apply(TRACED_MAX + 2);
    expect(node.told).toHaveLength(TRACED_MAX + 1);
  });

  it('makes room when its lead was lost and it never came to a majority, also behind the last entry of the next', () => {
    const node = world();
    for (let index = 10; index < 10 + TRACED_MAX; index += 1) entered(node, GROUP, index);
    const next = toTerm(4);
    node.calls.applied(GROUP, { index: toLogIndex(10), term: next });
    for (const index of [11, 12]) node.calls.entered(PARENT, GROUP, toLogIndex(index), next);
    for (const index of [11, 12]) node.calls.applied(GROUP, { index: toLogIndex(index), term: next });
    expect(node.told).toHaveLength(2);
  });
});
