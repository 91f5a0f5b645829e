// Goal: the metadata that publishers send becomes the definition that it says, and everything that it must not say is a
// fault with its path. Method: tables.

import { describe, expect, it } from 'vitest';
import { encodeUtf8 } from '#base';
import {
  ALL,
  and,
  bindTemplate,
  type ComponentKind,
  type Definition,
  decodeDefinition,
  definitionFromJson,
  encodeDefinition,
  Faults,
  isKeyOf,
  or,
  parameter,
  parametersOf,
  parseJson,
  type Selector,
  selectorFromJson,
  term,
  toVersionNumber,
} from '#model';
import { componentName } from '../../support/definitions.ts';

function read(kind: ComponentKind, metadata: string | object): Definition | readonly string[] | undefined {
  const faults = new Faults();
  const text = typeof metadata === 'string' ? metadata : JSON.stringify(metadata);
  const definition = definitionFromJson(kind, encodeUtf8(text), faults);
  return faults.none ? definition : faults.violations.map(({ field, description }) => `${field} ${description}`);
}

/** Or in And in Or: as deep as it says, so that nothing of it is flattened. */
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
    [
      'a version of a presenter',
      { presenter: { name: 'page', version: 3 } },
      { presenter: { name: 'page', version: toVersionNumber(3) } },
    ],
    ['a function', { reduce_fn: 'fold' }, { reduceFunction: 'fold' }],
    [
      'the selector of the specification',
      {
        event_selector: {
          type: 'or',
          selectors: [
            { type: 'equals', attr: { event_type: 'a' } },
            { type: 'equals', attr: { subject: { parameter: 'account_id' } } },
          ],
        },
      },
      { selector: or([term('by-type', 'a'), bySubject]) },
    ],
    [
      'parameters of every attribute',
      {
        event_selector: {
          and: [
            { equals: { subject: { parameter: 'account_id' } } },
            { startsWith: { eventType: { parameter: 'family' } } },
            { stream: { parameter: 'ledger' } },
          ],
        },
      },
      { selector: and([bySubject, parameter('by-type-prefix', 'family'), parameter('by-stream', 'ledger')]) },
    ],
    [
      'event types in place of a selector',
      { event_selector: undefined, events: ['a', 'b'] },
      { selector: or([term('by-type', 'a'), term('by-type', 'b')]) },
    ],
    [
      'event types and a selector',
      { events: ['a'] },
      { selector: and([term('by-stream', 'accounts'), term('by-type', 'a')]) },
    ],
    [
      'a key',
      { key_type: 'Int64' },
      { keyType: 'int64', selector: and([term('by-stream', 'accounts'), parameter('by-subject', 'key')]) },
    ],
    [
      'a key that its selector names',
      { key_type: 'String', event_selector: { equals: { subject: { parameter: 'key' } } } },
      { keyType: 'string', selector: parameter('by-subject', 'key') },
    ],
    ['no key', { key_type: 'None', event_selector: {} }, { selector: ALL }],
  ])('takes %s', (_what, metadata, expected) => {
    expect(read('state-view', { ...VIEW, ...metadata })).toStrictEqual({ ...VIEW_READ, ...expected });
  });

  it.each<[string, object | string, readonly string[]]>([
    [
      'text that is no JSON',
      '{',
      ['metadata must be JSON: line 1, column 2: expected a member name in quotes; found the end'],
    ],
    ['no object', '[]', ['metadata must be an object']],
    [
      'nothing',
      {},
      [
        'metadata.state_view_name is required',
        'metadata.content_type is required',
        'metadata.query_temporality is required',
        'metadata.event_selector is required',
      ],
    ],
    [
      'a name that is none',
      { ...VIEW, state_view_name: '1st' },
      ['metadata.state_view_name must be a letter, then up to 127 letters, digits, "_", "." or "-"'],
    ],
    [
      'an unknown order',
      { ...VIEW, query_temporality: 'Revision' },
      ['metadata.query_temporality must be one of revision, effective_timestamp'],
    ],
    [
      'a content type that is none',
      { ...VIEW, content_type: 'json' },
      ['metadata.content_type must be a media type such as application/json, of at most 255 bytes'],
    ],
    [
      'a schema that is a number',
      { ...VIEW, content_schema: 5 },
      ['metadata.content_schema must be a URI, or a JSON Schema: an object, true or false'],
    ],
    [
      'a schema that is too large',
      { ...VIEW, content_schema: { a: 'x'.repeat(65_536) } },
      ['metadata.content_schema must be 1 to 65536 bytes'],
    ],
    [
      'a description that is too long',
      { ...VIEW, description: 'x'.repeat(4097) },
      ['metadata.description must be at most 4096 bytes of UTF-8'],
    ],
    ['no event types', { ...VIEW, events: [] }, ['metadata.events must name at least one event type']],
    [
      'the version 0 of a presenter',
      { ...VIEW, presenter: { name: 'p', version: 0 } },
      ['metadata.presenter.version must be an integer from 1 to 9007199254740991'],
    ],
    [
      'a parameter of a source',
      { ...VIEW, event_selector: { source: { parameter: 'p' } } },
      ['metadata.event_selector.source.parameter must be a value: a parameter stands for no source'],
    ],
    [
      'a parameter with a dot',
      { ...VIEW, event_selector: { stream: { parameter: 'a.b' } } },
      ['metadata.event_selector.stream.parameter must be a letter or "_", then up to 63 letters, digits, "_" or "-"'],
    ],
    [
      'more event types than a selector may have parts',
      { ...VIEW, events: Array.from({ length: 50_000 }, (_, at) => `t${at}`) },
      ['metadata.event_selector must consist of at most 256 selectors, with what events and key_type add'],
    ],
    [
      'event types that come to more alternatives than a selector may have',
      {
        ...VIEW,
        event_selector: { or: Array.from({ length: 20 }, (_, at) => ({ stream: `s${at}` })) },
        events: Array.from({ length: 20 }, (_, at) => `t${at}`),
      },
      [
        'metadata.event_selector must come to at most 256 alternatives when And is spread over Or, with what events and key_type add',
      ],
    ],
    [
      'a selector that a key makes deeper than it may be',
      { ...VIEW, key_type: 'String', event_selector: nested(16) },
      ['metadata.event_selector must nest at most 16 deep, with what events and key_type add'],
    ],
    [
      'two spellings',
      { ...VIEW, contentType: 'text/html' },
      ['metadata must have only one of content_type, contentType'],
    ],
  ])('refuses %s', (_what, metadata, expected) => {
    expect(read('state-view', metadata)).toStrictEqual(expected);
  });

  it('refuses a member that it does not know', () => {
    expect(read('state-view', { ...VIEW, prioritty: 'high' })).toStrictEqual([
      expect.stringMatching(/^metadata\.prioritty is unknown; known are state_view_name, stateViewName, /),
    ]);
  });
});

