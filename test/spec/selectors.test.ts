// Goal: every kind of selector selects the same events in every place that takes one: queries over gRPC and in both
// route families of HTTP, and constraints over both. Method: a real node with one history; each kind once.
import { beforeAll, describe, expect, it } from 'vitest';
import { Direction, EventQuery, EventSelector } from '../../proto/gen/cairn/v1/event.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, maxRevision, transaction } from '../support/grpc-requests.ts';
import { cloudEvent, errorOf, FAILED_PRECONDITION, INVALID_ARGUMENT, q, uniqueName } from '../support/http-client.ts';
import { idsOf } from '../support/http-history.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

type Parts = Parameters<typeof EventSelector.fromPartial>[0];

const { api, server } = await sharedHttpNode();
const { client } = server;
const name = uniqueName();
const EVENTS = [
  cloudEvent('1', { source: 'orders', type: 'order.placed', subject: 'ada' }),
  cloudEvent('2', { source: '/shop/orders', type: 'order.paid', subject: 'bob' }),
  cloudEvent('3', { source: 'carts', type: 'cart.filled' }),
  cloudEvent('4', { source: 'carts', type: 'order.placed', subject: 'ada-2' }),
];

function of(kind: string, value: unknown): Parts {
  return { kind: { $case: kind, value } } as Parts;
}

const ADA = { equals: { subject: { hasValue: true, value: 'ada' } } };
const PLACED_IN_CARTS = { and: [{ ByStream: 'carts' }, { ByType: 'order.placed' }] };
const BOB_OR_NONE = { or: [{ BySubject: 'bob' }, { noSubject: {} }] };

/** The kind, as gRPC says it, in a spelling of JSON, and what it selects. */
const KINDS: readonly (readonly [string, Parts, object, readonly string[]])[] = [
  ['ByType', of('byType', 'order.placed'), { type: 'by_type', value: 'order.placed' }, ['1', '4']],
  ['ByTypePrefix', of('byTypePrefix', 'order.p'), { startsWith: { eventType: 'order.p' } }, ['1', '2', '4']],
  ['ByStream', of('byStream', 'orders'), { equals: { stream: 'orders' } }, ['1', '2']],
  ['ByStreamPrefix', of('byStreamPrefix', 'car'), { by_stream_prefix: 'car' }, ['3', '4']],
  ['BySource', of('bySource', '/shop/orders'), { BySource: '/shop/orders' }, ['2']],
  ['BySubject', of('bySubject', 'ada'), ADA, ['1']],
  ['BySubjectPrefix', of('bySubjectPrefix', 'ada'), { startsWith: { subject: 'ada' } }, ['1', '4']],
  ['NoSubject', of('noSubject', {}), { equals: { subject: { hasValue: false } } }, ['3']],
  ['And', of('and', { selectors: [{ stream: 'carts' }, of('byType', 'order.placed')] }), PLACED_IN_CARTS, ['4']],
  ['Or', of('or', { selectors: [{ subject: 'bob' }, of('noSubject', {})] }), BOB_OR_NONE, ['2', '3']],
  ['an empty one', {}, {}, ['1', '2', '3', '4']],
];

beforeAll(async () => {
  await api.create(name);
  for (const each of EVENTS) await api.commit(name, each);
});

async function overGrpc(parts: Parts): Promise<readonly string[]> {
  const query = EventQuery.fromPartial({ eventSelection: { selectors: [parts] } });
  return (await client.collect('queryEvents', { databaseName: name, query })).messages.map(({ id }) => id);
}

