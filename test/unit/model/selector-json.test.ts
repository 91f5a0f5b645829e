// Goal: every JSON form of a selector that the specification shows is parsed, equivalent forms are equal (M6), and a
// misspelling is a fault. Method: tables; random selectors formatted and parsed.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALL, and, Faults, NO_SUBJECT, or, type Selector, selectorFromJson, selectorToJson, term } from '#model';
import { selectionFromJson } from '../../../src/model/selector-json.ts';
import { nodeOf, outcome } from '../../support/model-reading.ts';
import { runs } from '../../support/runs.ts';
import { arbSelector } from '../../support/selectors.ts';

function read(json: string, from = selectorFromJson): Selector | readonly string[] | undefined {
  return outcome((faults) => from(nodeOf(json), 'selector', faults));
}

const stream = term('by-stream', 's');
const type = term('by-type', 't');
const subject = term('by-subject', 'u');
const source = term('by-source', 'v');

describe('a selector in JSON', () => {
  it.each<[string, Selector]>([
    ['{}', ALL],
    // The form of the revision-scoped family.
    ['{"equals":{"stream":"s"}}', stream],
    ['{"equals":{"eventType":"t"}}', type],
    ['{"equals":{"event_type":"t"}}', type],
    ['{"equals":{"source":"v"}}', term('by-source', 'v')],
    ['{"equals":{"subject":{"hasValue":true,"value":"u"}}}', subject],
    ['{"equals":{"subject":{"value":"u"}}}', NO_SUBJECT],
    ['{"equals":{"subject":{"hasValue":false,"value":"u"}}}', NO_SUBJECT],
    ['{"equals":{"subject":{}}}', NO_SUBJECT],
    ['{"equals":{"subject":{"hasValue":true,"value":"fault"}}}', term('by-subject', 'fault')],
    ['{"startsWith":{"eventType":"t."}}', term('by-type-prefix', 't.')],
    ['{"starts_with":{"stream":"s"}}', term('by-stream-prefix', 's')],
    ['{"startsWith":{"subject":"u"}}', term('by-subject-prefix', 'u')],
    ['{"startsWith":{"subject":{"hasValue":true,"value":"u"}}}', term('by-subject-prefix', 'u')],
    ['{"startsWith":{"subject":""}}', term('by-subject-prefix', '')],
    ['{"and":[{"equals":{"stream":"s"}},{"equals":{"eventType":"t"}}]}', and([stream, type])],
    ['{"or":{"selectors":[{"equals":{"stream":"s"}},{"stream":"x"}]}}', or([stream, term('by-stream', 'x')])],
    ['{"or":{"left":{"equals":{"stream":"s"}},"right":{"equals":{"eventType":"t"}}}}', or([stream, type])],
    ['{"and":[{"or":[{"stream":"s"},{"event_type":"t"}]},{"subject":"u"}]}', and([or([stream, type]), subject])],
    // The form of the collection-style family.
    ['{"stream":"s"}', stream],
    ['{"stream":"s","event_type":"t","subject":"u","source":"v"}', and([stream, type, subject, source])],
    ['{"subject":{"hasValue":false}}', NO_SUBJECT],
    ['{"stream":"s","subject":{"hasValue":true,"value":"u"}}', and([stream, subject])],
    // The form of the metadata of State Views.
    ['{"type":"equals","attr":{"event_type":"t"}}', type],
    ['{"type":"equals","attr":{"subject":"u"}}', subject],
    ['{"attr":{"stream":"s"},"type":"Equals"}', stream],
    ['{"type":"starts_with","attr":{"event_type":"t"}}', term('by-type-prefix', 't')],
    ['{"type":"or","selectors":[{"type":"equals","attr":{"stream":"s"}},{"event_type":"t"}]}', or([stream, type])],
    ['{"type":"and","left":{"stream":"s"},"right":{"event_type":"t"}}', and([stream, type])],
    ['{"type":"no_subject"}', NO_SUBJECT],
    // Kinds by their name.
    ['{"ByType":"t"}', type],
    ['{"byTypePrefix":"t."}', term('by-type-prefix', 't.')],
    ['{"by_stream":"s"}', stream],
    ['{"BySubject":"u"}', subject],
    ['{"bySubjectPrefix":"u"}', term('by-subject-prefix', 'u')],
    ['{"by_source":"v"}', term('by-source', 'v')],
    ['{"NoSubject":{}}', NO_SUBJECT],
    ['{"noSubject":true}', NO_SUBJECT],
    ['{"And":[{"ByType":"t"},{"ByStream":"s"}]}', and([stream, type])],
    ['{"type":"by_type_prefix","value":"t."}', term('by-type-prefix', 't.')],
    ['{"type":"ByStream","stream":"s"}', stream],
  ])('may be %s', (json, expected) => {
    expect(read(json)).toEqual(expected);
  });

  it.each([
    ['[]', 'selector must be an object'],
    ['{"streams":"s"}', 'selector.streams is unknown; known are stream,'],
    ['{"stream":5}', 'selector.stream must be a string'],
    ['{"subject":null}', 'selector.subject must be a string'],
    ['{"stream":""}', 'selector.stream must not be empty'],
    ['{"event_type":"\\ud800"}', 'selector.event_type must not contain an unpaired surrogate'],
    ['{"equals":{"stream":"s"},"stream":"s"}', 'selector must have one kind and nothing beside it'],
    ['{"equals":{"subject":"u"}}', 'selector.equals.subject must be an object: {"hasValue": true, "value": "s"} for'],
    ['{"equals":{}}', 'selector.equals must have exactly one of stream, eventType, subject, source'],
    ['{"equals":"s"}', 'selector.equals must be an object'],
    ['{"equals":{"type":"t"}}', 'selector.equals.type is unknown'],
    ['{"equals":{"subject":{"hasValue":true}}}', 'selector.equals.subject.value is required with hasValue: true'],
    ['{"equals":{"subject":{"hasValue":true,"value":""}}}', 'selector.equals.subject.value must not be empty'],
    ['{"equals":{"subject":{"hasValue":"yes","value":"u"}}}', 'selector.equals.subject.hasValue must be true or false'],
    ['{"equals":{"subject":{"hasvalues":true,"value":"u"}}}', 'selector.equals.subject.hasvalues is unknown'],
    ['{"startsWith":{"source":"v"}}', 'selector.startsWith.source is unknown; known are'],
    ['{"startsWith":{"subject":{"value":"u"}}}', 'selector.startsWith.subject must have hasValue: true'],
    ['{"or":[]}', 'selector.or must have at least one selector'],
    ['{"and":{}}', 'selector.and must have selectors, or left and right'],
    ['{"and":{"left":{}}}', 'selector.and must have selectors, or left and right'],
    ['{"or":[{"stream":"s"},{"stream":""}]}', 'selector.or[1].stream must not be empty'],
    ['{"or":{"selectors":[{"stream":""}]}}', 'selector.or.selectors[0].stream must not be empty'],
    ['{"type":"order.placed"}', 'selector.type must be one of equals, starts_with,'],
    ['{"type":5}', 'selector.type must be a string'],
    ['{"type":"equals"}', 'selector must have attr beside type'],
    ['{"type":"equals","attr":{"stream":"s"},"stream":"s"}', 'selector must have attr beside type, and nothing else'],
    ['{"type":"by_type","stream":"s"}', 'selector must have value beside type'],
    ['{"type":"or"}', 'selector must have selectors, or left and right'],
    ['{"type":"or","selectors":[{"stream":""}]}', 'selector.selectors[0].stream must not be empty'],
    ['{"noSubject":false}', 'selector.noSubject must be {} or true'],
    ['{"__proto__":{"stream":"s"}}', 'selector.__proto__ is unknown'],
  ])('must not be %s', (json, expected) => {
    const faults = read(json);
    expect(faults).toHaveLength(1);
    expect(JSON.stringify(faults)).toContain(JSON.stringify(expected).slice(1, -1));
  });

  it.each([
    ['{"type":"equals"}', '{type: "equals"}'],
    ['{"type":"by_type","stream":"s"}', '{type: "by_type", stream: "s"}'],
    ['{"type":"by_type","":1,"a b":[],"c":{}}', '{type: "by_type", "": 1, "a b": an array, c: an object}'],
  ])('shows the members of a selector when they do not match its type: %s', (json, value) => {
    const faults = new Faults();
    expect(selectorFromJson(nodeOf(json), 'selector', faults)).toBeUndefined();
    expect(faults.violations).toMatchObject([{ field: 'selector', value, found: value }]);
  });

  it('has limits', () => {
    const nested = (depth: number): string => (depth === 1 ? '{"stream":"s"}' : `{"and":[${nested(depth - 1)}]}`);
    expect([read(nested(16)), read(nested(17))]).toEqual([stream, ['selector must nest at most 16 deep']]);
    const list = (count: number): string => Array.from({ length: count }, (_, i) => `{"stream":"s${i}"}`).join(',');
    expect(read(`{"or":[${list(255)}]}`)).toHaveProperty('kind', 'or');
    expect(read(`{"or":[${list(256)}]}`)).toEqual(['selector must consist of at most 256 selectors']);
    expect(read(`{"and":[{"or":[${list(17)}]},{"or":[${list(17).replaceAll('stream', 'subject')}]}]}`)).toEqual([
      'selector must come to at most 256 alternatives when And is spread over Or',
    ]);
  });

  it('is formatted so that it is parsed to an equal selector (M6)', () => {
    fc.assert(
      fc.property(arbSelector, (selector) => {
        expect(read(selectorToJson(selector))).toEqual(selector);
      }),
      { numRuns: runs(1000) },
    );
  });
});

it.each<[string, Selector]>([
  ['[]', ALL],
  ['[{"stream":"s"}]', stream],
  ['[{"stream":"s"},{"event_type":"t"}]', or([stream, type])],
  ['[{"stream":"s"},{}]', ALL],
])('a selection in JSON may be %s', (json, expected) => {
  expect(read(json, selectionFromJson)).toEqual(expected);
});

it('a selection in JSON names the invalid selector', () => {
  expect(read('[{"stream":"s"},{"stream":""},5]', selectionFromJson)).toEqual([
    'selector[1].stream must not be empty',
    'selector[2] must be an object',
  ]);
});
