// Goal: io.cloudevents.v1.CloudEvent is converted to canonical bytes with its types and payload (M1, M5). Method:
// CloudEvents written field by field; the protobuf conformance cases by name.
import { describe, expect, it } from 'vitest';
import {
  ByteWriter,
  beginMessage,
  encodeUtf8,
  NO_BYTES,
  writeBytesField,
  writeTextField,
  writeVarintField,
} from '#base';
import { acceptCloudEvent, DATA_KIND, type Event, Faults } from '#model';
import { decodeEvent } from '../../../src/model/event-decode.ts';
import { anEvent } from '../../support/events.ts';
import { hex, textsOf } from '../../support/model-reading.ts';

type Write = (writer: ByteWriter) => void;

/** Encodes a CloudEvent with the required attributes, except those in `without`, and further fields. */
function cloudEvent(write: Write, without: readonly string[] = []): Uint8Array {
  const writer = new ByteWriter();
  const required = ['e-1', 'orders', '1.0', 'order.placed'];
  for (const [i, value] of required.entries()) {
    if (!without.includes(value)) writeTextField(writer, i + 1, value);
  }
  write(writer);
  return writer.take();
}

/** Encodes one attribute, whose value has a field number of CloudEventAttributeValue. */
const attribute =
  (name: string, value: Write): Write =>
  (writer) => {
    const entry = beginMessage(writer, 5);
    writeTextField(writer, 1, name);
    const message = beginMessage(writer, 2);
    value(writer);
    writer.endLength(message);
    writer.endLength(entry);
  };

const all =
  (...writes: readonly Write[]): Write =>
  (writer) =>
    writes.forEach((write) => write(writer));
const text =
  (field: number, value: string): Write =>
  (writer) =>
    writeTextField(writer, field, value);
const ceString = (value: string): Write => text(3, value);
const ceUri = (value: string): Write => text(5, value);
const ceInt: Write = (writer) => writeVarintField(writer, 2, 5);
const ceTimestamp: Write = (writer) => writeBytesField(writer, 7, hex('0801'));
const contentType = (value: string): Write => attribute('datacontenttype', ceString(value));

function read(bytes: Uint8Array): { readonly event: Event | undefined; readonly faults: readonly string[] } {
  const faults = new Faults();
  const place = { faults, list: 'events', index: 0, shape: 'io.cloudevents.v1.CloudEvent' } as const;
  const accepted = acceptCloudEvent(bytes, 0, bytes.length, place);
  return {
    event: accepted && decodeEvent(accepted, 0, accepted.length, { faults: new Faults(), list: 'stored', index: 0 }),
    faults: textsOf(faults),
  };
}

const SECOND_1 = { seconds: 1, nanos: 0 };
const SPELLED = '1970-01-01T01:00:01+01:00';

