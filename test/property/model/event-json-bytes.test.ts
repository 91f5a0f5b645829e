// Goal: the JSON that is written from stored bytes equals that of JSON.stringify, byte for byte (M11). Method: random
// events with payloads and texts that contain every escaped byte, alone and in a buffer that grows.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, encodeUtf8, formatInstant, instantFromMs } from '#base';
import { DATA_KIND, type Event, EventJsonBytes, encodeEvent, eventToJson, isJsonType, type ServerFields } from '#model';
import { type ExtensionValue } from '../../../src/model/event.ts';
import { anEvent, arbEvent, arbInstant } from '../../support/events.ts';
import { isPlatformJson, utf8TextOf } from '../../support/platform-json.ts';
import { runs } from '../../support/runs.ts';

/** Characters that are escaped, of one to four bytes, and similar ones. */
const CONTROLS = Array.from({ length: 0x20 }, (_, unit) => String.fromCharCode(unit));
const NEAR = [
  '"',
  '\\',
  '\\u0041',
  '</script>',
  'x'.repeat(200),
  ...Array.from('/aé\u007f\u0080\u07ff\u0800\uffff𐀀\u{10ffff}'),
];
const arbHostileText = fc
  .array(fc.constantFrom(...CONTROLS, ...NEAR, '\u2028', '\u2029', '\ufeff'), { maxLength: 30 })
  .map((parts) => parts.join(''));

const arbHostileJson = fc.constantFrom(
  '9007199254740993',
  '-0.0e+00001',
  '1E400',
  '123456789012345678901234567890.000',
  '{"b":1,"a":2,"b":3}',
  '"\\ud800"',
  '"\\u00e9\\/"',
  ' [1 , 2]\n',
  '{"a":{"b":[null,true,false,"ü𐀀\u2028"]}}',
  '[1,]',
  '01',
  'nul',
  '"\u0001"',
  '\ufeff1',
  `"${'x'.repeat(1000)}"`,
  '['.repeat(200) + ']'.repeat(200),
);

const arbPayload: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 12 }),
  fc.uint8Array({ minLength: 120, maxLength: 400 }),
  arbHostileText.map(encodeUtf8),
  arbHostileText.map((text) => encodeUtf8(JSON.stringify(text))),
  arbHostileJson.map(encodeUtf8),
  // UTF-8 that is truncated, overlong, or a surrogate.
  fc
    .constantFrom([0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x22, 0xff, 0x22])
    .map((bytes) => Uint8Array.from(bytes)),
);

const arbHostile: fc.Arbitrary<Event> = fc
  .record({
    event: arbEvent,
    data: arbPayload,
    contentType: fc.constantFrom(undefined, 'Text/Plain', 'application/JSON ;q="\\""', 'a/b+json', 'image/png'),
    text: arbHostileText,
    instant: arbInstant,
  })
  .map(({ event, data, contentType, text, instant }) => ({
    ...event,
    data,
    dataContentType: contentType,
    extensions: new Map([
      ...event.extensions,
      ['a0', { kind: 'string', value: text }],
      ['b', { kind: 'timestamp', value: instant }],
      ['c', { kind: 'bytes', value: data }],
      ['d', { kind: 'integer', value: -(2 ** 31) }],
      ['e', { kind: 'boolean', value: data.length % 2 === 0 }],
    ]),
  }));

const arbServer: fc.Arbitrary<ServerFields> = fc.record({
  revision: fc.oneof(fc.nat(), fc.constantFrom(9, 10, Number.MAX_SAFE_INTEGER)),
  index: fc.constantFrom(0, 9, 10, 999),
  recordedTimeMs: fc.oneof(fc.constantFrom(0, 1, 999, 1000), fc.nat(), fc.constant(253_402_300_799_999)),
  storedId: fc.option(fc.oneof(fc.constantFrom('e-1~7.2', 'é"\\\u0001'), fc.string({ unit: 'binary', minLength: 1 })), {
    nil: undefined,
  }),
});

