// Goal: one function checks all rules about events and reports all faults at once (M1, M2, M3), and canonical bytes
// have one spelling (M4). Method: tables of one fault each; raw wire bytes for events that no builder can make.
import { describe, expect, it } from 'vitest';
import { concatBytes, decodeUtf8, type FieldViolation } from '#base';
import { acceptEvent, type Event, type EventShape, encodeEvent, eventFacts, Faults, walkEvent } from '#model';
import { type ExtensionValue } from '../../../src/model/event.ts';
import { anEvent, eventBytes } from '../../support/events.ts';
import { hex } from '../../support/model-reading.ts';

function faultsOf(bytes: Uint8Array, shape?: EventShape): readonly FieldViolation[] {
  const faults = new Faults();
  acceptEvent(bytes, 0, bytes.length, { faults, list: 'events', index: 3, ...(shape && { shape }) });
  return faults.violations;
}

function faultsOfEvent(attributes: Partial<Event>): readonly string[] {
  return faultsOf(encodeEvent(anEvent(attributes))).map(({ field, description }) => `${field} ${description}`);
}

describe('names in an event (M2)', () => {
  it.each(['a'.repeat(255), '€'.repeat(85), ' a b ', '📦', 'a/b~1.2'])('may be %j', (name) => {
    expect(faultsOfEvent({ id: name, type: name, subject: name })).toEqual([]);
  });

  it.each([
    ['blank', '   ', 'must not be blank'],
    ['blank beyond ASCII', '\u2003\u00a0\u3000', 'must not be blank'],
    ['256 bytes', 'a'.repeat(256), 'must be at most 255 bytes of UTF-8'],
    ['86 characters of 3 bytes', '€'.repeat(86), 'must be at most 255 bytes of UTF-8'],
    ['a null', 'a\u0000', 'must not contain control characters'],
    ['a line break', 'a\nb', 'must not contain control characters'],
    ['a delete', 'a\u007f', 'must not contain control characters'],
    ['a control of the second block', 'é\u0085', 'must not contain control characters'],
  ])('must not be %s', (_what, name, rule) => {
    const faults = ['id', 'type', 'subject'].map((attribute) => `events[3].${attribute} ${rule}`);
    expect(faultsOfEvent({ id: name, type: name, subject: name })).toEqual(faults);
  });

  it('are required, except for the subject', () => {
    const faults = faultsOfEvent({ id: '', type: '', source: '', specVersion: '' });
    const expected = ['id', 'specversion', 'type', 'source'].map((attribute) => `events[3].${attribute}`);
    expect(faults.map((text) => text.split(' ')[0])).toEqual(expected);
    expect(faultsOfEvent({ subject: '' })).toEqual(['events[3].subject must not be empty']);
  });

  it('must be UTF-8, and are shown in hexadecimal otherwise', () => {
    const bytes = concatBytes([hex('0a02c328 1203312e30 1a0174 220173')]);
    expect(faultsOf(bytes)).toEqual([
      { field: 'events[3].id', description: 'must be well-formed UTF-8', value: '0xc328', found: '0xc328' },
    ]);
  });
});

