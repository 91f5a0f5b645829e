// Goal: an event is what the specification says, whichever interface writes it and whichever reads it: its attributes,
// its stream, its position, its two times. Method: a real node; what one interface writes the other reads; and a node
// whose clock the test sets.
import { describe, expect, it } from 'vitest';
import type { Event } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
import { EventQuery } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
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

/** What gRPC calls what HTTP calls otherwise: in TypeScript, and in the paths of faults. */
const GRPC: Readonly<Record<string, readonly [string, string]>> = {
  type: ['ty', 'ty'],
  specversion: ['specVersion', 'spec_version'],
};

interface Refusals {
  /** The one field that each interface names. */
  readonly fields: readonly (readonly string[])[];
  /** What HTTP says of it. */
  readonly text: string;
  /** The database is as it was. */
  readonly revision: number;
}

/** What both interfaces say of an event with this attribute. */
async function refusals(attribute: string, value: string | undefined): Promise<Refusals> {
  const name = await created();
  const events = [cloudEvent('a', { [attribute]: value })];
  const { details } = errorOf(await api.post(`/api/v1/db/${name}`, { events }), INVALID_ARGUMENT);
  const violations = details?.violations ?? [];
  const [key] = GRPC[attribute] ?? [attribute];
  const failure = await failureOf(client.call('transact', transaction(name, [event({ [key]: value ?? '' })])));
  return {
    fields: [violations.map(({ field }) => field), failure.fields],
    text: violations[0]?.description ?? '',
    revision: await api.latestRevision(name),
  };
}

/** Both name the attribute, and nothing is stored. */
function bothName(attribute: string): Partial<Refusals> {
  const [, key] = GRPC[attribute] ?? ['', attribute];
  return { fields: [[`events[0].${attribute}`], [`transaction.events[0].${key}`]], revision: 0 };
}

describe('SPEC-EVENT-REQUIRED', () => {
  it.each(['id', 'source', 'specversion', 'type'])('%s is required', async (attribute) => {
    expect(await refusals(attribute, undefined)).toMatchObject(bothName(attribute));
    expect(await refusals(attribute, '')).toMatchObject(bothName(attribute));
  });

  it('specversion is 1.0', async () => {
    const refused = { ...bothName('specversion'), text: expect.stringContaining('1.0') };
    expect(await refusals('specversion', '1.1')).toMatchObject(refused);
  });
});

describe('SPEC-EVENT-FIELDS', () => {
  it('come back through the other interface as they were written, and what may be absent stays absent', async () => {
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
});

describe('SPEC-EVENT-POSITION', () => {
  it('is revision and index: a revision for each transaction, an index for each of its events', async () => {
    const name = await created();
    await api.commit(name, cloudEvent('a'), cloudEvent('b'));
    await client.send('transact', transaction(name, [event({ id: 'c' })]));
    const places = (events: readonly { readonly revision: number; readonly index: number }[]): readonly string[] =>
      events.map(({ revision, index }) => `${revision}.${index}`);
    expect(places(await eventsOverHttp(name))).toEqual(['1.0', '1.1', '2.0']);
    expect(places(await eventsOverGrpc(name))).toEqual(['1.0', '1.1', '2.0']);
  });

  it('is the server’s: an event that brings one is refused', async () => {
    for (const attribute of ['revision', 'index', 'recordedtime']) {
      const name = await created();
      const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('a', { [attribute]: 1 })] });
      expect(errorOf(answer, INVALID_ARGUMENT).details?.violations?.[0]?.field).toContain(attribute);
    }
  });
});

describe('SPEC-EVENT-TEXT', () => {
  it.each(['id', 'type', 'subject'])('%s is 1 to 255 bytes of text that is not blank', async (attribute) => {
    const name = await created();
    expect(await api.commit(name, cloudEvent('e', { [attribute]: '÷'.repeat(127) }))).toBe(1);
    for (const text of ['', ' ', '÷'.repeat(128)]) {
      expect(await refusals(attribute, text)).toMatchObject(bothName(attribute));
    }
  });
});

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

describe('SPEC-RECORDED-TIME', () => {
  it('is the same for all events of a transaction, and never goes back', async () => {
    const name = await created();
    await api.commit(name, cloudEvent('a'), cloudEvent('b'));
    await api.commit(name, cloudEvent('c'));
    const times = (await eventsOverHttp(name)).map(({ recordedtime }) => recordedtime);
    expect(times[0]).toBe(times[1]);
    expect(Date.parse(times[2] ?? '')).toBeGreaterThanOrEqual(Date.parse(times[1] ?? ''));
    const overGrpc = await eventsOverGrpc(name);
    expect(overGrpc.map(({ recordedTime: time }) => (time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6)).toEqual(
      times.map((text) => Date.parse(text)),
    );
  });

  it('stays where it was while the clock of the node has been set back, however far', async () => {
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
});

describe('SPEC-EFFECTIVE-TIME', () => {
  /** Instants in another order than the transactions; two of them are the same in other words. */
  const TIMES = [
    ['late', '2024-03-01T00:00:00Z'],
    ['early', '2024-01-01T00:00:00.000000001+00:00'],
    ['first', '2024-01-01T00:00:00Z'],
    ['tie-1', '2024-02-01T00:00:00Z'],
    ['tie-2', '2024-02-01T02:00:00+02:00'],
  ] as const;

  async function history(): Promise<string> {
    const name = await created();
    for (const [id, time] of TIMES) await api.commit(name, cloudEvent(id, { time }));
    await api.commit(name, cloudEvent('now'));
    return name;
  }

  const instant = (text: string): { seconds: number; nanos: number } => ({
    seconds: Date.parse(text) / 1000,
    nanos: 0,
  });

  it('orders events by instant, ties by position, whatever the order of transactions', async () => {
    const name = await history();
    const order = ['first', 'early', 'tie-1', 'tie-2', 'late', 'now'];
    const end = '2100-01-01T00:00:00Z';
    const range = { effectiveTimeRange: { end: instant(end) } };
    expect((await eventsOverGrpc(name, range)).map(({ id }) => id)).toEqual(order);
    const question = { range: { effectiveTime: { endAt: end } } };
    expect(idsOf(await api.get(`/db/${name}/6/events?q=${q(question)}`))).toEqual(order);
    const reverse = { ...question, direction: 'REVERSE' };
    expect(idsOf(await api.get(`/db/${name}/6/events?q=${q(reverse)}`))).toEqual(order.toReversed());
    const body = { effective_time_range: { end } };
    expect(idsOf(await api.post(`/databases/${name}/query`, body))).toEqual(order);
  });

  it('is the recorded time of an event that has no time', async () => {
    const name = await history();
    const recorded = (await eventsOverHttp(name)).at(-1)?.recordedtime ?? '';
    const at = { range: { effectiveTime: { startAt: recorded, endAt: recorded } } };
    expect(idsOf(await api.get(`/db/${name}/6/events?q=${q(at)}`))).toEqual(['now']);
  });

  it('is refused where it is none, with what it must be', async () => {
    const name = await created();
    const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('a', { time: '2024-01-01' })] });
    const [violation] = errorOf(answer, INVALID_ARGUMENT).details?.violations ?? [];
    expect(violation).toMatchObject({ field: 'events[0].time', description: expect.stringContaining('RFC 3339') });
  });
});