/** The texts in a buffer; each follows its length. */
function texts(packed: Uint8Array): readonly string[] {
  const buffer = Buffer.from(packed);
  const found: string[] = [];
  for (let at = 0; at < buffer.length; ) {
    const length = buffer.readUInt32LE(at);
    found.push(utf8TextOf(buffer.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return found;
}

/** The JSON of an event, by the platform's writer. */
function wantedJson(event: Event, { revision, index, recordedTimeMs, storedId }: ServerFields): string {
  const { id, source, specVersion, type, subject, time, dataContentType, dataSchema, extensions } = event;
  const members: readonly (readonly [string, string | number | boolean | undefined])[] = [
    ['id', storedId ?? id],
    ['source', source],
    ['specversion', specVersion],
    ['type', type],
    ['subject', subject],
    ['time', time && (time.text ?? formatInstant(time.instant))],
    ['datacontenttype', dataContentType],
    ['dataschema', dataSchema],
    ...[...extensions]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => [name, wantedValue(value)] as const),
    ['revision', revision],
    ['index', index],
    ['recordedtime', formatInstant(instantFromMs(recordedTimeMs))],
  ];
  const present = members.filter(([, value]) => value !== undefined);
  const own = present.map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
  return `{${[...own, ...wantedPayload(event)].join(',')}}`;
}

function wantedValue(extension: ExtensionValue): string | number | boolean {
  if (extension.kind === 'bytes') return Buffer.from(extension.value).toString('base64');
  return extension.kind === 'timestamp' ? formatInstant(extension.value) : extension.value;
}

function wantedPayload({ data, dataKind, dataContentType: type }: Event): readonly string[] {
  const isOpen = dataKind === DATA_KIND.UNSPECIFIED;
  if (isOpen && data.length === 0) return [];
  const isJson = dataKind === DATA_KIND.JSON || (isOpen && (type === undefined || isJsonType(type)));
  if (isJson && isPlatformJson(data)) return [`"data":${utf8TextOf(data)}`];
  const isText = dataKind === DATA_KIND.TEXT || (isOpen && /^text\//i.test(type ?? ''));
  if (isText && Buffer.from(data).equals(Buffer.from(Buffer.from(data).toString()))) {
    return [`"data":${JSON.stringify(utf8TextOf(data))}`];
  }
  return [`"data_base64":"${Buffer.from(data).toString('base64')}"`];
}

function written(events: readonly (readonly [Uint8Array, ServerFields])[], startBytes: number): readonly string[] {
  const json = new EventJsonBytes(startBytes);
  for (const [bytes, server] of events) {
    // Inside other bytes, as in a page.
    const page = concatBytes([Uint8Array.of(0xff, 0x0a), bytes, Uint8Array.of(0x58, 0xff)]);
    json.append(page, 2, 2 + bytes.length, server);
  }
  const { length } = json;
  const taken = json.take();
  expect([taken.length, json.length]).toEqual([length, 0]);
  return texts(taken);
}

describe('events written in bytes', () => {
  it('equal the result of JSON.stringify, alone and together (M11)', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.oneof(arbHostile, arbEvent), arbServer), { minLength: 1, maxLength: 6 }),
        fc.constantFrom(1, 1000, 100_000),
        (drawn, startBytes) => {
          const events = drawn.map(([event, server]) => [encodeEvent(event), server] as const);
          const wanted = drawn.map(([event, server]) => wantedJson(event, server));
          expect(written(events, startBytes)).toEqual(wanted);
          expect(events.map(([bytes, server]) => eventToJson(bytes, server))).toEqual(wanted);
        },
      ),
      { numRuns: runs(2000) },
    );
  });

  it('are refused when the bytes are not a stored event', () => {
    const bytes = encodeEvent(anEvent({ subject: 'é' }));
    const server = { revision: 1, index: 0, recordedTimeMs: 0 };
    const append = (broken: Uint8Array) => () => new EventJsonBytes(10).append(broken, 0, broken.length, server);
    expect(append(bytes.subarray(0, -1))).toThrow('canonical wire form');
    expect(append(concatBytes([bytes, Uint8Array.of(0x6a, 0)]))).toThrow('known fields only');
    expect(append(bytes.map((byte) => (byte === 0xa9 ? 0x41 : byte)))).toThrow('is UTF-8');
  });
});
