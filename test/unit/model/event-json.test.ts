// Goal: the CloudEvents JSON format is read into canonical bytes and written from them, payloads untouched (M1, M5).
// Method: the conformance cases by name; tables of payloads and kinds; random events there and back.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeUtf8, encodeUtf8, NO_BYTES } from '#base';
import {
  acceptJsonEvent,
  DATA_KIND,
  type Event,
  encodeEvent,
  eventFromJson,
  eventToJson,
  Faults,
  isJsonType,
  parseJson,
  RAW_DATA,
  readEvent,
} from '#model';
import { INVALID_CASES, VALID_CASES } from '../../support/cloudevents.ts';
import { anEvent, arbEvent, eventBytes } from '../../support/events.ts';
import { runs } from '../../support/runs.ts';

const SERVER = { revision: 7, index: 2, recordedTimeMs: 1_700_000_000_123 };
const SERVER_JSON = '"revision":7,"index":2,"recordedtime":"2023-11-14T22:13:20.123Z"';

function accept(json: string): { readonly bytes: Uint8Array | undefined; readonly faults: readonly string[] } {
  const node = parseJson(encodeUtf8(json), { raw: RAW_DATA });
  if (node.kind === 'fault') throw new Error(node.message);
  const faults = new Faults();
  const bytes = acceptJsonEvent(node, { faults, list: 'events', index: 0 });
  return { bytes, faults: faults.violations.map(({ field, description }) => `${field} ${description}`) };
}

function accepted(json: string): Event {
  const { bytes, faults } = accept(json);
  expect(faults).toEqual([]);
  return readEvent(bytes ?? NO_BYTES, 0, bytes?.length ?? 0);
}

const CORE = '"id":"e-1","source":"orders","specversion":"1.0","type":"order.placed"';
/** Through JSON into bytes and out again, without what the server adds. */
function throughBytes(members: string): string {
  const { bytes, faults } = accept(`{${CORE},${members}}`);
  expect(faults).toEqual([]);
  const json = eventToJson(bytes ?? NO_BYTES, SERVER).replace(`,${SERVER_JSON}`, '');
  return json.slice(`{${CORE},`.length, -1);
}

describe('CloudEvents conformance', () => {
  it.each(VALID_CASES.map(({ name, ...rest }) => [name, rest] as const))('takes %s', (_name, { json, event }) => {
    expect(encodeEvent(accepted(json))).toEqual(encodeEvent(event));
    const again = eventToJson(encodeEvent(event), SERVER).replace(`,${SERVER_JSON}`, '');
    expect(encodeEvent(accepted(again))).toEqual(encodeEvent(event));
  });

  it.each(INVALID_CASES)('refuses %s', (_name, json, faulty) => {
    const { bytes, faults } = accept(json);
    expect(bytes).toBeUndefined();
    const paths = faults.map((fault) => fault.slice('events[0]'.length, fault.indexOf(' ')));
    expect(paths.map((path) => path.replace(/^\./, ''))).toEqual(faulty);
  });

  it('covers 10 valid and 25 invalid cases', () => {
    expect([VALID_CASES.length, INVALID_CASES.length]).toEqual([10, 25]);
  });
});

