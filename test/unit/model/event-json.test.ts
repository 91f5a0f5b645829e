// Goal: the CloudEvents JSON format is converted to canonical bytes and back, with unchanged payloads (M1, M5). Method:
// the conformance cases by name; tables of payloads and kinds; random events converted in both directions.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeUtf8, encodeUtf8, NO_BYTES } from '#base';
import {
  acceptJsonEvent,
  DATA_KIND,
  type Event,
  encodeEvent,
  eventToJson,
  Faults,
  isJsonType,
  isWellFormedJson,
  parseJson,
  RAW_DATA,
  readEvent,
} from '#model';
import { INVALID_CASES, VALID_CASES } from '../../support/cloudevents.ts';
import { arbEvent, eventBytes } from '../../support/events.ts';
import { textsOf } from '../../support/model-reading.ts';
import { runs } from '../../support/runs.ts';

const SERVER = { revision: 7, index: 2, recordedTimeMs: 1_700_000_000_123 };
const SERVER_JSON = '"revision":7,"index":2,"recordedtime":"2023-11-14T22:13:20.123Z"';

function accept(json: string): { readonly bytes: Uint8Array | undefined; readonly faults: readonly string[] } {
  const node = parseJson(encodeUtf8(json), { raw: RAW_DATA });
  if (node.kind === 'fault') throw new Error(node.message);
  const faults = new Faults();
  const bytes = acceptJsonEvent(node, { faults, list: 'events', index: 0 });
  return { bytes, faults: textsOf(faults) };
}

function accepted(json: string): Event {
  const { bytes, faults } = accept(json);
  expect(faults).toEqual([]);
  return readEvent(bytes ?? NO_BYTES, 0, bytes?.length ?? 0);
}

const CORE = '"id":"e-1","source":"orders","specversion":"1.0","type":"order.placed"';
/** Converts JSON to bytes and back, without the members that the server adds. */
function throughBytes(members: string): string {
  const { bytes, faults } = accept(`{${CORE},${members}}`);
  expect(faults).toEqual([]);
  const json = eventToJson(bytes ?? NO_BYTES, SERVER).replace(`,${SERVER_JSON}`, '');
  return json.slice(`{${CORE},`.length, -1);
}

describe('CloudEvents conformance', () => {
  it.each(VALID_CASES)('accepts %s', (_name, json, event) => {
    expect(encodeEvent(accepted(json))).toEqual(encodeEvent(event));
    const again = eventToJson(encodeEvent(event), SERVER).replace(`,${SERVER_JSON}`, '');
    expect(encodeEvent(accepted(again))).toEqual(encodeEvent(event));
  });

  it.each(INVALID_CASES)('rejects %s', (_name, json, faulty) => {
    const { bytes, faults } = accept(json);
    expect(bytes).toBeUndefined();
    const paths = faults.map((fault) => fault.slice('events[0]'.length, fault.indexOf(' ')));
    expect(paths.map((path) => path.replace(/^\./, ''))).toEqual(faulty);
  });
});

