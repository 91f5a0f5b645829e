// Goal: what a transaction over HTTP may hold, how large and of which type it may be, and that what it holds comes
// back as it was sent. Method: a real node; each test on a database of its own.
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Answer,
  cloudEvent,
  errorOf,
  INVALID_ARGUMENT,
  jsonOf,
  RESOURCE_EXHAUSTED,
  type TransactionRecord,
  uniqueName,
} from '../support/http-client.ts';
import { sharedHttpNode } from '../support/shared-servers.ts';

const { api } = await sharedHttpNode();
let name: string;

beforeEach(async () => {
  name = uniqueName();
  await api.create(name);
});

function transact(body: unknown): Promise<Answer> {
  return api.post(`/api/v1/db/${name}`, body);
}

describe('SPEC-LIMITS-1: transaction size', () => {
  it('takes 1,000 events and refuses 1,001 with 413', async () => {
    const events = Array.from({ length: 1001 }, (_, n) => cloudEvent(`e-${n}`));
    expect(await transact({ events: events.slice(1) })).toMatchObject({ status: 200 });
    const { details } = errorOf(await transact({ events }), RESOURCE_EXHAUSTED);
    expect(details?.reason).toBe('TransactionTooLarge');
    expect(await api.latestRevision(name)).toBe(1);
  });

  it('refuses more than 1 MB of events with 413', async () => {
    const half = cloudEvent('a', { data: 'x'.repeat(499_900) });
    expect(await transact({ events: [half, cloudEvent('b', { data: 'x'.repeat(499_000) })] })).toMatchObject({
      status: 200,
    });
    const large = { events: [half, cloudEvent('c', { data: 'x'.repeat(500_100) })] };
    expect(errorOf(await transact(large))).toMatchObject(RESOURCE_EXHAUSTED);
    expect(errorOf(await api.post(`/databases/${name}/events`, large))).toMatchObject(RESOURCE_EXHAUSTED);
  });

  it('is judged before the events are', async () => {
    expect(errorOf(await transact({ events: Array.from({ length: 1001 }, () => ({})) }))).toMatchObject(
      RESOURCE_EXHAUSTED,
    );
  });

  it('refuses a body that no transaction needs with 413', async () => {
    const answer = await transact(`{"events":[]${' '.repeat(8_000_000)}}`);
    expect(errorOf(answer)).toMatchObject(RESOURCE_EXHAUSTED);
  });

  it.each(['[]', '{}', '0', '""'])('refuses a body of nothing but %s with 413', async (value) => {
    const answer = await transact(`{"events":[${`${value},`.repeat(2_000_000)}0]}`);
    expect(errorOf(answer)).toMatchObject(RESOURCE_EXHAUSTED);
  });

  it('takes a full transaction in the longest spelling of JSON (TH6)', async () => {
    // Text of 995,000 bytes, each spelled with six.
    const data = `"${'\\u0041'.repeat(995_000)}"`;
    const body = `{"events":[{"id":"a","source":"s","specversion":"1.0","type":"t","datacontenttype":"text/plain","data":${data}}]}`;
    expect(await transact(body)).toMatchObject({ status: 200 });
  });
});

describe('SPEC-HTTP-INVALID-EVENT: malformed transactions', () => {
  it.each([5, 'x', {}])('with %j for events have one fault, and one more with a malformed id', async (events) => {
    const alone = errorOf(await transact({ events }), INVALID_ARGUMENT).details?.violations;
    expect(alone).toMatchObject([{ field: 'events', description: 'must be an array' }]);
    const both = errorOf(await transact({ events, transaction_id: 'no' }), INVALID_ARGUMENT).details?.violations;
    expect(both?.map(({ field }) => field)).toEqual(['events', 'transaction_id']);
  });

  it('report all faults of all events at once and store nothing', async () => {
    const events = [
      cloudEvent('', { subject: '' }),
      cloudEvent('b', { source: 7, time: 'yesterday' }),
      { ...cloudEvent('c'), specversion: '0.3', Upper: 'x' },
      'no event',
      cloudEvent('e', { revision: 3 }),
    ];
    const answer = await transact({ events, conditions: [{}], commit_message: 7 });
    const { details } = errorOf(answer, INVALID_ARGUMENT);
    const fields = details?.violations?.map(({ field }) => field);
    expect(fields?.toSorted()).toEqual([
      'commit_message',
      'conditions[0]',
      'events[0].id',
      'events[0].subject',
      'events[1].source',
      'events[1].time',
      'events[2].Upper',
      'events[2].specversion',
      'events[3]',
      'events[4].revision',
    ]);
    expect(await api.latestRevision(name)).toBe(0);
  });

  it.each([
    ['no events', {}],
    ['an empty list', { events: [] }],
    ['null', { events: null }],
    ['an object', { events: {} }],
    ['an unknown member', { events: [{ id: 'a' }], constraint: [] }],
    ['an array', [cloudEvent('a')]],
    ['a name twice', '{"events":[],"events":[]}'],
    ['no end', '{"events":['],
    ['a byte order mark', `\u{feff}{"events":[]}`],
    ['too deep nesting', '['.repeat(100_000)],
    ['nothing', ''],
  ])('with %s answer 400', async (_what, body) => {
    expect(errorOf(await transact(body))).toMatchObject(INVALID_ARGUMENT);
  });

  it('in ill-formed UTF-8 answer 400', async () => {
    const body = Buffer.from('{"events":[{"id":"\xff"}]}', 'latin1');
    expect(errorOf(await api.send(`/api/v1/db/${name}`, { method: 'POST', body }))).toMatchObject(INVALID_ARGUMENT);
  });
});

