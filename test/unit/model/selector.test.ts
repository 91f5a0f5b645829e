// Goal: every wire form of a selector is decoded, limits are checked, and faults have the path of their field. Method:
// tables of wire bytes in hexadecimal, and of selectors with their disjunctive form.
import { describe, expect, it } from 'vitest';
import { ByteWriter, beginMessage, writeTextField } from '#base';
import { ALL, and, decodeSelection, Faults, NO_SUBJECT, normalise, or, type Selector, term } from '#model';
import { decodeSelector } from '../../../src/model/selector-wire.ts';
import { hex, outcome } from '../../support/model-reading.ts';

function read(bytes: Uint8Array): Selector | readonly string[] | undefined {
  return outcome((faults) => decodeSelector(bytes, 'selector', faults));
}

/** An And or Or (field 18 or 19) of the given messages. */
function compound(field: number, parts: readonly Uint8Array[]): Uint8Array {
  const writer = new ByteWriter();
  const list = beginMessage(writer, field);
  for (const part of parts) {
    const mark = beginMessage(writer, 1);
    writer.bytes(part);
    writer.endLength(mark);
  }
  writer.endLength(list);
  return writer.take();
}

const type = term('by-type', 't');
const stream = term('by-stream', 's');
const subject = term('by-subject', 'u');

it.each<[string, string, Selector]>([
  ['nothing', '', ALL],
  ['a flat stream', '0a0173', stream],
  ['all four flat attributes', '0a0173 120174 1a0175 220176', and([stream, type, subject, term('by-source', 'v')])],
  ['a flat attribute twice, the last of which wins', '0a0178 0a0173', stream],
  ['by_type', '520174', type],
  ['by_type_prefix', '5a0174', term('by-type-prefix', 't')],
  ['an empty by_type_prefix', '5a00', ALL],
  ['by_stream', '620173', stream],
  ['by_stream_prefix', '6a0173', term('by-stream-prefix', 's')],
  ['by_subject', '720175', subject],
  ['by_subject_prefix', '7a0175', term('by-subject-prefix', 'u')],
  ['an empty by_subject_prefix', '7a00', term('by-subject-prefix', '')],
  ['by_source', '82010176', term('by-source', 'v')],
  ['no_subject', '8a0100', NO_SUBJECT],
  ['and', '92010a 0a03520174 0a03620173', and([type, stream])],
  ['or', '9a010a 0a03520174 0a03620173', or([type, stream])],
  ['an or in two parts', '9a0105 0a03520174 9a0105 0a03620173', or([type, stream])],
  ['two kinds, the last of which wins', '9a0105 0a03520174 620173', stream],
  ['an and of a flat pair and an empty one', '92010a 0a060a0173120174 0a00', and([type, stream])],
])('a selector on the wire may be %s', (_what, bytes, expected) => {
  expect(read(hex(bytes))).toEqual(expected);
});

it.each<[string, string, string]>([
  ['flat and nested at once', '0a0173 520174', 'selector must have either flat attributes or one nested kind'],
  ['an empty stream', '0a00', 'selector.stream must not be empty'],
  ['a kind that is not known', 'a2010178', 'selector.20 must be absent: cairn.v1.EventSelector has no field 20'],
  ['a known field of another type', '0801', 'selector.1 must be absent: cairn.v1.EventSelector has no field 1 of'],
  ['an unknown field in a list', '9a0109 0a03520174 a2010178', 'selector.or.20 must be absent: cairn.v1.EventSelec'],
  ['an unknown kind in a list', '9a0106 0a04a2010178', 'selector.or.selectors[0].20 must be absent'],
  ['an empty by_subject', '7200', 'selector.by_subject must not be empty'],
  ['a blank type', '520120', 'selector.by_type must not be blank'],
  ['a control character in a prefix', '5a0109', 'selector.by_type_prefix must not contain control characters'],
  ['an empty source', '2200', 'selector.source must not be empty'],
  ['a type that is no UTF-8', '5201ff', 'selector.by_type must be well-formed UTF-8'],
  ['an empty and', '920100', 'selector.and must have at least one selector'],
  ['an empty or', '9a0100', 'selector.or must have at least one selector'],
  ['half a message inside', '9a0108 0a03520174 0a0112', 'selector.or.selectors[1] must be a protobuf message'],
  ['half a message', '5205', 'selector must be a protobuf message'],
])('a selector on the wire is rejected for %s', (_what, bytes, expected) => {
  expect(JSON.stringify(read(hex(bytes)))).toContain(expected);
});

it('a selector on the wire names the path of every fault inside it', () => {
  const inner = compound(19, [hex('5200'), hex('0a0178'), hex('0a00')]);
  expect(read(compound(18, [hex('520174'), inner]))).toEqual([
    'selector.and.selectors[1].or.selectors[0].by_type must not be empty',
    'selector.and.selectors[1].or.selectors[2].stream must not be empty',
  ]);
});

describe('the limits of a selector', () => {
  const leaf = hex('520174');
  const nested = (depth: number): Uint8Array => (depth === 1 ? leaf : compound(18, [nested(depth - 1)]));
  const text = (field: number, value: string): Uint8Array => {
    const writer = new ByteWriter();
    writeTextField(writer, field, value);
    return writer.take();
  };
  const alternatives = (count: number, name: string): Uint8Array =>
    compound(
      19,
      Array.from({ length: count }, (_, i) => text(10, `${name}${i}`)),
    );

  it('are a depth of 16', () => {
    expect(read(nested(16))).toEqual(type);
    expect(read(nested(17))).toEqual(['selector must nest at most 16 deep']);
  });

  it('are 256 selectors, itself included', () => {
    expect(read(alternatives(255, 'a'))).toHaveProperty('kind', 'or');
    expect(read(alternatives(256, 'a'))).toEqual(['selector must consist of at most 256 selectors']);
  });

  it('are 256 conjunctions', () => {
    expect(read(compound(18, [alternatives(16, 'a'), alternatives(16, 'b')]))).toHaveProperty('kind', 'and');
    expect(read(compound(18, [alternatives(16, 'a'), alternatives(17, 'b')]))).toEqual([
      'selector must come to at most 256 alternatives when And is spread over Or',
    ]);
  });

  it('are 255 bytes of a name and 2048 of a source', () => {
    const long = (field: number, length: number): Uint8Array => text(field, 'x'.repeat(length));
    expect(read(long(1, 255))).toHaveProperty('kind', 'by-stream');
    expect(read(long(1, 256))).toEqual(['selector.stream must be at most 255 bytes of UTF-8']);
    expect(read(long(4, 2048))).toHaveProperty('kind', 'by-source');
    expect(read(long(4, 2049))).toEqual(['selector.source must be at most 2048 bytes of UTF-8']);
  });
});

it('a conjunction of two different sources matches no event', () => {
  expect(normalise(and([term('by-source', 'a'), term('by-source', '/x/a')]))).toEqual([]);
});

it.each<[string, Selector]>([
  ['', ALL],
  ['0a03520174 0a030a0173', or([type, stream])],
  ['0a03520174 0a00', ALL],
])('an event selection of %j selects what any of its selectors matches, or every event', (bytes, selector) => {
  expect(decodeSelection(hex(bytes), 'event_selection', new Faults())).toEqual(selector);
});

it('an event selection names the invalid selector', () => {
  const faults = new Faults();
  expect(decodeSelection(hex('0a03520174 0a020a00'), 'event_selection', faults)).toBeUndefined();
  expect(faults.violations.map(({ field }) => field)).toEqual(['event_selection.selectors[1].stream']);
});