it.each(KINDS)(
  'SPEC-SELECTOR-KINDS %s selects the same events in every query and constraint',
  async (_kind, parts, selector, ids) => {
    expect(await overGrpc(parts)).toEqual(ids);
    // Each event is a transaction, so its id is its revision.
    const found = Number(ids.at(-1));
    const never = maxRevision(found - 1, EventSelector.fromPartial(parts));
    const refused = await failureOf(client.call('transact', transaction(name, [event()], { constraints: [never] })));
    expect([refused.code, refused.violations[0]?.description]).toEqual([
      'FAILED_PRECONDITION',
      expect.stringContaining(`${found}`),
    ]);
    const conditions = [{ max: { selector, revision: found - 1 } }];
    const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('x')], conditions });
    expect(errorOf(answer, FAILED_PRECONDITION).details?.constraints).toMatchObject([{ index: 0, found }]);
    expect(idsOf(await api.get(`/db/${name}/4/events?q=${q({ selector })}`))).toEqual(ids);
    expect(idsOf(await api.post(`/databases/${name}/query`, { selectors: [selector] }))).toEqual(ids);
  },
);

describe('SPEC-SELECTOR-FLAT, SPEC-QUERY-BOUNDS', () => {
  const both = { stream: 'orders', event_type: 'order.paid' };
  const bounds = { revision_range: { start: 2, end: 3 } };

  it.each<readonly [string, Parameters<typeof EventQuery.fromPartial>[0], object, readonly string[]]>([
    [
      'And of what one object names',
      { eventSelection: { selectors: [{ stream: 'orders', eventType: 'order.paid' }] } },
      { selectors: [both] },
      ['2'],
    ],
    [
      'any of a list of objects',
      { eventSelection: { selectors: [{ stream: 'orders', eventType: 'order.paid' }, { subject: 'ada' }] } },
      { selectors: [both, { subject: 'ada' }] },
      ['1', '2'],
    ],
    ['both ends of a revision range', { revisionRange: { start: 2, end: 3 } }, bounds, ['2', '3']],
    [
      'direction and limit',
      { revisionRange: { start: 2, end: 3 }, direction: Direction.DIRECTION_REVERSE, limit: 1 },
      { ...bounds, direction: 'reverse', limit: 1 },
      ['3'],
    ],
  ])('mean %s over gRPC and HTTP', async (_what, grpc, http, ids) => {
    const query = EventQuery.fromPartial(grpc);
    const { messages } = await client.collect('queryEvents', { databaseName: name, query });
    expect(messages.map(({ id }) => id)).toEqual(ids);
    expect(idsOf(await api.post(`/databases/${name}/query`, http))).toEqual(ids);
  });
});

it.each([[{ equals: { stream: 'a', eventType: 'b' } }], [{ ByColour: 'red' }], [{ or: [] }], [{ ByType: '' }], [[]]])(
  'SPEC-SELECTOR-MALFORMED %j is refused in every place, and names it',
  async (selector) => {
    const query = await api.get(`/db/${name}/4/events?q=${q({ selector })}`);
    expect(errorOf(query, INVALID_ARGUMENT).details?.violations?.[0]?.field).toMatch(/^q\.selector/);
    const conditions = [{ max: { selector, revision: 0 } }];
    const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('x')], conditions });
    expect(errorOf(answer, INVALID_ARGUMENT).details?.violations?.[0]?.field).toMatch(/^conditions\[0\]/);
  },
);

it('SPEC-SELECTOR-MALFORMED: too deep a selector is refused with what was found', async () => {
  const nested = (depth: number): Parts =>
    depth === 1 ? { stream: 's' } : { kind: { $case: 'and', value: { selectors: [nested(depth - 1)] } } };
  const nestedJson = (depth: number): object => (depth === 1 ? { stream: 's' } : { and: [nestedJson(depth - 1)] });
  const words = 'must nest at most 16 deep; found 17 or more';
  const query = EventQuery.fromPartial({ eventSelection: { selectors: [nested(17)] } });
  const refused = await failureOf(client.collect('queryEvents', { databaseName: name, query }));
  expect([refused.code, refused.message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(words)]);
  const answer = await api.post(`/databases/${name}/query`, { selectors: [nestedJson(17)] });
  expect(errorOf(answer, INVALID_ARGUMENT).message).toContain(words);
});
