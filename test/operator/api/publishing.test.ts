// Goal: a custom resource can express every field of the requests that publish a component or issue a key, with the
// same limits, and nothing else. Method: each field of the messages of the server is mapped to a field of the resource,
// and the patterns accept what the parsers of the server accept.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isComponentName, isDatabaseName, ROLES } from '#model';
import { PRESENTER, STATE_CHANGE, STATE_VIEW } from '../../../operator/src/api/index.ts';
import type { Field, ResourceKind } from '../../../operator/src/api/schema.ts';
import { isPattern } from '../../../src/model/access.ts';
import { allFields } from './walk.ts';

const PROTO = readFileSync(resolve(import.meta.dirname, '../../../proto/cairn/v1/component.proto'), 'utf8');
const EVENT_PROTO = readFileSync(resolve(import.meta.dirname, '../../../proto/cairn/v1/event.proto'), 'utf8');

/** Maps the fields of the server's messages to fields of the resource. */
const OF_ALL = {
  database_name: 'databases',
  description: 'description',
  source_code_uri: 'sourceCodeURI',
  wasm_bytes: 'source',
  inactive: 'rollout',
};
const FIELDS: readonly (readonly [string, ResourceKind, Readonly<Record<string, string>>])[] = [
  [
    'PublishStateViewRequest',
    STATE_VIEW,
    {
      ...OF_ALL,
      state_view_name: 'name',
      content_type: 'contentType',
      content_schema: 'contentSchema.uri',
      content_schema_json: 'contentSchema.json',
      event_selection: 'events',
      event_types: 'eventTypes',
      query_temporality: 'temporality',
      presenter_name: 'presenter.name',
      presenter_version: 'presenter.version',
      priority: 'priority',
      key_type: 'keyType',
      reduce_fn: 'reduceFunction',
    },
  ],
  [
    'PublishStateChangeRequest',
    STATE_CHANGE,
    { ...OF_ALL, state_change_name: 'name', state_view_names: 'stateViewNames' },
  ],
  ['PublishPresenterRequest', PRESENTER, { ...OF_ALL, presenter_name: 'name', offers: 'offers', settings: 'settings' }],
];

/** Fields of a resource that are not part of the publication itself. */
const BESIDE = ['rollout', 'retainVersions', 'reclaimPolicy', 'maintenance', 'active'];

const fields = new Map(allFields().map(({ path, field }) => [path, field]));

function fieldsOfMessage(proto: string, message: string): readonly string[] {
  const body = new RegExp(`^message ${message} \\{\\n([^]*?)^\\}`, 'm').exec(proto)?.[1] ?? '';
  return [...body.matchAll(/^ +(?:optional |repeated )?[\w.<>, ]+ (\w+) = \d+;/gm)].map(([, name = '']) => name);
}

/** The values of an enum in CamelCase, without the unspecified one. */
function wordsOfEnum(proto: string, name: string): readonly string[] {
  const body = new RegExp(`^enum ${name} \\{\\n([^]*?)^\\}`, 'm').exec(proto)?.[1] ?? '';
  const prefix = `${name.replaceAll(/(?!^)[A-Z]/g, '_$&').toUpperCase()}_`;
  const words = [...body.matchAll(/^ +([A-Z_\d]+) = [1-9]\d*;/gm)].map(([, word = '']) => word.replace(prefix, ''));
  return words.map((word) =>
    word.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_all, letter: string) => letter.toUpperCase()),
  );
}

function choicesOf(path: string): readonly string[] {
  const field = fields.get(path);
  return field?.kind === 'choice' ? field.choices : [];
}

function accepts(field: Field | undefined, text: string): boolean {
  if (field?.kind !== 'text') throw new Error('no field of text');
  const { pattern = '', min = 0, max } = field;
  return new RegExp(pattern, 'u').test(text) && text.length >= min && text.length <= max;
}

describe('a resource of a component', () => {
  it.each(FIELDS)(
    'has each field of %s, and beyond them only fields that do not belong to the publication',
    (message, { kind }, known) => {
      expect(Object.keys(known).toSorted()).toEqual(fieldsOfMessage(PROTO, message).toSorted());
      expect(Object.values(known).filter((path) => !fields.has(`${kind}.spec.${path}`))).toEqual([]);
      const said = new Set([...Object.values(known).map((path) => path.split('.')[0] ?? ''), ...BESIDE]);
      const own = [...fields.keys()].flatMap((path) => new RegExp(`^${kind}\\.spec\\.(\\w+)$`).exec(path)?.[1] ?? []);
      expect(own.filter((name) => !said.has(name))).toEqual([]);
    },
  );

  it.each([
    ['Priority', 'StateView.spec.priority'],
    ['KeyType', 'StateView.spec.keyType'],
    ['MaintenanceMode', 'StateView.spec.maintenance'],
  ])('has the values of %s', (name, path) => {
    expect(choicesOf(path)).toEqual(wordsOfEnum(PROTO, name));
    expect(choicesOf(path)).not.toEqual([]);
  });

  it('selects events by each attribute of a selector, and leaves the same attributes to parameters as the server', () => {
    const kinds = [...EVENT_PROTO.matchAll(/^ +string (by_\w+) = \d+;/gm)].map(([, name = '']) => name);
    const own: Readonly<Record<string, string>> = {
      by_type: 'eventType',
      by_type_prefix: 'eventTypePrefix',
      by_stream: 'stream',
      by_stream_prefix: 'streamPrefix',
      by_subject: 'subject',
      by_subject_prefix: 'subjectPrefix',
      by_source: 'source',
    };
    expect(kinds).toEqual(Object.keys(own));
    expect(Object.values(own).filter((name) => !fields.has(`StateView.spec.events[].${name}`))).toEqual([]);
    const open = choicesOf('StateView.spec.events[].parameters[].attribute');
    expect(open.toSorted()).toEqual(wordsOfEnum(EVENT_PROTO, 'ParameterTerm').toSorted());
  });
});

describe('a resource of access', () => {
  it('has the roles of the server', () => {
    expect(choicesOf('EventAccess.spec.grants[].role')).toEqual([...ROLES]);
  });
});

describe('patterns of names', () => {
  const texts = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'Z', '9', '-', '.', '_', '*', '~', ' ', 'ä'), maxLength: 140 }),
    fc.string({ unit: fc.constantFrom('a', 'b', '9', '-'), minLength: 1, maxLength: 70 }),
  );

  it.each([
    ['EventDatabase.spec.name', isDatabaseName],
    ['StateView.spec.name', isComponentName],
    ['StateView.spec.presenter.name', isComponentName],
    ['EventAccess.spec.grants[].databases.pattern', isPattern],
  ] as const)('%s accepts what the server accepts', (path, isAccepted: (text: string) => boolean) => {
    const field = fields.get(path);
    fc.assert(
      fc.property(texts, (text) => {
        expect(accepts(field, text)).toBe(isAccepted(text));
      }),
    );
  });
});