describe('a definition that was accepted', () => {
  it.each<[string, object]>([
    ['has 255 event types', { event_selector: {}, events: Array.from({ length: 255 }, (_, at) => `t${at}`) }],
    ['is 16 deep', { event_selector: nested(16) }],
    ['is 15 deep, and has a key', { event_selector: nested(14), key_type: 'Int64' }],
    ['has text of every kind', { description: 'a\u0000\u{10ffff}\nß', presenter: 'p', reduce_fn: 'f' }],
  ])('can be read again when it %s', (_what, metadata) => {
    const definition = read('state-view', { ...VIEW, ...metadata });
    expect(definition).toMatchObject({ kind: 'state-view' });
    expect(decodeDefinition(encodeDefinition(definition as Definition))).toStrictEqual(definition);
  });

  it.each([
    '{"state_view_name":"a","content_type":"a/b","query_temporality":"revision","event_selector":{},"description":"\\ud800"}',
    '{"state_view_name":"a","content_type":"a/b","query_temporality":"revision","event_selector":{"stream":"\\ud800"}}',
    '{"state_view_name":"a","content_type":"a/b","query_temporality":"revision","event_selector":{"stream":{"parameter":"\\ud800"}}}',
  ])('has no lone half of a surrogate pair: %s', (metadata) => {
    expect(read('state-view', metadata)).toMatchObject([expect.stringContaining('metadata')]);
  });
});

