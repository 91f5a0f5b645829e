// Goal: metadata of publishers becomes the definition that it describes, and each invalid member is reported with its
// path. Method: tables.
import { describe, expect, it } from 'vitest';
import { encodeUtf8 } from '#base';
import {
  ALL,
  and,
  type ComponentKind,
  type Definition,
  definitionFromJson,
  encodeDefinition,
  Faults,
  or,
  parameter,
  parametersOf,
  type Selector,
  selectorFromJson,
  term,
} from '#model';
import { decodeDefinition } from '../../../src/model/definition-bytes.ts';
import { isKeyOf } from '../../../src/model/definition-rules.ts';
import { bindTemplate } from '../../../src/model/selector-template.ts';
import { componentName } from '../../support/definitions.ts';
import { nodeOf, outcome, textsOf } from '../../support/model-reading.ts';

function read(kind: ComponentKind, metadata: string | object): Definition | readonly string[] | undefined {
  const text = typeof metadata === 'string' ? metadata : JSON.stringify(metadata);
  return outcome((faults) => definitionFromJson(kind, encodeUtf8(text), faults));
}

/** Or in And in Or to the given depth, so that nothing is flattened. */
function nested(depth: number): object {
  const leaf = { stream: `s${depth}` };
  return depth === 1 ? leaf : { [depth % 2 === 0 ? 'or' : 'and']: [leaf, nested(depth - 1)] };
}

const VIEW = {
  state_view_name: 'accounts',
  content_type: 'application/json',
  event_selector: { equals: { stream: 'accounts' } },
  query_temporality: 'revision',
} as const;

const VIEW_READ = {
  kind: 'state-view',
  name: componentName('accounts'),
  description: undefined,
  sourceCodeUri: undefined,
  selector: term('by-stream', 'accounts'),
  order: 'revision',
  keyType: 'none',
  reduceFunction: 'reduce',
  contentType: 'application/json',
  schema: undefined,
  priority: 'normal',
  presenter: undefined,
} as const;

const bySubject = parameter('by-subject', 'account_id');
const byKey = parameter('by-subject', 'key');
const accounts = term('by-stream', 'accounts');
const TYPES = ['a', 'b'].map((type) => term('by-type', type));
const P = { parameter: 'p' };
const BY_SUBJECT = { equals: { subject: { parameter: 'account_id' } } };
const BY_STREAM = { stream: { parameter: 'ledger' } };
const KEYED = { equals: { subject: { parameter: 'key' } } };
const TYPED = {
  type: 'or',
  selectors: [
    { type: 'equals', attr: { event_type: 'a' } },
    { type: 'equals', attr: { subject: { parameter: 'account_id' } } },
  ],
};
const WIDE = { or: many(20).map((stream) => ({ stream })) };

function many(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `t${at}`);
}

const selecting = (selector: object): object => ({ event_selector: selector });

