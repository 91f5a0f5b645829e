// Goal: an event is what the specification says, whichever interface writes it and whichever reads it: its attributes,
// its stream, its position, its two times. Method: a real node; what one interface writes the other reads; and a node
// whose clock the test sets.
import { describe, expect, it } from 'vitest';
import type { Event } from '../../proto/gen/cairn/v1/event.ts';
import { EventQuery } from '../../proto/gen/cairn/v1/event.ts';
import { failureOf } from '../support/grpc-client.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { cloudEvent, errorOf, INVALID_ARGUMENT, jsonOf, q, uniqueName } from '../support/http-client.ts';
import { type EventPage, idsOf } from '../support/http-history.ts';
import { startHttpWorld } from '../support/http-world.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api, server } = await sharedHttpNode();
const { client } = server;

async function created(): Promise<string> {
  const name = uniqueName();
  await api.create(name);
  return name;
}

async function eventsOverGrpc(
  databaseName: string,
  query: Parameters<typeof EventQuery.fromPartial>[0] = {},
): Promise<readonly Event[]> {
  const request = { databaseName, query: EventQuery.fromPartial(query) };
  return (await client.collect('queryEvents', request)).messages;
}

async function eventsOverHttp(name: string): Promise<EventPage['events']> {
  return (jsonOf(await api.get(`/databases/${name}/events`)) as EventPage).events;
}

/** Attributes with what gRPC calls them: in TypeScript, and in the paths of faults. */
const REQUIRED = [
  ['id', 'id', 'id'],
  ['source', 'source', 'source'],
  ['specversion', 'specVersion', 'spec_version'],
  ['type', 'ty', 'ty'],
] as const;

/** Expects both interfaces to name the attribute alone for this value, and to store nothing; gives what HTTP says. */
async function refusal([attribute, key, path]: readonly string[], value: string | undefined): Promise<string> {
  const name = await created();
  const events = [cloudEvent('a', { [attribute ?? '']: value })];
  const { details } = errorOf(await api.post(`/api/v1/db/${name}`, { events }), INVALID_ARGUMENT);
  const sent = transaction(name, [event({ [key ?? '']: value ?? '' })]);
  const { fields } = await failureOf(client.call('transact', sent));
  const violations = details?.violations ?? [];
  expect(violations.map(({ field }) => field)).toEqual([`events[0].${attribute}`]);
  expect([fields, await api.latestRevision(name)]).toEqual([[`transaction.events[0].${path}`], 0]);
  return violations[0]?.description ?? '';
}

describe('SPEC-EVENT-REQUIRED', () => {
  it.each(REQUIRED)('%s is required', async (...attribute) => {
    expect(await refusal(attribute, undefined)).not.toBe('');
    expect(await refusal(attribute, '')).not.toBe('');
  });

  it('specversion is 1.0', async () => {
    expect(await refusal(REQUIRED[2], '1.1')).toContain('1.0');
  });
});

it('SPEC-EVENT-FIELDS come back through the other interface as they were written, and what may be absent stays absent', async () => {
  const name = await created();
  const full = { subject: 'ada', time: '2024-01-05T00:00:00.123456789+02:00', datacontenttype: 'application/json' };
  await api.commit(name, cloudEvent('full', { ...full, data: { n: 1 } }), cloudEvent('bare'));
  const [written, bare] = await eventsOverGrpc(name);
  expect(written).toMatchObject({ id: 'full', specVersion: '1.0', ty: 'order.placed', source: 'orders' });
  expect(written).toMatchObject({ subject: 'ada', timeText: full.time, datacontenttype: 'application/json' });
  expect(Buffer.from(written?.data ?? []).toString()).toBe('{"n":1}');
  expect([bare?.subject, bare?.time, bare?.datacontenttype, bare?.data.length]).toEqual([
    undefined,
    undefined,
    undefined,
    0,
  ]);

  await client.send('transact', transaction(name, [event({ id: 'sent', subject: 's', source: '/a/b' })]));
  const read = (await eventsOverHttp(name)).at(-1);
  expect(read).toMatchObject({ id: 'sent', specversion: '1.0', type: 'order.placed', source: '/a/b', subject: 's' });
  expect(Object.keys(read ?? {})).not.toContain('time');
  expect(Object.keys(read ?? {})).not.toContain('data');
});

it('SPEC-EVENT-POSITION is the server’s: an event that brings one is refused', async () => {
  for (const attribute of ['revision', 'index', 'recordedtime']) {
    const name = await created();
    const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('a', { [attribute]: 1 })] });
    expect(errorOf(answer, INVALID_ARGUMENT).details?.violations?.[0]?.field).toContain(attribute);
  }
});

it.each([REQUIRED[0], REQUIRED[3], ['subject', 'subject', 'subject']])(
  'SPEC-EVENT-TEXT %s is 1 to 255 bytes of text that is not blank',
  async (...attribute) => {
    const name = await created();
    expect(await api.commit(name, cloudEvent('e', { [attribute[0]]: '÷'.repeat(127) }))).toBe(1);
    for (const text of ['', ' ', '÷'.repeat(128)]) expect(await refusal(attribute, text)).not.toBe('');
  },
);

it('SPEC-EVENT-STREAM: the stream is a part of the source, which is stored as it is', async () => {
  const streams = {
    orders: 'orders',
    '/db/shop/streams/orders2': 'orders2',
    'https://x.example/a?b=/c#/d': 'a',
    'https://x.example': 'x.example',
    'urn:example:orders': 'urn:example:orders',
  };
  const name = await created();
  await api.commit(name, ...Object.keys(streams).map((source) => cloudEvent(source, { source })));
  for (const [source, stream] of Object.entries(streams)) {
    const found = await eventsOverGrpc(name, { eventSelection: { selectors: [{ stream }] } });
    expect(found).toMatchObject([{ id: source, source }]);
    expect(jsonOf(await api.get(`/db/${name}/1/streams/${encodeURIComponent(stream)}`))).toMatchObject({
      events: [{ id: source, source }],
    });
  }
});

it('SPEC-RECORDED-TIME stays where it was while the clock of the node has been set back, however far', async () => {
  const start = Date.UTC(2024, 0, 1);
  await using world = await startHttpWorld({ nowMs: start });
  await world.client.create('shop');
  for (const [n, clockMs] of [7_000, 6_999, 0, -3_600_000, 7_001].entries()) {
    world.core.nowMs = start + clockMs;
    await world.client.commit('shop', cloudEvent(`${n}`));
  }
  const { events } = jsonOf(await world.client.get('/databases/shop/events')) as EventPage;
  const times = events.map(({ recordedtime }) => Date.parse(recordedtime) - start);
  expect(times).toEqual([7_000, 7_000, 7_000, 7_000, 7_001]);
});

describe('SPEC-EFFECTIVE-TIME', () => {
  it('is the recorded time of an event that has no time', async () => {
    const name = await created();
    await api.commit(name, cloudEvent('early', { time: '2024-01-01T00:00:00Z' }), cloudEvent('now'));
    const recorded = (await eventsOverHttp(name)).at(-1)?.recordedtime ?? '';
    const at = { range: { effectiveTime: { startAt: recorded, endAt: recorded } } };
    expect(idsOf(await api.get(`/db/${name}/1/events?q=${q(at)}`))).toEqual(['now']);
  });

  it('is refused where it is none, with what it must be', async () => {
    const name = await created();
    const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('a', { time: '2024-01-01' })] });
    const [violation] = errorOf(answer, INVALID_ARGUMENT).details?.violations ?? [];
    expect(violation).toMatchObject({ field: 'events[0].time', description: expect.stringContaining('RFC 3339') });
  });
});