describe('the metadata of the other kinds', () => {
  const head = { description: undefined, sourceCodeUri: undefined };

  it.each<[ComponentKind, object, object]>([
    ['state-change', { state_change_name: 'open' }, { ...head, kind: 'state-change', name: 'open', stateViews: [] }],
    [
      'state-change',
      { stateChangeName: 'open', state_view_names: ['b', 'a', 'b'], description: 'd' },
      { ...head, kind: 'state-change', name: 'open', stateViews: ['a', 'b'], description: 'd' },
    ],
    [
      'presenter',
      {
        presenter_name: 'page',
        content_types: ['text/html', { content_type: 'text/csv', schema: 'urn:csv' }],
        settings: { theme: 'dark' },
      },
      {
        ...head,
        kind: 'presenter',
        name: 'page',
        offers: [
          { contentType: 'text/html', schema: undefined },
          { contentType: 'text/csv', schema: 'urn:csv' },
        ],
        settings: new Map([['theme', 'dark']]),
      },
    ],
  ])('of a %s is taken', (kind, metadata, expected) => {
    expect(read(kind, metadata)).toStrictEqual(expected);
  });

  it.each<[ComponentKind, object, readonly string[]]>([
    ['state-change', {}, ['metadata.state_change_name is required']],
    [
      'presenter',
      { presenter_name: 'p', content_types: [] },
      ['metadata.content_types must offer at least one content type'],
    ],
    [
      'presenter',
      { presenter_name: 'p', content_types: ['text/csv', 'text/csv', 'x'] },
      [
        'metadata.content_types[1].content_type must be offered once',
        'metadata.content_types[2].content_type must be a media type such as application/json, of at most 255 bytes',
      ],
    ],
    [
      'presenter',
      { presenter_name: 'p', content_types: ['text/csv'], settings: { a: 1 } },
      ['metadata.settings.a must be a string'],
    ],
  ])('of a %s is refused when it is faulty', (kind, metadata, expected) => {
    expect(read(kind, metadata)).toStrictEqual(expected);
  });
});

describe('what a read binds', () => {
  const template = and([
    parameter('by-subject', 'id'),
    parameter('by-type-prefix', 'family'),
    parameter('by-subject', 'id'),
  ]);

  function bind(bindings: Readonly<Record<string, string>>): Selector | readonly string[] | undefined {
    const faults = new Faults();
    const bound = bindTemplate(template, new Map(Object.entries(bindings)), { field: 'parameters', faults });
    return faults.none ? bound : faults.violations.map(({ field, description }) => `${field} ${description}`);
  }

  it('is named by attribute and parameter', () => {
    expect(parametersOf(template)).toStrictEqual(['event_type.family', 'subject.id']);
  });

  it('stands for every place of its parameter', () => {
    const bound = bind({ 'subject.id': 'a-1', 'event_type.family': 'account.' });
    expect(bound).toStrictEqual(and([term('by-subject', 'a-1'), term('by-type-prefix', 'account.')]));
  });

  it('must be all of it, nothing else, and what the attribute may be', () => {
    expect(bind({ 'subject.id': '', 'stream.id': 'a' })).toStrictEqual([
      'parameters["event_type.family"] is required by the State View',
      'parameters["stream.id"] is no parameter of the State View; they are event_type.family, subject.id',
      'parameters["subject.id"] must not be empty',
    ]);
  });

  it('is no matter of a query', () => {
    const faults = new Faults();
    const node = parseJson(encodeUtf8('{"equals":{"subject":{"parameter":"id"}}}'));
    const selector = node.kind === 'fault' ? undefined : selectorFromJson(node, 'selector', faults);
    expect([selector, faults.violations.map(({ description }) => description)]).toStrictEqual([
      undefined,
      ['must be a value: only what a State View selects has parameters'],
    ]);
  });
});

describe('a key of 64 bits', () => {
  it.each(['0', '-1', '42', '9223372036854775807', '-9223372036854775808'])('may be %s', (value) => {
    expect(isKeyOf('int64', value)).toBe(true);
  });

  it.each(['', '-0', '01', '+1', '1.0', ' 1', '9223372036854775808', '-9223372036854775809'])('is not %j', (value) => {
    expect([isKeyOf('int64', value), isKeyOf('string', value)]).toStrictEqual([false, true]);
  });
});