describe('the metadata of a State View', () => {
  it.each<[string, object, object]>([
    ['what is required', {}, {}],
    ['camel case', { sourceCodeUri: 'https://x.example/r' }, { sourceCodeUri: 'https://x.example/r' }],
    ['a description', { description: 'all\nof them' }, { description: 'all\nof them' }],
    ['effective time', { query_temporality: 'effective_timestamp' }, { order: 'effective-time' }],
    ['a schema by its URI', { content_schema: 'urn:a' }, { schema: { kind: 'uri', uri: 'urn:a' } }],
    ['a schema itself', { content_schema: { a: 1 } }, { schema: { kind: 'held', bytes: encodeUtf8('{"a":1}') } }],
    ['a priority', { priority: 'high' }, { priority: 'high' }],
    ['a presenter', { presenter: 'page' }, { presenter: { name: 'page', version: undefined } }],
    ['a version of a presenter', { presenter: { name: 'p', version: 3 } }, { presenter: { name: 'p', version: 3 } }],
    ['a function', { reduce_fn: 'fold' }, { reduceFunction: 'fold' }],
    ['a selector by type', { event_selector: TYPED }, { selector: or([term('by-type', 'a'), bySubject]) }],
    [
      'parameters of every attribute',
      { event_selector: { and: [BY_SUBJECT, { startsWith: { eventType: { parameter: 'f' } } }, BY_STREAM] } },
      { selector: and([bySubject, parameter('by-type-prefix', 'f'), parameter('by-stream', 'ledger')]) },
    ],
    ['event types in place of a selector', { event_selector: undefined, events: ['a', 'b'] }, { selector: or(TYPES) }],
    ['event types and a selector', { events: ['a', 'b'] }, { selector: and([accounts, or(TYPES)]) }],
    ['a key', { key_type: 'Int64' }, { keyType: 'int64', selector: and([accounts, byKey]) }],
    ['a key in its selector', { key_type: 'String', event_selector: KEYED }, { keyType: 'string', selector: byKey }],
    ['no key', { key_type: 'None', event_selector: {} }, { selector: ALL }],
  ])('accepts %s', (_what, metadata, expected) => {
    expect(read('state-view', { ...VIEW, ...metadata })).toStrictEqual({ ...VIEW_READ, ...expected });
  });

  const WITH_MORE = 'with what events and key_type add';
  it.each<[string, object | string, string]>([
    ['text that is no JSON', '{', ' must be JSON: line 1, column 2: expected a member name in quotes; found the end'],
    ['no object', '[]', ' must be an object'],
    [
      'a bad name',
      { state_view_name: '1' },
      '.state_view_name must be a letter, then up to 127 letters, digits, "_", "."',
    ],
    ['bad order', { query_temporality: 'Revision' }, '.query_temporality must be one of revision, effective_timestamp'],
    ['a bad content type', { content_type: 'json' }, '.content_type must be a media type such as application/json, of'],
    ['a script', { content_type: 'text/javascript' }, '.content_type must not be a script'],
    ['an old script', { content_type: 'Application/X-JavaScript; a=b' }, '.content_type must not be a script'],
    ['a range', { content_type: '*/*' }, '.content_type must be one media type, without "*"'],
    ['a schema of 5', { content_schema: 5 }, '.content_schema must be a URI, or a JSON Schema: an object, true or'],
    ['a large schema', { content_schema: { a: 'x'.repeat(65_536) } }, '.content_schema must be 1 to 65536 bytes'],
    ['a long description', { description: 'x'.repeat(4097) }, '.description must be at most 4096 bytes of UTF-8'],
    ['no event types', { events: [] }, '.events must name at least one event type'],
    ['presenter version 0', { presenter: { name: 'p', version: 0 } }, '.presenter.version must be an integer from 1'],
    [
      'a source parameter',
      selecting({ source: P }),
      '.event_selector.source.parameter must be a value: a source cannot be a parameter',
    ],
    ['parameter a.b', selecting({ stream: { parameter: 'a.b' } }), '.event_selector.stream.parameter must be a letter'],
    ['many types', { events: many(50_000) }, `.event_selector must consist of at most 256 selectors, ${WITH_MORE}`],
    ['alternatives', { events: many(20), ...selecting(WIDE) }, '.event_selector must come to at most 256 alternatives'],
    ['too deep', { key_type: 'String', ...selecting(nested(16)) }, '.event_selector must nest at most 16 deep, with'],
    ['two spellings', { contentType: 'text/html' }, ' must have only one of content_type, contentType'],
    ['an unknown member', { prioritty: 1 }, '.prioritty is unknown; known are state_view_name, stateViewName, '],
  ])('rejects %s', (_what, metadata, expected) => {
    const faults = read('state-view', typeof metadata === 'string' ? metadata : { ...VIEW, ...metadata });
    expect(faults).toStrictEqual([expect.stringContaining(`metadata${expected}`)]);
  });

  it('requires a name, a content type, an order and a selector', () => {
    const required = ['state_view_name', 'content_type', 'query_temporality', 'event_selector'];
    expect(read('state-view', {})).toStrictEqual(required.map((name) => `metadata.${name} is required`));
  });
});

describe('an accepted definition', () => {
  it.each<[string, object]>([
    ['has 255 event types', { event_selector: {}, events: many(255) }],
    ['is 16 deep', { event_selector: nested(16) }],
    ['is 15 deep, and has a key', { event_selector: nested(14), key_type: 'Int64' }],
    ['has text of every kind', { description: 'a\u0000\u{10ffff}\nß', presenter: 'p', reduce_fn: 'f' }],
  ])('can be read again when it %s', (_what, metadata) => {
    const definition = read('state-view', { ...VIEW, ...metadata });
    expect(definition).toMatchObject({ kind: 'state-view' });
    expect(decodeDefinition(encodeDefinition(definition as Definition))).toStrictEqual(definition);
  });

  const HALF = '\ud800';
  it.each<object>([
    { description: HALF },
    { event_selector: { stream: HALF } },
    { event_selector: { stream: { parameter: HALF } } },
  ])('has no unpaired surrogate: %j', (metadata) => {
    expect(read('state-view', { ...VIEW, ...metadata })).toMatchObject([expect.stringContaining('metadata')]);
  });
});