describe('an event from JSON', () => {
  it.each<[string, string, Partial<Event>]>([
    ['JSON without a content type', '"data":{"a": 1}', { data: encodeUtf8('{"a": 1}'), dataKind: DATA_KIND.JSON }],
    ['a JSON string without a content type', '"data":"a"', { data: encodeUtf8('"a"'), dataKind: DATA_KIND.JSON }],
    [
      'a JSON string of a JSON type',
      '"datacontenttype":"application/x+json","data":"a"',
      { dataContentType: 'application/x+json', data: encodeUtf8('"a"'), dataKind: DATA_KIND.JSON },
    ],
    [
      'a string of another type, which is text',
      '"datacontenttype":"application/xml","data":"<a>\\u00e9</a>"',
      { dataContentType: 'application/xml', data: encodeUtf8('<a>é</a>'), dataKind: DATA_KIND.TEXT },
    ],
    [
      'an empty string of another type',
      '"datacontenttype":"text/plain","data":""',
      { dataContentType: 'text/plain', dataKind: DATA_KIND.TEXT },
    ],
    [
      'an object of another type',
      '"datacontenttype":"text/plain","data":{"a":1}',
      { dataContentType: 'text/plain', data: encodeUtf8('{"a":1}'), dataKind: DATA_KIND.JSON },
    ],
    ['null, which is a payload', '"data":null', { data: encodeUtf8('null'), dataKind: DATA_KIND.JSON }],
    ['base64', '"data_base64":"TWE="', { data: encodeUtf8('Ma'), dataKind: DATA_KIND.BINARY }],
    ['empty base64', '"data_base64":""', { dataKind: DATA_KIND.BINARY }],
    ['a null for base64', '"data":1,"data_base64":null', { data: encodeUtf8('1'), dataKind: DATA_KIND.JSON }],
    [
      'an integer of 32 bits',
      '"x":-2147483648',
      { extensions: new Map([['x', { kind: 'integer', value: -2147483648 }]]) },
    ],
    ['minus zero', '"x":-0', { extensions: new Map([['x', { kind: 'integer', value: 0 }]]) }],
    ['an extension that is null', '"x":null', {}],
  ])('may carry %s', (_what, members, attributes) => {
    expect(encodeEvent(accepted(`{${CORE},${members}}`))).toEqual(eventBytes(attributes));
  });

  it.each([
    ['no object', '[]', 'events[0] must be an object'],
    [
      'an extension of an object',
      `{${CORE},"x":{}}`,
      'events[0].x must be a string, true, false, or an integer of 32 bits',
    ],
    [
      'an extension of an array',
      `{${CORE},"x":[]}`,
      'events[0].x must be a string, true, false, or an integer of 32 bits',
    ],
    [
      'an integer beyond 32 bits',
      `{${CORE},"x":2147483648}`,
      'events[0].x must be a string, true, false, or an integer',
    ],
    ['an integer with an exponent', `{${CORE},"x":1e3}`, 'events[0].x must be a string, true, false, or an integer'],
    ['base64 without padding', `{${CORE},"data_base64":"TWE"}`, 'events[0].data_base64 must be base64 with padding'],
    ['base64 that is no string', `{${CORE},"data_base64":1}`, 'events[0].data_base64 must be a string'],
    [
      'text with half a character',
      `{${CORE},"datacontenttype":"text/plain","data":"\\ud800"}`,
      'events[0].data must not contain an unpaired surrogate',
    ],
    [
      'a name with half a character',
      '{"id":"\\udc00","source":"a","specversion":"1.0","type":"t"}',
      'events[0].id must not contain an unpaired surrogate',
    ],
    [
      'an attribute of the server',
      `{${CORE},"revision":1}`,
      'events[0].revision must not have a name that the server sets',
    ],
    ['a special name', `{${CORE},"__proto__":"x"}`, 'events[0].__proto__ must be a name of lowercase letters'],
    ['a time that is a number', `{${CORE},"time":5}`, 'events[0].time must be a string'],
  ])('is refused for %s', (_what, json, expected) => {
    const { bytes, faults } = accept(json);
    expect(bytes).toBeUndefined();
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(expected);
  });

  it.each([
    ['id', 'must not be empty'],
    ['type', 'must not be empty'],
    ['specversion', 'must be "1.0"'],
    ['source', 'must be a URI-reference (RFC 3986)'],
  ])('is refused for an empty %s, which is not one that is missing', (name, description) => {
    const members: Record<string, string> = { id: 'a', source: 'a', specversion: '1.0', type: 't' };
    const faultsOf = (json: object): Faults => {
      const faults = new Faults();
      const node = parseJson(encodeUtf8(JSON.stringify(json)), { raw: RAW_DATA });
      if (node.kind !== 'fault') acceptJsonEvent(node, { faults, list: 'events', index: 0 });
      return faults;
    };
    const field = `events[0].${name}`;
    expect(faultsOf({ ...members, [name]: '' }).violations).toEqual([{ field, description, value: '', found: '""' }]);
    const missing = { field, description: expect.stringMatching(/^is required/) };
    expect(faultsOf({ ...members, [name]: undefined }).violations).toEqual([missing]);
    expect(faultsOf({ ...members, [name]: null }).violations).toEqual([missing]);
  });

  it('is refused with all its faults, those of JSON and those of the event', () => {
    const { faults } = accept(
      '{"id":1,"source":" ","specversion":"1.0","subject":"","time":"noon","x":[],"data":1,"data_base64":"TWE="}',
    );
    expect(faults.map((fault) => fault.slice(0, fault.indexOf(' '))).toSorted()).toEqual([
      'events[0].data_base64',
      'events[0].id',
      'events[0].source',
      'events[0].subject',
      'events[0].time',
      'events[0].type',
      'events[0].x',
    ]);
  });

  it('is given as a value too, or not at all', () => {
    const read = (json: string): Event | undefined => {
      const node = parseJson(encodeUtf8(json), { raw: RAW_DATA });
      return node.kind === 'fault'
        ? undefined
        : eventFromJson(node, { faults: new Faults(), list: 'events', index: 0 });
    };
    expect(read(`{${CORE},"subject":"s"}`)).toEqual(anEvent({ subject: 's' }));
    expect(read(`{${CORE},"subject":5}`)).toBeUndefined();
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
  ])('gives back %s as it was written (M5)', (members) => {
    expect(throughBytes(members)).toBe(members);
  });

  const JSON_TYPE = { dataContentType: 'application/json' };
  it.each<[string, Partial<Event>, string]>([
    ['no payload', {}, ''],
    ['bytes that are JSON, of no type', { data: encodeUtf8('{"a":1}') }, ',"data":{"a":1}'],
    ['bytes that are JSON, of a JSON type', { ...JSON_TYPE, data: encodeUtf8(' [1]\n') }, ',"data": [1]\n'],
    ['bytes that are no JSON, of a JSON type', { ...JSON_TYPE, data: encodeUtf8('{a') }, ',"data_base64":"e2E="'],
    ['bytes that are text, of no type', { data: encodeUtf8('abc') }, ',"data_base64":"YWJj"'],
    ['bytes of a text type', { dataContentType: 'text/csv', data: encodeUtf8('a,b') }, ',"data":"a,b"'],
    [
      'bytes of a text type that are no UTF-8',
      { dataContentType: 'text/csv', data: Uint8Array.of(0xff) },
      ',"data_base64":"/w=="',
    ],
    ['bytes of another type', { dataContentType: 'a/b', data: encodeUtf8('{}') }, ',"data_base64":"e30="'],
    [
      'what is said to be JSON and is',
      { dataContentType: 'a/b', dataKind: DATA_KIND.JSON, data: encodeUtf8('1') },
      ',"data":1',
    ],
    [
      'what is said to be JSON and is not',
      { dataKind: DATA_KIND.JSON, data: encodeUtf8('1,"x":2') },
      ',"data_base64":"MSwieCI6Mg=="',
    ],
    ['what is said to be JSON and is empty', { dataKind: DATA_KIND.JSON }, ',"data_base64":""'],
    ['what is said to be text', { ...JSON_TYPE, dataKind: DATA_KIND.TEXT, data: encodeUtf8('{}') }, ',"data":"{}"'],
    [
      'what is said to be text and is no UTF-8',
      { dataKind: DATA_KIND.TEXT, data: Uint8Array.of(0xc3) },
      ',"data_base64":"ww=="',
    ],
    [
      'what is said to be binary',
      { ...JSON_TYPE, dataKind: DATA_KIND.BINARY, data: encodeUtf8('{}') },
      ',"data_base64":"e30="',
    ],
    ['a message', { dataKind: DATA_KIND.PROTO, data: encodeUtf8('{}') }, ',"data_base64":"e30="'],
  ])('shows %s', (_what, attributes, expected) => {
    const json = eventToJson(eventBytes(attributes), SERVER);
    expect(json.slice(json.indexOf(SERVER_JSON) + SERVER_JSON.length, -1)).toBe(expected);
    expect(JSON.parse(json)).toMatchObject({ id: 'e-1' });
  });

  it('is JSON that is read back to the same attributes, for any event (M5)', () => {
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
 * Whether JSON alone tells how the payload is meant. It does not when the kind contradicts the content type: text shown
 * as a string under a JSON type, or without one, is read as a JSON string, and a JSON string under another type as
 * text.
 */
function saysItsKind({ dataKind, dataContentType }: Event): boolean {
  const isJson = dataContentType === undefined || isJsonType(dataContentType);
  if (dataKind === DATA_KIND.TEXT) return !isJson;
  return dataKind !== DATA_KIND.JSON || isJson;
}

/** White space around a raw payload is read as that of the object around it, which is nobody's payload. */
function withoutJsonSpace(event: Event): Event {
  const { data, dataKind, dataContentType } = event;
  const saysJson = dataKind === DATA_KIND.UNSPECIFIED && (dataContentType === undefined || isJsonType(dataContentType));
  const text = decodeUtf8(data, 0, data.length);
  if (!(saysJson || dataKind === DATA_KIND.JSON) || text === undefined || !parsesAsJson(text)) return event;
  return { ...event, data: encodeUtf8(text.replaceAll(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')) };
}

function parsesAsJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function payloadOf({ data }: Event): readonly number[] {
  return Array.from(data);
}