describe('the stream of a source (M3)', () => {
  it.each([
    ['orders', 'orders'],
    ['/db/shop/streams/orders', 'orders'],
    ['https://x.example/streams/orders', 'orders'],
    ['https://x.example/streams/orders/', 'orders'],
    ['orders/?q=a/b#c/d', 'orders'],
    ['orders#a/b', 'orders'],
    ['https://[2001:db8::1]:80/orders', 'orders'],
    ['a%20b/c%2Fd', 'c%2Fd'],
    ['urn:shop/orders', 'orders'],
    ['https://x.example', 'x.example'],
    ['https://me:word@X.example:80/?a=/b', 'X.example'],
    ['//x.example/', 'x.example'],
    ['https://[2001:db8::1]:80', '[2001:db8::1]'],
    ['urn:shop:orders', 'urn:shop:orders'],
    ['mailto:orders', 'mailto:orders'],
    ['https://:80/', 'https://:80/'],
    ['urn:', 'urn:'],
    ['#a/b', '#a/b'],
    ['?query', '?query'],
    ['/', '/'],
    ['///', '///'],
  ])('of %s is %s', (source, stream) => {
    const bytes = eventBytes({ source });
    const facts = eventFacts(bytes, 0, bytes.length);
    expect(decodeUtf8(bytes, facts.streamStart, facts.streamEnd)).toBe(stream);
    expect(decodeUtf8(bytes, facts.sourceStart, facts.sourceEnd)).toBe(source);
  });

  it('is not looked for in stored bytes that lack an attribute, or have a length that leads back', () => {
    const bytes = eventBytes({ source: 'orders' });
    const { idEnd, typeEnd, sourceEnd } = eventFacts(bytes, 0, bytes.length);
    const loop = Uint8Array.of(0x0a, 0xfa, 0xff, 0xff, 0xff, 0x0f);
    const rests = [bytes.subarray(idEnd), bytes.subarray(0, typeEnd), bytes.subarray(typeEnd, sourceEnd), loop];
    for (const rest of rests) expect(() => eventFacts(rest, 0, rest.length)).toThrow('canonical wire form');
  });

  const NO_URI = 'must be a URI-reference (RFC 3986)';
  it.each([
    ['my orders', NO_URI],
    ['commandes-é', NO_URI],
    ['a%zz', NO_URI],
    ['1orders:a', NO_URI],
    [':orders', NO_URI],
    ['a[1]', NO_URI],
    ['https://[::1/orders', NO_URI],
    ['"orders"', NO_URI],
    ['a\\b', NO_URI],
    [`orders/${'a'.repeat(256)}`, 'must name a stream of at most 255 bytes'],
    [`${'a/'.repeat(1024)}b`, 'must be at most 2048 bytes'],
  ])('rejects the source %s', (source, rule) => {
    expect(faultsOfEvent({ source })).toEqual([`events[3].source ${rule}`]);
  });
});

function at(seconds: number, nanos: number, text?: string): Partial<Event> {
  return { time: { instant: { seconds, nanos }, text } };
}

it.each<[string, Partial<Event>, string]>([
  ['specversion 0.9', { specVersion: '0.9' }, 'specversion must be "1.0"'],
  ['an empty content type', { dataContentType: '' }, 'datacontenttype must be a media type'],
  ['a content type without slash', { dataContentType: 'xyz' }, 'datacontenttype must be a media type'],
  ['a content type with half a parameter', { dataContentType: 'a/b; c' }, 'datacontenttype must be a media type'],
  ['a content type with an open quote', { dataContentType: 'a/b; c="d' }, 'datacontenttype must be a media type'],
  ['a content type beyond ASCII', { dataContentType: 'a/b; c="é"' }, 'datacontenttype must be a media type'],
  ['a content type with a tab', { dataContentType: 'a/b;\tc=d' }, 'datacontenttype must be a media type'],
  ['a long content type', { dataContentType: `a/${'b'.repeat(254)}` }, 'datacontenttype must be a media type'],
  ['an empty dataschema', { dataSchema: '' }, 'dataschema must be a URI with a scheme'],
  ['a relative dataschema', { dataSchema: '/schema' }, 'dataschema must be a URI with a scheme'],
  ['a dataschema of a scheme alone', { dataSchema: 'https:' }, 'dataschema must be a URI with a scheme'],
  ['data_kind 5', { dataKind: 5 }, 'data_kind must be one of 0 to 4'],
  ['data_kind -1', { dataKind: -1 }, 'data_kind must be one of 0 to 4'],
  ['a time before year 1', at(-62_135_596_801, 0), 'time must lie in the years'],
  ['a time after 9999', at(253_402_300_800, 0), 'time must lie in the years'],
  ['negative nanoseconds', at(0, -1), 'time must lie in the years'],
  ['10^9 nanoseconds', at(0, 1e9), 'time must lie in the years'],
  ['a spelling that is none', at(0, 0, 'noon'), 'time_text must be a time'],
  ['a spelling of another instant', at(0, 0, '1970-01-01T00:00:01.0Z'), 'time_text must name the instant of time'],
])('the other attributes reject %s', (_what, attributes, expected) => {
  const faults = faultsOfEvent(attributes);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(`events[3].${expected}`);
});

it.each(['application/json', 'text/plain;charset=utf-8', 'a/b ; c="d\\"e" ;', 'application/vnd.x+json'])(
  'the other attributes accept the content type %s',
  (dataContentType) => {
    expect(faultsOfEvent({ dataContentType })).toEqual([]);
  },
);