describe('the metadata of the other kinds', () => {
  const head = { description: undefined, sourceCodeUri: undefined };

  const change = { ...head, kind: 'state-change', name: 'open' };
  const TWO = [
    { contentType: 'text/html', schema: undefined },
    { contentType: 'text/csv', schema: 'urn:csv' },
  ];
  const OFFERS = ['text/html', { content_type: 'text/csv', schema: 'urn:csv' }];

  it.each<[ComponentKind, object, object]>([
    ['state-change', { state_change_name: 'open' }, { ...change, stateViews: [] }],
    [
      'state-change',
      { stateChangeName: 'open', state_view_names: ['b', 'a', 'b'] },
      { ...change, stateViews: ['a', 'b'] },
    ],
    [
      'presenter',
      { presenter_name: 'page', content_types: OFFERS, settings: { theme: 'dark' } },
      { ...head, kind: 'presenter', name: 'page', offers: TWO, settings: new Map([['theme', 'dark']]) },
    ],
  ])('of a %s is accepted', (kind, metadata, expected) => {
    expect(read(kind, metadata)).toStrictEqual(expected);
  });

  it.each<[ComponentKind, object, string]>([
    ['state-change', {}, '.state_change_name is required'],
    ['presenter', { presenter_name: 'p', content_types: [] }, '.content_types must offer at least one content type'],
    ['presenter', offering('text/csv', 'text/csv'), '.content_types[1].content_type must be offered once'],
    ['presenter', offering('text/csv', 'text/ecmascript'), '.content_types[1].content_type must not be a script'],
    ['presenter', offering('text/*'), '.content_types[0].content_type must be one media type, without "*"'],
    ['presenter', offering('a/b', 'x'), '.content_types[1].content_type must be a media type such as application/json'],
    ['presenter', { ...offering('text/csv'), settings: { a: 1 } }, '.settings.a must be a string'],
  ])('of a %s is rejected when it is invalid', (kind, metadata, expected) => {
    expect(read(kind, metadata)).toStrictEqual([expect.stringContaining(`metadata${expected}`)]);
  });

  function offering(...types: readonly string[]): object {
    return { presenter_name: 'p', content_types: types };
  }
});

describe('the bindings of a read', () => {
  const ofId = parameter('by-subject', 'id');
  const template = and([ofId, parameter('by-type-prefix', 'family'), ofId]);

  function bind(bindings: Readonly<Record<string, string>>): Selector | readonly string[] | undefined {
    const parameters = new Map(Object.entries(bindings));
    return outcome((faults) => bindTemplate(template, parameters, { field: 'parameters', faults }));
  }

  it('are named by attribute and parameter', () => {
    expect(parametersOf(template)).toStrictEqual(['event_type.family', 'subject.id']);
  });

  it('replace every occurrence of their parameter', () => {
    const bound = bind({ 'subject.id': 'a-1', 'event_type.family': 'account.' });
    expect(bound).toStrictEqual(and([term('by-subject', 'a-1'), term('by-type-prefix', 'account.')]));
  });

  it('must be complete, have no other names, and be valid values of their attribute', () => {
    expect(bind({ 'subject.id': '', 'stream.id': 'a' })).toStrictEqual([
      'parameters["event_type.family"] is required by the State View',
      'parameters["stream.id"] is no parameter of the State View; they are event_type.family, subject.id',
      'parameters["subject.id"] must not be empty',
    ]);
  });

  it('do not apply to a query', () => {
    const node = nodeOf('{"equals":{"subject":{"parameter":"id"}}}');
    const rule = 'must be a value: only what a State View selects has parameters';
    const found = outcome((faults) => selectorFromJson(node, 'selector', faults));
    expect(found).toStrictEqual([expect.stringMatching(new RegExp(` ${rule}$`))]);
  });
});

it.each(['0', '-1', '42', '9223372036854775807', '-9223372036854775808'])('a key of 64 bits may be %s', (value) => {
  expect(isKeyOf('int64', value)).toBe(true);
});

it.each(['', '-0', '01', '+1', '1.0', ' 1', '9223372036854775808', '-9223372036854775809'])(
  'a key of 64 bits must not be %j',
  (value) => {
    expect([isKeyOf('int64', value), isKeyOf('string', value)]).toStrictEqual([false, true]);
  },
);

it('a definition that breaks a rule is returned with the fault, because the audit log names it', () => {
  const faults = new Faults();
  const metadata = encodeUtf8('{"presenter_name":"p","content_types":[]}');
  expect(definitionFromJson('presenter', metadata, faults)).toMatchObject({ kind: 'presenter', name: 'p' });
  expect(textsOf(faults)).toEqual(['metadata.content_types must offer at least one content type']);
});
