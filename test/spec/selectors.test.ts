// Goal: every kind of selector selects the same events in every place that takes one: queries over gRPC and in both
// route families of HTTP, and constraints over both. Method: a real node with one history; each kind in each spelling.
import { beforeAll, describe, expect, it } from 'vitest';
import { Direction, EventQuery, EventSelector } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
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

/** The kind, as gRPC says it, in the spellings of JSON, and what it selects. */
const KINDS: readonly (readonly [string, Parts, readonly unknown[], readonly string[]])[] = [
  [
    'ByType',
    { kind: { $case: 'byType', value: 'order.placed' } },
    [{ ByType: 'order.placed' }, { type: 'by_type', value: 'order.placed' }, { equals: { eventType: 'order.placed' } }],
    ['1', '4'],
  ],
  [
    'ByTypePrefix',
    { kind: { $case: 'byTypePrefix', value: 'order.p' } },
    [{ ByTypePrefix: 'order.p' }, { startsWith: { eventType: 'order.p' } }],
    ['1', '2', '4'],
  ],
  [
    'ByStream',
    { kind: { $case: 'byStream', value: 'orders' } },
    [{ byStream: 'orders' }, { equals: { stream: 'orders' } }],
    ['1', '2'],
  ],
  [
    'ByStreamPrefix',
    { kind: { $case: 'byStreamPrefix', value: 'car' } },
    [{ by_stream_prefix: 'car' }, { startsWith: { stream: 'car' } }],
    ['3', '4'],
  ],
  [
    'BySource',
    { kind: { $case: 'bySource', value: '/shop/orders' } },
    [{ BySource: '/shop/orders' }, { equals: { source: '/shop/orders' } }],
    ['2'],
  ],
  [
    'BySubject',
    { kind: { $case: 'bySubject', value: 'ada' } },
    [{ BySubject: 'ada' }, { equals: { subject: { hasValue: true, value: 'ada' } } }],
    ['1'],
  ],
  [
    'BySubjectPrefix',
    { kind: { $case: 'bySubjectPrefix', value: 'ada' } },
    [{ BySubjectPrefix: 'ada' }, { startsWith: { subject: 'ada' } }],
    ['1', '4'],
  ],
  [
    'NoSubject',
    { kind: { $case: 'noSubject', value: {} } },
    [{ noSubject: {} }, { equals: { subject: { hasValue: false } } }, { equals: { subject: { value: 'ada' } } }],
    ['3'],
  ],
  [
    'And',
    {
      kind: {
        $case: 'and',
        value: { selectors: [{ stream: 'carts' }, { kind: { $case: 'byType', value: 'order.placed' } }] },
      },
    },
    [{ and: [{ ByStream: 'carts' }, { ByType: 'order.placed' }] }],
    ['4'],
  ],
  [
    'Or',
    { kind: { $case: 'or', value: { selectors: [{ subject: 'bob' }, { kind: { $case: 'noSubject', value: {} } }] } } },
    [
      { or: [{ BySubject: 'bob' }, { noSubject: {} }] },
      { or: { selectors: [{ BySubject: 'bob' }, { noSubject: {} }] } },
      { type: 'or', selectors: [{ BySubject: 'bob' }, { noSubject: {} }] },
    ],
    ['2', '3'],
  ],
  [
    'And of Or of And',
    {
      kind: {
        $case: 'and',
        value: {
          selectors: [
            {
              kind: { $case: 'or', value: { selectors: [{ stream: 'orders', subject: 'ada' }, { stream: 'carts' }] } },
            },
            { eventType: 'order.placed' },
          ],
        },
      },
    },
    [
      {
        and: [
          { or: [{ and: [{ ByStream: 'orders' }, { BySubject: 'ada' }] }, { ByStream: 'carts' }] },
          { ByType: 'order.placed' },
        ],
      },
    ],
    ['1', '4'],
  ],
  ['an empty one', {}, [{}], ['1', '2', '3', '4']],
];

beforeAll(async () => {
  await api.create(name);
  for (const each of EVENTS) await api.commit(name, each);
});

async function overGrpc(parts: Parts): Promise<readonly string[]> {
  const query = EventQuery.fromPartial({ eventSelection: { selectors: [parts] } });
  return (await client.collect('queryEvents', { databaseName: name, query })).messages.map(({ id }) => id);
}

describe('SPEC-SELECTOR-KINDS', () => {
  it.each(KINDS)('%s selects the same events in every query', async (_kind, parts, spellings, ids) => {
    expect(await overGrpc(parts)).toEqual(ids);
    for (const selector of spellings) {
      const scoped = idsOf(await api.get(`/db/${name}/4/events?q=${q({ selector })}`));
      const collection = idsOf(await api.post(`/databases/${name}/query`, { selectors: [selector] }));
      expect({ selector, scoped, collection }).toEqual({ selector, scoped: ids, collection: ids });
    }
  });

  it.each(KINDS)('%s lets a constraint look at the same events', async (_kind, parts, spellings, ids) => {
    // Each event is a transaction, so its id is its revision.
    const found = Number(ids.at(-1));
    const never = maxRevision(found - 1, EventSelector.fromPartial(parts));
    const refused = await failureOf(client.call('transact', transaction(name, [event()], { constraints: [never] })));
    expect([refused.code, refused.violations[0]?.description]).toEqual([
      'FAILED_PRECONDITION',
      expect.stringContaining(`${found}`),
    ]);
    for (const selector of spellings) {
      const conditions = [{ max: { selector, revision: found - 1 } }];
      const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('x')], conditions });
      expect(errorOf(answer, FAILED_PRECONDITION).details?.constraints).toMatchObject([{ index: 0, found }]);
    }
  });
});