describe('extension attributes', () => {
  const named = (name: string): Partial<Event> => ({ extensions: new Map([[name, { kind: 'boolean', value: true }]]) });

  it.each([
    ['MyExtension', 'a name of lowercase letters and digits'],
    ['my.extension', 'a name of lowercase letters and digits'],
    ['', 'a name of lowercase letters and digits'],
    ['é', 'a name of lowercase letters and digits'],
    ['subject', 'the name of a core attribute'],
    ['data', 'the name of a core attribute'],
    ['specversion', 'the name of a core attribute'],
    ['revision', 'a name that the server sets'],
    ['index', 'a name that the server sets'],
    ['recordedtime', 'a name that the server sets'],
    ['a'.repeat(65), 'a name of at most 64 bytes'],
  ])('must not be named %j', (name, rule) => {
    const faults = faultsOfEvent(named(name));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(rule);
    expect(faults[0]).toMatch(/^events\[3\][.[]/);
  });

  it.each([
    ['Foo', 'events[3].Foo', 'events[3].extensions["Foo"]'],
    ['a.b', 'events[3]["a.b"]', 'events[3].extensions["a.b"]'],
    ['', 'events[3][""]', 'events[3].extensions[""]'],
  ])('named %j are reported with their path in the request, in JSON and in a message', (name, inJson, inMessage) => {
    const bytes = encodeEvent(anEvent(named(name)));
    expect(faultsOf(bytes)).toMatchObject([{ field: inJson }]);
    expect(faultsOf(bytes, 'cairn.v1.Event')).toMatchObject([{ field: inMessage }]);
  });

  it.each<[ExtensionValue, string]>([
    [{ kind: 'string', value: 'a\tb' }, 'must not contain control characters'],
    [{ kind: 'uri', value: 'relative' }, 'must be a URI with a scheme'],
    [{ kind: 'uri', value: '' }, 'must be a URI with a scheme'],
    [{ kind: 'uri-ref', value: 'a b' }, 'must be a URI-reference'],
    [{ kind: 'timestamp', value: { seconds: 1e12, nanos: 0 } }, 'must lie in the years 0001 to 9999'],
  ])('reject %o', (value, rule) => {
    const faults = faultsOfEvent({ extensions: new Map([['x', value]]) });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(`events[3].x ${rule}`);
  });

  it('must have a name of UTF-8', () => {
    // The byte 0x80 alone is not a character. Shown in hexadecimal, it must not be taken for one.
    const bytes = hex('0a0131 1203312e30 1a0174 220173 4207 0a0180 1202 0801');
    expect(faultsOf(bytes, 'cairn.v1.Event').map(({ field, description }) => `${field} ${description}`)).toEqual([
      'events[3].extensions["0x80"] must have a name of well-formed UTF-8',
    ]);
  });

  it('must have a value', () => {
    const withoutValue = hex('0a0131 1203312e30 1a0174 220173 4205 0a0178 1200');
    expect(faultsOf(withoutValue)).toEqual([{ field: 'events[3].x', description: 'must have a value' }]);
    const noValueAtAll = hex('0a0131 1203312e30 1a0174 220173 4203 0a0178');
    expect(faultsOf(noValueAtAll)).toEqual([{ field: 'events[3].x', description: 'must have a value' }]);
  });

  it('must be at most 128', () => {
    const many = (count: number): Event['extensions'] =>
      new Map(Array.from({ length: count }, (_, i) => [`x${i}`, { kind: 'integer', value: i }] as const));
    expect(faultsOfEvent({ extensions: many(128) })).toEqual([]);
    expect(faultsOfEvent({ extensions: many(129) })).toEqual(['events[3] must have at most 128 extension attributes']);
  });
});

it('all faults of one event are reported together, each with its path and value', () => {
  const event = anEvent({ id: '', type: ' ', source: 'a b', subject: '', dataContentType: 'xyz', dataSchema: 'b' });
  expect(faultsOf(encodeEvent(event)).map(({ field, value }) => [field, value])).toEqual([
    ['events[3].id', undefined],
    ['events[3].type', ' '],
    ['events[3].source', 'a b'],
    ['events[3].subject', ''],
    ['events[3].datacontenttype', 'xyz'],
    ['events[3].dataschema', 'b'],
  ]);
});

it.each([
  ['a field that ends in the middle', '0a05'],
  ['a tag of field 0', '0201'],
  ['an open group', '9b01'],
  ['a timestamp that is none', '3202ff'],
  ['an extension entry that is none', '4202ffff'],
  ['an extension value that is none', '4207 0a0178 120108'],
])('an event reports invalid bytes of a message: %s', (_what, tail) => {
  const faults = faultsOf(concatBytes([hex('0a0131 1203312e30 1a0174 220173'), hex(tail)]));
  expect(faults.map(({ field, description }) => `${field} ${description}`)).toContain(
    'events[3] must be a protobuf message of cairn.v1.Event',
  );
});

describe('canonical bytes (M4)', () => {
  const B_HI = '4209 0a0162 1204 1a026869';
  const id = '0a0131';
  const rest = '1203312e30 1a0174 220173';
  const canonical = hex(`${id} ${rest}`);

  it.each([
    ['another order', `${rest} ${id}`],
    ['a repeated field, the last of which wins', `0a0139 ${id} ${rest}`],
    ['an overlong length', `0a8100 31 ${rest}`],
    ['an overlong tag', `8a000131 ${rest}`],
    ['an empty payload that is written', `${id} ${rest} 3a00`],
    ['data_kind 0 that is written', `${id} ${rest} 5800`],
  ])('are written for %s', (_what, other) => {
    const bytes = hex(other);
    const place = { faults: new Faults(), list: 'events', index: 0 };
    expect(walkEvent(bytes, 0, bytes.length, place)).toBe('not-canonical');
    expect(place.faults.none).toBe(true);
    expect(acceptEvent(bytes, 0, bytes.length, place)).toEqual(canonical);
  });

  it('do not accept fields that only the server sets', () => {
    const faults = faultsOf(hex(`${id} ${rest} 6807 7001 7a00`));
    const description = 'must be absent: the server sets it';
    const fields = ['revision', 'index', 'recordedtime'].map((name) => `events[3].${name}`);
    expect(faults).toMatchObject(fields.map((field) => ({ field, description })));
  });

  it.each([
    ['an unknown field', 'f80101', 31, 0],
    ['a known field of another wire type', '3801', 7, 0],
    ['an empty group of unknown number', 'a301a401', 20, 3],
  ])('do not accept %s, of which nothing could be stored', (_what, sent, number, type) => {
    const description = `must be absent: cairn.v1.Event has no field ${number} of wire type ${type}`;
    const faults = faultsOf(hex(`${id} ${rest} ${sent}`), 'cairn.v1.Event');
    expect(faults).toMatchObject([{ field: `events[3].${number}`, description }]);
  });

  it.each([
    ['a second of 0 that is written', '32020800', '3200'],
    ['nanoseconds before seconds', '320410050801', '320408011005'],
    ['nanoseconds of more than 32 bits', '3207 10858080808001', '32021005'],
    ['a time in two parts', '32020801 32021005', '320408011005'],
    ['a spelling that is the canonical one', '3200 6214 313937302d30312d30315430303a30303a30305a', '3200'],
    ['unsorted extensions', `${B_HI} 4207 0a0161 1202 0801`, `4207 0a0161 1202 0801 ${B_HI}`],
    ['an extension given twice', '4207 0a0161 1202 0800 4207 0a0161 1202 0801', '4207 0a0161 1202 0801'],
    ['a value before its name', '4207 1202 0801 0a0161', '4207 0a0161 1202 0801'],
    ['a value of two alternatives', '4209 0a0161 1204 1001 0801', '4207 0a0161 1202 0801'],
    ['true as 2', '4207 0a0161 1202 0802', '4207 0a0161 1202 0801'],
    ['an integer of more than 32 bits', '420b 0a0161 1206 108780808010', '4207 0a0161 1202 1007'],
  ])('have one spelling for %s', (_what, given, wanted) => {
    const bytes = concatBytes([canonical, hex(given)]);
    const place = { faults: new Faults(), list: 'events', index: 0 };
    expect(acceptEvent(bytes, 0, bytes.length, place)).toEqual(concatBytes([canonical, hex(wanted)]));
  });
});