describe('an event from JSON', () => {
  const typed = (type: string, data: string): string => `"datacontenttype":"${type}","data":${data}`;
  it.each<[string, Partial<Event>]>([
    ['"data":{"a": 1}', { data: encodeUtf8('{"a": 1}'), dataKind: DATA_KIND.JSON }],
    ['"data":"a"', { data: encodeUtf8('"a"'), dataKind: DATA_KIND.JSON }],
    [typed('a/x+json', '"a"'), { dataContentType: 'a/x+json', data: encodeUtf8('"a"'), dataKind: DATA_KIND.JSON }],
    [typed('a/xml', '"<\\u00e9>"'), { dataContentType: 'a/xml', data: encodeUtf8('<é>'), dataKind: DATA_KIND.TEXT }],
    [typed('a/b', '""'), { dataContentType: 'a/b', dataKind: DATA_KIND.TEXT }],
    [typed('a/b', '{"a":1}'), { dataContentType: 'a/b', data: encodeUtf8('{"a":1}'), dataKind: DATA_KIND.JSON }],
    ['"data":null', { data: encodeUtf8('null'), dataKind: DATA_KIND.JSON }],
    ['"data_base64":"TWE="', { data: encodeUtf8('Ma'), dataKind: DATA_KIND.BINARY }],
    ['"data_base64":""', { dataKind: DATA_KIND.BINARY }],
    ['"data":1,"data_base64":null', { data: encodeUtf8('1'), dataKind: DATA_KIND.JSON }],
    ['"x":-2147483648', { extensions: new Map([['x', { kind: 'integer', value: -2147483648 }]]) }],
    ['"x":-0', { extensions: new Map([['x', { kind: 'integer', value: 0 }]]) }],
    ['"x":null', {}],
  ])('may carry %s', (members, attributes) => {
    expect(encodeEvent(accepted(`{${CORE},${members}}`))).toEqual(eventBytes(attributes));
  });

  const NO_EXTENSION = '.x must be a string, true, false, or an integer of 32 bits';
  it.each([
    ['[]', ' must be an object'],
    [`{${CORE},"x":{}}`, NO_EXTENSION],
    [`{${CORE},"x":[]}`, NO_EXTENSION],
    [`{${CORE},"x":2147483648}`, NO_EXTENSION],
    [`{${CORE},"x":1e3}`, NO_EXTENSION],
    [`{${CORE},"data_base64":"TWE"}`, '.data_base64 must be base64 with padding'],
    [`{${CORE},"data_base64":1}`, '.data_base64 must be a string'],
    [`{${CORE},${typed('a/b', '"\\ud800"')}}`, '.data must not contain an unpaired surrogate'],
    [`{${CORE.replace('e-1', '\\udc00')}}`, '.id must not contain an unpaired surrogate'],
    [`{${CORE},"revision":1}`, '.revision must not have a name that the server sets'],
    [`{${CORE},"__proto__":"x"}`, '.__proto__ must be a name of lowercase letters'],
    [`{${CORE},"time":5}`, '.time must be a string'],
  ])('is rejected as %s', (json, expected) => {
    const { bytes, faults } = accept(json);
    expect(bytes).toBeUndefined();
    expect(faults).toEqual([expect.stringContaining(`events[0]${expected}`)]);
  });

  it.each([
    ['id', 'must not be empty'],
    ['type', 'must not be empty'],
    ['specversion', 'must be "1.0"'],
    ['source', 'must be a URI-reference (RFC 3986)'],
  ])('is rejected for an empty %s, with another message than for a missing one', (name, description) => {
    const members: Record<string, string> = { id: 'a', source: 'a', specversion: '1.0', type: 't' };
    const faultsOf = (value: unknown): unknown => accept(JSON.stringify({ ...members, [name]: value })).faults;
    expect(faultsOf('')).toEqual([`events[0].${name} ${description}`]);
    const missing = [expect.stringMatching(/^events\[0\]\.[a-z]+ is required/)];
    expect([faultsOf(undefined), faultsOf(null)]).toEqual([missing, missing]);
  });

  it('is rejected with all its faults, those of JSON and those of the event', () => {
    const { faults } = accept(
      '{"id":1,"source":" ","specversion":"1.0","subject":"","time":"noon","x":[],"data":1,"data_base64":"TWE="}',
    );
    const names = ['data_base64', 'id', 'source', 'subject', 'time', 'type', 'x'];
    const fields = faults.map((fault) => fault.slice(0, fault.indexOf(' '))).toSorted();
    expect(fields).toEqual(names.map((name) => `events[0].${name}`));
  });
});