describe('SPEC-HTTP-CONTENT-TYPE: bodies of transactions', () => {
  const body = JSON.stringify({ events: [cloudEvent('a')] });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/vnd.shop+json',
  ])('are JSON as %s', async (type) => {
    expect(await api.post(`/api/v1/db/${name}`, body, { 'content-type': type })).toMatchObject({ status: 200 });
  });

  it('are one event as application/cloudevents+json', async () => {
    const type = 'application/cloudevents+json; charset=utf-8';
    const answer = await api.post(`/databases/${name}/events`, cloudEvent('a'), { 'content-type': type });
    expect(jsonOf(answer)).toMatchObject({ revision: 1, events_count: 1 });
  });

  it('are all events of an array as application/cloudevents-batch+json', async () => {
    const type = 'application/cloudevents-batch+json';
    const path = `/api/v1/db/${name}`;
    const answer = await api.post(path, [cloudEvent('a'), cloudEvent('b')], { 'content-type': type });
    expect((jsonOf(answer) as TransactionRecord).transaction).toMatchObject({ revision: 1, event_count: 2 });
    expect(errorOf(await api.post(path, cloudEvent('c'), { 'content-type': type }))).toMatchObject(INVALID_ARGUMENT);
    expect(errorOf(await api.post(path, [], { 'content-type': type }))).toMatchObject(INVALID_ARGUMENT);
  });

  it('of another type are told which ones there are, and which was found', async () => {
    const answer = await api.post(`/api/v1/db/${name}`, body, { 'content-type': 'text/xml' });
    expect(errorOf(answer, INVALID_ARGUMENT).message).toMatch(
      /Content-Type must be application\/json, application\/cloudevents\+json, application\/cloudevents-batch\+json or .* ends in \+json; found "text\/xml"$/,
    );
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    'application/json;charset="utf-8',
    'application/json; charset = utf-8',
    'application/json; charset=utf-8; charset=latin1',
    'json',
    ';',
    'a/b; c',
  ])('as %s answer 400', async (type) => {
    const { details } = errorOf(await api.post(`/api/v1/db/${name}`, body, { 'content-type': type }), INVALID_ARGUMENT);
    expect(details?.field).toBe('Content-Type');
  });

  it('with a content encoding answer 400', async () => {
    const answer = await api.post(`/api/v1/db/${name}`, body, { 'content-encoding': 'gzip' });
    expect(errorOf(answer, INVALID_ARGUMENT).details?.field).toBe('Content-Encoding');
  });
});

describe('SPEC-HTTP-FIDELITY: payloads', () => {
  it.each([
    '9007199254740993',
    '-0.0',
    '1e400',
    '0.10000000000000000000001',
    '{"b":1,"a":2,"__proto__":{"x":1},"constructor":null}',
    '{"a":1,"a":2}',
    '"\\u0041\\/\\ud800"',
    '[ 1 ,\t2 ]',
    'null',
    'false',
    '""',
  ])('%s comes back as it was written (TH5)', async (data) => {
    const event = `{"specversion":"1.0","id":"a","source":"s","type":"t","data": ${data} }`;
    expect(await transact(`{"events":[${event}]}`)).toMatchObject({ status: 200 });
    const { text } = await api.get(`/databases/${name}/events/1`);
    expect(text).toContain(`"data":${data}}`);
  });

  it('keep every attribute, extension and the spelling of time', async () => {
    const event = {
      id: 'ünïcode',
      source: 'https://x.example/streams/orders?a=b',
      specversion: '1.0',
      type: 'order.placed',
      subject: 'o/1',
      time: '2024-02-29T23:59:60.123456789+05:30',
      datacontenttype: 'application/octet-stream',
      dataschema: 'https://x.example/schema#1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      count: -7,
      flag: true,
      data_base64: 'AAEC/w==',
    };
    const answer = await transact({ events: [{ ...event, time: '2024-02-29T23:59:59.123456789+05:30' }] });
    expect(answer).toMatchObject({ status: 200 });
    const read = jsonOf(await api.get(`/databases/${name}/events/1`)) as object;
    expect(read).toEqual({
      ...event,
      time: '2024-02-29T23:59:59.123456789+05:30',
      revision: 1,
      index: 0,
      recordedtime: expect.stringMatching(/Z$/),
    });
  });

  it('keep text that is no JSON', async () => {
    const data = 'line 1\nline 2 "quoted"';
    await transact({ events: [cloudEvent('a', { datacontenttype: 'text/plain', data })] });
    expect(jsonOf(await api.get(`/databases/${name}/events/1`))).toMatchObject({ data, datacontenttype: 'text/plain' });
  });
});