describe('SPEC-SELECTOR-FLAT', () => {
  it('means And of what one object names, and a list of objects any of them', async () => {
    const both = { stream: 'orders', event_type: 'order.paid' };
    expect(await overGrpc({ stream: 'orders', eventType: 'order.paid' })).toEqual(['2']);
    expect(idsOf(await api.post(`/databases/${name}/query`, { selectors: [both] }))).toEqual(['2']);
    const any = [both, { subject: 'ada' }];
    expect(idsOf(await api.post(`/databases/${name}/query`, { selectors: any }))).toEqual(['1', '2']);
    expect(idsOf(await api.post(`/databases/${name}/query`, { selectors: [{ source: '/shop/orders' }] }))).toEqual([
      '2',
    ]);
  });
});

describe('SPEC-SELECTOR-MALFORMED', () => {
  it.each([
    [{ equals: {} }],
    [{ equals: { stream: 'a', eventType: 'b' } }],
    [{ equals: { colour: 'red' } }],
    [{ equals: { subject: 'ada' } }],
    [{ ByColour: 'red' }],
    [{ or: [] }],
    [{ and: 7 }],
    [{ ByType: '' }],
    [{ equals: { stream: 7 } }],
    [[]],
    ['orders'],
  ])('%j is refused in every place, and names it', async (selector) => {
    const query = await api.get(`/db/${name}/4/events?q=${q({ selector })}`);
    expect(errorOf(query, INVALID_ARGUMENT).details?.violations?.[0]?.field).toMatch(/^q\.selector/);
    const conditions = [{ max: { selector, revision: 0 } }];
    const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('x')], conditions });
    expect(errorOf(answer, INVALID_ARGUMENT).details?.violations?.[0]?.field).toMatch(/^conditions\[0\]/);
  });
});

describe('SPEC-SELECTOR-MALFORMED: its size', () => {
  const nested = (depth: number): Parts =>
    depth === 1 ? { stream: 's' } : { kind: { $case: 'and', value: { selectors: [nested(depth - 1)] } } };
  const either = (count: number, attribute: 'stream' | 'subject' = 'stream'): Parts => {
    const selectors = Array.from({ length: count }, (_, n) => ({ [attribute]: `s${n}` }));
    return { kind: { $case: 'or', value: { selectors } } };
  };
  const nestedJson = (depth: number): object => (depth === 1 ? { stream: 's' } : { and: [nestedJson(depth - 1)] });
  const eitherJson = (count: number, attribute: 'stream' | 'subject' = 'stream'): object => ({
    or: Array.from({ length: count }, (_, n) => ({ [attribute]: `s${n}` })),
  });

  it.each<readonly [string, Parts, object, string]>([
    ['depth', nested(17), nestedJson(17), 'must nest at most 16 deep; found 17 or more'],
    ['count', either(256), eitherJson(256), 'must consist of at most 256 selectors; found 257 or more'],
    [
      'alternatives',
      { kind: { $case: 'and', value: { selectors: [either(20), either(20, 'subject')] } } },
      { and: [eitherJson(20), eitherJson(20, 'subject')] },
      'must come to at most 256 alternatives when And is spread over Or; found 257 or more',
    ],
  ])('too great by %s is refused with what was found', async (_what, parts, selector, words) => {
    const query = EventQuery.fromPartial({ eventSelection: { selectors: [parts] } });
    const refused = await failureOf(client.collect('queryEvents', { databaseName: name, query }));
    expect([refused.code, refused.message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(words)]);
    const answers = [
      await api.get(`/db/${name}/4/events?q=${q({ selector })}`),
      await api.post(`/databases/${name}/query`, { selectors: [selector] }),
    ];
    for (const answer of answers) expect(errorOf(answer, INVALID_ARGUMENT).message).toContain(words);
  });
});

describe('SPEC-QUERY-BOUNDS', () => {
  it('revision range with both ends, direction and limit mean the same in every query', async () => {
    const range = { revisionRange: { start: 2, end: 3 } };
    const parts = { ...range, direction: Direction.DIRECTION_REVERSE, limit: 1 };
    const grpc = async (given: Parameters<typeof EventQuery.fromPartial>[0]): Promise<readonly string[]> => {
      const query = EventQuery.fromPartial(given);
      return (await client.collect('queryEvents', { databaseName: name, query })).messages.map(({ id }) => id);
    };
    expect([await grpc(range), await grpc(parts)]).toEqual([['2', '3'], ['3']]);
    const scoped = { range: { revision: { startAt: 2, endAt: 3 } } };
    expect(idsOf(await api.get(`/db/${name}/4/events?q=${q(scoped)}`))).toEqual(['2', '3']);
    const last = { ...scoped, direction: 'REVERSE', limit: 1 };
    expect(idsOf(await api.get(`/db/${name}/4/events?q=${q(last)}`))).toEqual(['3']);
    const collection = { revision_range: { start: 2, end: 3 } };
    expect(idsOf(await api.post(`/databases/${name}/query`, collection))).toEqual(['2', '3']);
    const reverse = { ...collection, direction: 'reverse', limit: 1 };
    expect(idsOf(await api.post(`/databases/${name}/query`, reverse))).toEqual(['3']);
  });
});