describe('a CloudEvent', () => {
  it.each<[string, Write, Partial<Event>]>([
    ['nothing more', () => undefined, {}],
    ['a subject', attribute('subject', ceString('s')), { subject: 's' }],
    ['a time', attribute('time', ceTimestamp), { time: { instant: SECOND_1 } }],
    ['a time that is spelled', attribute('time', ceString(SPELLED)), { time: { instant: SECOND_1, text: SPELLED } }],
    ['a schema', attribute('dataschema', ceUri('https://x.example/s')), { dataSchema: 'https://x.example/s' }],
    ['a schema of type string', attribute('dataschema', ceString('x:y/s')), { dataSchema: 'x:y/s' }],
    [
      'extensions of all types',
      all(
        attribute('a', (writer) => writeVarintField(writer, 1, 0)),
        attribute('b', ceInt),
        attribute('c', ceString('x')),
        attribute('d', (writer) => writeBytesField(writer, 4, hex('ff00'))),
        attribute('e', ceUri('x:y')),
        attribute('f', text(6, '//x/y')),
        attribute('g', ceTimestamp),
      ),
      {
        extensions: new Map([
          ['a', { kind: 'boolean', value: false }],
          ['b', { kind: 'integer', value: 5 }],
          ['c', { kind: 'string', value: 'x' }],
          ['d', { kind: 'bytes', value: hex('ff00') }],
          ['e', { kind: 'uri', value: 'x:y' }],
          ['f', { kind: 'uri-ref', value: '//x/y' }],
          ['g', { kind: 'timestamp', value: SECOND_1 }],
        ]),
      },
    ],
    ['a subject twice', all(attribute('subject', ceInt), attribute('subject', ceString('s'))), { subject: 's' }],
  ])('may have %s', (_what, write, attributes) => {
    const { event, faults } = read(cloudEvent(write));
    expect(faults).toEqual([]);
    expect(event).toEqual(anEvent(attributes));
  });

  it.each<[string, Write, string, number]>([
    ['JSON text of no type', text(7, '{"a":1}'), '{"a":1}', DATA_KIND.JSON],
    ['JSON text of a JSON type', all(text(7, '1'), contentType('application/json')), '1', DATA_KIND.JSON],
    ['other text of no type', text(7, 'abc'), 'abc', DATA_KIND.TEXT],
    ['other text of a JSON type', all(text(7, '{'), contentType('application/json')), '{', DATA_KIND.TEXT],
    ['JSON text of another type', all(text(7, '1'), contentType('text/plain')), '1', DATA_KIND.TEXT],
    ['empty text', text(7, ''), '', DATA_KIND.TEXT],
    ['bytes of no type', text(6, '{}'), '{}', DATA_KIND.BINARY],
    ['bytes of a JSON type', all(text(6, '{}'), contentType('application/json')), '{}', DATA_KIND.UNSPECIFIED],
    ['bytes of a text type', all(text(6, 'a'), contentType('text/csv')), 'a', DATA_KIND.UNSPECIFIED],
    ['bytes of another type', all(text(6, 'a'), contentType('image/png')), 'a', DATA_KIND.BINARY],
    ['no bytes', all(text(6, ''), contentType('text/csv')), '', DATA_KIND.BINARY],
    ['a message', text(8, 'any'), 'any', DATA_KIND.PROTO],
    ['two payloads, the last of which wins', all(text(7, 'abc'), text(8, 'any')), 'any', DATA_KIND.PROTO],
  ])('carries %s', (_what, write, data, dataKind) => {
    const { event, faults } = read(cloudEvent(write));
    expect(faults).toEqual([]);
    expect([event?.data, event?.dataKind]).toEqual([encodeUtf8(data), dataKind]);
  });

  const at = (name: string, rule: string): string => `.attributes["${name}"] ${rule}`;
  it.each<[string, Write, string]>([
    // Cases of the conformance tests that the rules of every event do not include.
    ['invalidEmptyId', text(1, ''), '.id is required'],
    ['invalidEmptySource', text(2, ''), '.source is required'],
    ['invalidEmptySpecVersion', text(3, ''), '.spec_version is required'],
    ['invalidEmptyType', text(4, ''), '.type is required'],
    ['invalidUnknownSpecVersion', text(3, '0.9'), '.spec_version must be "1.0"'],
    ['invalidEmptyDataContentType', contentType(''), at('datacontenttype', 'must be a media type')],
    ['invalidDataContentTypeWrongType', attribute('datacontenttype', ceInt), at('datacontenttype', 'must be of type')],
    ['invalidEmptyDataSchema', attribute('dataschema', ceString('')), at('dataschema', 'must be a URI')],
    ['invalidDataSchemaWrongType', attribute('dataschema', ceInt), at('dataschema', 'must be of type uri or string')],
    ['invalidEmptySubject', attribute('subject', ceString('')), at('subject', 'must not be empty')],
    ['invalidSubjectWrongType', attribute('subject', ceInt), at('subject', 'must be of type string')],
    ['invalidTimeWrongType', attribute('time', ceInt), at('time', 'must be of type timestamp')],
    ['invalidPunctuatedExtension', attribute('My.X', ceString('x')), at('My.X', 'must be a name')],
    ['invalidExtensionNoValue', attribute('myextension', () => undefined), at('myextension', 'must have a value')],
    ['a time that is no time', attribute('time', ceString('noon')), at('time', 'must be a time of RFC 3339')],
    ['a core attribute among the others', attribute('id', ceString('x')), at('id', 'must not have the name of a core')],
    ['an attribute of the server', attribute('revision', ceString('1')), at('revision', 'must not have a name that')],
    ['text that is no UTF-8', (w) => writeBytesField(w, 7, hex('ff')), '.text_data must be well-formed UTF-8'],
    ['an id that is no UTF-8', (w) => writeBytesField(w, 1, hex('ff')), '.id must be well-formed UTF-8'],
    ['half a message', (w) => w.bytes(hex('0a05')), ' must be a protobuf message of io.cloudevents.v1.CloudEvent'],
    ['half an attribute', (w) => w.bytes(hex('2a020a05')), ' must be a protobuf message of io.cloudevents.v1'],
  ])('is rejected as %s', (_name, write, expected) => {
    const { event, faults } = read(cloudEvent(write));
    expect(event).toBeUndefined();
    expect(faults).toEqual([expect.stringContaining(`events[0]${expected}`)]);
  });

  it('is rejected with all its faults', () => {
    const wrong = all(
      attribute('subject', ceInt),
      attribute('time', ceString('noon')),
      attribute('X', ceString('x')),
      contentType('x'),
    );
    const { faults } = read(cloudEvent(wrong, ['e-1']));
    expect(faults.map((fault) => fault.slice('events[0].'.length, fault.indexOf(' '))).toSorted()).toEqual([
      'attributes["X"]',
      'attributes["datacontenttype"]',
      'attributes["subject"]',
      'attributes["time"]',
      'id',
    ]);
    expect(read(NO_BYTES).faults).toHaveLength(4);
  });
});
