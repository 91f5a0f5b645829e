// Goal: valid CloudEvents come back as they were written, and invalid ones are refused by name and leave nothing
// behind. Method: the cases of the CloudEvents conformance tests (test/support/cloudevents.ts) through the real
// servers. Over gRPC an event travels in the protobuf format, every attribute in its own type; what that format cannot
// say is left out there, and named.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DataKind, Event as WireEvent } from '../../proto/gen/cairn/v1/event.ts';
import type { Api, JsonEvent } from '../support/api/api.ts';
import { GrpcApi } from '../support/api/grpc-api.ts';
import { VALID_CASES } from '../support/cloudevents.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
let databases = 0;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function freshDatabase(api: Api): Promise<string> {
  databases += 1;
  const name = `cloudevents-${databases}`;
  await api.createDatabase(name);
  return name;
}

function parse(json: string): JsonEvent {
  const event: JsonEvent = JSON.parse(json);
  return event;
}

const GRPC: readonly [string, () => Api] = ['gRPC', () => new GrpcApi(server.grpc)];

describe('valid events', () => {
  const cases = VALID_CASES.map(({ name, json }) => [name, json] as const);

  it('are ten', () => expect(cases).toHaveLength(10));

  it.each(cases)('over gRPC %s comes back as it was written', async (_name, json) => {
    const written = parse(json);
    expect(await throughGrpc(written)).toEqual(wireEventOf(written));
  });

  it.each([
    ['2018-04-05T17:31:00.123456789Z', 1_522_949_460, 123_456_789],
    ['2018-04-05T18:31:00.000000001+01:00', 1_522_949_460, 1],
    ['1969-12-31T23:59:59.999999999Z', -1, 999_999_999],
  ])(
    'over gRPC the time %s comes back to the nanosecond, as attribute and as extension',
    async (text, seconds, nanos) => {
      const written = { ...parse(VALID_CASES[0]?.json ?? ''), time: text, atime: text };
      const read = await throughGrpc(written);
      expect(read).toEqual(wireEventOf(written));
      expect(read.time).toEqual({ seconds, nanos });
      expect(read.extensions['atime']).toEqual({ attr: { $case: 'ceTimestamp', value: { seconds, nanos } } });
    },
  );
});

/** The extensions of the cases that are not what JSON spells them as. */
const TYPES = { auri: 'uri', auriref: 'uri-ref', atime: 'timestamp', somebytes: 'bytes' } as const;

/** What a database gives back of one event, when it is written over gRPC and read there. */
async function throughGrpc(written: JsonEvent): Promise<WireEvent> {
  await using api = GRPC[1]();
  const databaseName = await freshDatabase(api);
  const reply = await api.transact(databaseName, { events: [written], types: TYPES });
  expect(reply).toMatchObject({ kind: 'committed', revision: 1 });
  const request = { databaseName, query: undefined, atRevision: undefined };
  const { messages } = await server.client.collect('queryEvents', request);
  expect(messages).toHaveLength(1);
  return WireEvent.fromPartial(messages[0] ?? {});
}

/** Every field of the message, from the JSON of the case and by nothing of ours. */
function wireEventOf(written: JsonEvent): WireEvent {
  const text = (name: string): string | undefined => {
    const value = written[name];
    return typeof value === 'string' ? value : undefined;
  };
  const time = text('time');
  const extensions = Object.entries(written).filter(([name]) => !CORE.has(name));
  return {
    id: text('id') ?? '',
    specVersion: '1.0',
    ty: text('type') ?? '',
    source: text('source') ?? '',
    subject: text('subject'),
    // A protobuf timestamp is an instant: the offset that JSON spelled is not in it, nor are zeros behind.
    time: time === undefined ? undefined : instantOf(time),
    timeText: undefined,
    data: Buffer.from(text('data') ?? ''),
    dataKind: text('data') === undefined ? DataKind.DATA_KIND_UNSPECIFIED : DataKind.DATA_KIND_TEXT,
    datacontenttype: text('datacontenttype'),
    dataschema: text('dataschema'),
    extensions: Object.fromEntries(extensions.map(([name, value]) => [name, { attr: typedOf(name, value) }])),
    revision: 1,
    index: 0,
    recordedTime: expect.objectContaining({ seconds: expect.any(Number) }),
  };
}

const CORE = new Set([
  'id',
  'specversion',
  'type',
  'source',
  'subject',
  'time',
  'datacontenttype',
  'dataschema',
  'data',
]);

type Attribute = NonNullable<WireEvent['extensions'][string]>['attr'];

function typedOf(name: string, value: unknown): Attribute {
  if (name === 'anint') return { $case: 'ceInteger', value: Number(value) };
  if (name === 'abool') return { $case: 'ceBoolean', value: value === true };
  if (name === 'auri') return { $case: 'ceUri', value: String(value) };
  if (name === 'auriref') return { $case: 'ceUriRef', value: String(value) };
  if (name === 'atime') return { $case: 'ceTimestamp', value: instantOf(String(value)) };
  if (name === 'somebytes') return { $case: 'ceBytes', value: Buffer.from(String(value), 'base64') };
  return { $case: 'ceString', value: String(value) };
}

/** Whole seconds by Date, and the digits behind the point. */
function instantOf(text: string): { readonly seconds: number; readonly nanos: number } {
  const [, seconds = '', digits = '', zone = ''] = /^([^.]*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  return { seconds: Date.parse(`${seconds}${zone}`) / 1000, nanos: Number(digits.padEnd(9, '0')) };
}