describe('an event to JSON', () => {
  it('has its members in a fixed order', () => {
    const bytes = eventBytes({
      subject: 'o-1',
      time: { instant: { seconds: 1_522_949_460, nanos: 0 }, text: '2018-04-05T18:31:00.00+01:00' },
      dataContentType: 'application/json',
      dataSchema: 'https://x.example/s',
      data: encodeUtf8('{"a":1}'),
      extensions: new Map([
        ['b', { kind: 'integer', value: -5 }],
        ['a', { kind: 'boolean', value: false }],
        ['c', { kind: 'bytes', value: Uint8Array.of(1, 2) }],
        ['d', { kind: 'timestamp', value: { seconds: 0, nanos: 5 } }],
        ['e', { kind: 'uri-ref', value: '//x/y' }],
      ]),
    });
    expect(eventToJson(bytes, { ...SERVER, storedId: 'e-1~7.2' })).toBe(
      '{"id":"e-1~7.2","source":"orders","specversion":"1.0","type":"order.placed","subject":"o-1",' +
        '"time":"2018-04-05T18:31:00.00+01:00","datacontenttype":"application/json","dataschema":"https://x.example/s",' +
        '"a":false,"b":-5,"c":"AQI=","d":"1970-01-01T00:00:00.000000005Z","e":"//x/y",' +
        `${SERVER_JSON},"data":{"a":1}}`,
    );
  });

  it.each([
    '"data":{"big":9007199254740993,"f":1.10,"e":1E400,"z":-0}',
    '"data":{"b":1,"a":2,"b":3,"__proto__":{}}',
    '"data":{ "a" : [ 1 ,\n 2 ] }',
    '"data":"\\u00e9\\/"',
    '"data":"\\ud800"',
    '"data":null',
    '"datacontenttype":"text/plain","data":"a\\"b\\n"',
    '"datacontenttype":"application/xml","data":"<a/>"',
    '"datacontenttype":"text/plain","data":""',
    '"data_base64":"AAEC/w=="',
    '"data_base64":""',
    '"datacontenttype":"application/json","data_base64":"e30="',
    '"subject":"\\"\\\\","time":"2018-04-05T18:31:00.120+01:00"',
    '"time":"2016-12-31T23:59:60Z"',
    '"dataschema":"https://x.example/s","x":true,"y":-5,"z":"é\\""',
  ])('returns %s as it was written (M5)', (members) => {
    expect(throughBytes(members)).toBe(members);
  });

  const JSON_TYPE = { dataContentType: 'application/json' };
  const NO_UTF8 = Uint8Array.of(0xff);
  it.each<[string, Partial<Event>, string]>([
    ['no payload', {}, ''],
    ['bytes that are JSON, of no type', { data: encodeUtf8('{"a":1}') }, ',"data":{"a":1}'],
    ['bytes that are JSON, of a JSON type', { ...JSON_TYPE, data: encodeUtf8(' [1]\n') }, ',"data": [1]\n'],
    ['bytes that are no JSON, of a JSON type', { ...JSON_TYPE, data: encodeUtf8('{a') }, ',"data_base64":"e2E="'],
    ['bytes that are text, of no type', { data: encodeUtf8('abc') }, ',"data_base64":"YWJj"'],
    ['bytes of a text type', { dataContentType: 'text/csv', data: encodeUtf8('a,b') }, ',"data":"a,b"'],
    ['no UTF-8, of a text type', { dataContentType: 'text/csv', data: NO_UTF8 }, ',"data_base64":"/w=="'],
    ['bytes of another type', { dataContentType: 'a/b', data: encodeUtf8('{}') }, ',"data_base64":"e30="'],
    ['JSON that is', { dataContentType: 'a/b', dataKind: DATA_KIND.JSON, data: encodeUtf8('1') }, ',"data":1'],
    ['JSON that is none', { dataKind: DATA_KIND.JSON, data: encodeUtf8('1,"x":2') }, ',"data_base64":"MSwieCI6Mg=="'],
    ['JSON that is empty', { dataKind: DATA_KIND.JSON }, ',"data_base64":""'],
    ['text', { ...JSON_TYPE, dataKind: DATA_KIND.TEXT, data: encodeUtf8('{}') }, ',"data":"{}"'],
    ['text that is no UTF-8', { dataKind: DATA_KIND.TEXT, data: NO_UTF8 }, ',"data_base64":"/w=="'],
    ['binary', { ...JSON_TYPE, dataKind: DATA_KIND.BINARY, data: encodeUtf8('{}') }, ',"data_base64":"e30="'],
    ['a message', { dataKind: DATA_KIND.PROTO, data: encodeUtf8('{}') }, ',"data_base64":"e30="'],
  ])('shows %s', (_what, attributes, expected) => {
    const json = eventToJson(eventBytes(attributes), SERVER);
    expect(json.slice(json.indexOf(SERVER_JSON) + SERVER_JSON.length, -1)).toBe(expected);
    expect(JSON.parse(json)).toMatchObject({ id: 'e-1' });
  });

  it('is JSON that is parsed to the same attributes, for any event (M5)', () => {
    fc.assert(
      fc.property(arbEvent, (event) => {
        const json = eventToJson(encodeEvent(event), SERVER).replace(`,${SERVER_JSON}`, '');
        const again = accepted(json);
        expect({ ...again, extensions: [...again.extensions.keys()], data: undefined, dataKind: 0 }).toEqual({
          ...readEvent(encodeEvent(event), 0, encodeEvent(event).length),
          extensions: [...event.extensions.keys()].toSorted(),
          data: undefined,
          dataKind: 0,
        });
        const expected = withoutJsonSpace(event);
        expect(payloadOf(again)).toEqual(saysItsKind(event) ? payloadOf(expected) : payloadOf(again));
        expect(eventToJson(encodeEvent(again), SERVER)).toBe(eventToJson(encodeEvent(expected), SERVER));
      }),
      { numRuns: runs(500) },
    );
  });
});

/**
 * True when JSON alone determines the kind of the payload, which is not so when the kind contradicts the content type.
 */
function saysItsKind({ dataKind, dataContentType }: Event): boolean {
  const isJson = dataContentType === undefined || isJsonType(dataContentType);
  if (dataKind === DATA_KIND.TEXT) return !isJson;
  return dataKind !== DATA_KIND.JSON || isJson;
}

/** White space around a raw payload belongs to the object around it, not to the payload. */
function withoutJsonSpace(event: Event): Event {
  const { data, dataKind, dataContentType } = event;
  const saysJson = dataKind === DATA_KIND.UNSPECIFIED && (dataContentType === undefined || isJsonType(dataContentType));
  if (!(saysJson || dataKind === DATA_KIND.JSON) || !isWellFormedJson(data, 0, data.length)) return event;
  return { ...event, data: encodeUtf8((decodeUtf8(data) ?? '').replaceAll(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')) };
}

function payloadOf({ data }: Event): readonly number[] {
  return Array.from(data);
}
