// Goal: valid CloudEvents come back as they were written, and invalid ones are refused by name and leave nothing
// behind. Method: the cases of the CloudEvents conformance tests (test/support/cloudevents.ts) through the real
// servers. Over gRPC an event travels in the protobuf format; what that format cannot say is left out there, and named.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Api, JsonEvent, ReadEvent } from '../support/api/api.ts';
import { GrpcApi } from '../support/api/grpc-api.ts';
import { HttpApi } from '../support/api/http-api.ts';
import { INVALID_CASES, VALID_CASES } from '../support/cloudevents.ts';
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

/** Ids that are numbers or objects, fractions, and two payloads at once do not exist in protobuf. */
const JSON_ONLY = new Set([
  'invalidNumericId',
  'invalidObjectId',
  'invalidNonIntegerExtensionValue',
  'invalidBothDataAndDataBase64',
]);

const HTTP: readonly [string, () => Api] = ['HTTP', () => new HttpApi(server.http)];
const GRPC: readonly [string, () => Api] = ['gRPC', () => new GrpcApi(server.grpc)];

function attributesOf(written: JsonEvent): Partial<ReadEvent> {
  const { id, source, type, subject, time } = written;
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return {
    id: text(id) ?? '',
    source: text(source) ?? '',
    type: text(type) ?? '',
    subject: text(subject),
    time: text(time),
  };
}

describe('valid events', () => {
  const cases = VALID_CASES.map(({ name, json }) => [name, json] as const);

  it('are ten', () => expect(cases).toHaveLength(10));

  it.each(cases)('over HTTP %s comes back as it was written', async (_name, json) => {
    await using api = HTTP[1]();
    const database = await freshDatabase(api);
    const written = parse(json);
    expect(await api.transact(database, { events: [written] })).toMatchObject({ kind: 'committed', revision: 1 });
    const [read] = await api.query(database, { selectors: [] });
    expect(read).toMatchObject(attributesOf(written));
    const response = await fetch(`${server.http}/databases/${database}/events/1`);
    const { revision, index, recordedtime, ...event }: JsonEvent = JSON.parse(await response.text());
    expect([revision, index]).toEqual([1, 0]);
    expect(recordedtime).toMatch(/^\d{4}-.*Z$/);
    const expected = Object.entries(written).filter(([, value]) => value !== null);
    expect(event).toEqual(Object.fromEntries(expected));
  });

  it.each(cases)('over gRPC %s comes back as it was written', async (_name, json) => {
    await using api = GRPC[1]();
    const database = await freshDatabase(api);
    const written = parse(json);
    expect(await api.transact(database, { events: [written] })).toMatchObject({ kind: 'committed', revision: 1 });
    const [read] = await api.query(database, { selectors: [] });
    const { time, ...rest } = attributesOf(written);
    expect(read).toMatchObject(rest);
    // A protobuf timestamp is an instant: the offset that JSON spelled is not in it.
    expect(Date.parse(read?.time ?? '')).toBe(Date.parse(time ?? ''));
    expect(read?.data).toBe(typeof written['data'] === 'string' ? written['data'] : '');
  });
});

describe.each([HTTP, GRPC])('over %s', (over, connect) => {
  const cases = INVALID_CASES.filter(([name]) => over === 'HTTP' || !JSON_ONLY.has(name));

  it('the invalid events are 25, less those that the format cannot say', () => {
    expect(cases).toHaveLength(over === 'HTTP' ? 25 : 25 - JSON_ONLY.size);
  });

  it.each(cases)('%s is refused, and nothing is stored', async (_name, json) => {
    await using api = connect();
    const database = await freshDatabase(api);
    const good = parse(VALID_CASES[0]?.json ?? '');
    const refused = await api.transact(database, { events: [good, parse(json)] });
    expect(refused).toMatchObject({ kind: 'refused', code: 'INVALID_ARGUMENT' });
    const fields = refused.kind === 'refused' ? refused.fields : [];
    expect(fields.length).toBeGreaterThan(0);
    for (const field of fields) expect(field).toMatch(/^(transaction\.)?events\[1\]/);
    expect(await api.revision(database)).toEqual({ kind: 'at', revision: 0 });
  });
});

describe.each([HTTP, GRPC])('over %s', (_over, connect) => {
  it('a source without a path segment names no stream and is refused', async () => {
    await using api = connect();
    const database = await freshDatabase(api);
    for (const source of ['https://cloudevents.example', '#fragment', '///']) {
      const event = { specversion: '1.0', id: 'x', type: 't', source };
      expect(await api.transact(database, { events: [event] })).toMatchObject({
        kind: 'refused',
        code: 'INVALID_ARGUMENT',
      });
    }
  });
});
