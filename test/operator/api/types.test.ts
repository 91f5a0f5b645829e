// Goal: each field of a kind is declared once (KA1): its type and its schema agree. Method: a kind with one field of
// each sort.
import { expect, it } from 'vitest';
import {
  anyObject,
  choice,
  flag,
  list,
  map,
  numberOrText,
  object,
  type ResourceKind,
  shape,
  text,
  time,
  wholeNumber,
} from '../../../operator/src/api/schema.ts';
import { definitionOf } from '../../../scripts/crds/open-api.ts';
import { renderTypes } from '../../../scripts/crds/types-file.ts';

const PART = shape('Part', { name: text('A name.', 5) });
const DEEP = shape('Deep', { size: text('A size.', 3, { default: '1Gi' }), name: text('A name.', 5) });
const KIND: ResourceKind = {
  apiVersion: 'cairn.dev/v1alpha1',
  kind: 'Thing',
  plural: 'things',
  shortNames: ['th'],
  doc: 'A thing.',
  specDoc: 'The wish.',
  spec: shape(
    'ThingSpec',
    {
      word: choice('A word.', ['Low', 'High'], { default: 'Low' }),
      'count?': wholeNumber('A count.', 1, 9, { rules: [{ rule: 'self != 5', message: 'not 5' }] }),
      isOn: flag('A flag.'),
      'since?': time('A time.'),
      amount: numberOrText('An amount.', 8, { pattern: '^1' }),
      parts: list('Parts.', object('A part.', PART), 3, { min: 1, merge: { keys: ['name'] } }),
      'labels?': map('Labels.', text('A value.', 7), 2),
      'rest?': anyObject('The rest.'),
      deep: object('A whole.', DEEP, { default: { name: 'a' } }),
    },
    [{ rule: 'self.isOn', message: 'must be on' }],
  ),
  status: shape('ThingStatus', {
    'words?': list('Words.', text('A word.', 9), 4, { merge: 'set' }),
  }),
  rules: [],
  conditions: { Ready: 'It is ready.' },
  columns: [{ name: 'Age', type: 'date', path: '.metadata.creationTimestamp', doc: 'Its age.', isWide: true }],
};

it('fields that are required or have a default are present in the type, all others are optional (KA1)', () => {
  const types = renderTypes([KIND]);
  const members = types.slice(types.indexOf('export interface Part')).replaceAll(/ *\/\*\*[^/]*\*\/\n/g, '');
  expect(members).toBe(`export interface Part {
  readonly name: string;
}

export interface Deep {
  readonly size: string;
  readonly name: string;
}

export interface ThingSpec {
  readonly word: 'Low' | 'High';
  readonly count?: number;
  readonly isOn: boolean;
  readonly since?: string;
  readonly amount: number | string;
  readonly parts: readonly Part[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly rest?: Readonly<Record<string, unknown>>;
  readonly deep: Deep;
}

export interface ThingStatus {
  readonly words?: readonly string[];
}

export type ThingCondition = 'Ready';

export interface Thing {
  readonly apiVersion: 'cairn.dev/v1alpha1';
  readonly kind: 'Thing';
  readonly metadata: Metadata;
  readonly spec: ThingSpec;
  readonly status?: ThingStatus;
}
`);
});

it('the definition has each sort of field as Kubernetes writes it (KA1)', () => {
  const { metadata, spec } = definitionOf(KIND);
  const [{ schema, subresources, additionalPrinterColumns }] = spec.versions;
  expect(metadata.name).toBe('things.cairn.dev');
  expect(subresources).toEqual({ status: {} });
  expect(additionalPrinterColumns[0]?.['priority']).toBe(1);
  expect(schema.openAPIV3Schema['properties']).toHaveProperty('spec', {
    description: 'The wish.',
    type: 'object',
    required: ['isOn', 'amount', 'parts'],
    properties: {
      word: { description: 'A word.', type: 'string', enum: ['Low', 'High'], default: 'Low' },
      count: {
        description: 'A count.',
        type: 'integer',
        format: 'int32',
        minimum: 1,
        maximum: 9,
        'x-kubernetes-validations': [{ rule: 'self != 5', message: 'not 5' }],
      },
      isOn: { description: 'A flag.', type: 'boolean' },
      since: { description: 'A time.', type: 'string', format: 'date-time' },
      amount: {
        description: 'An amount.',
        'x-kubernetes-int-or-string': true,
        anyOf: [{ type: 'integer' }, { type: 'string' }],
        maxLength: 8,
        pattern: '^1',
      },
      parts: {
        description: 'Parts.',
        type: 'array',
        minItems: 1,
        maxItems: 3,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: {
          description: 'A part.',
          type: 'object',
          required: ['name'],
          properties: { name: { description: 'A name.', type: 'string', maxLength: 5 } },
        },
      },
      labels: {
        description: 'Labels.',
        type: 'object',
        maxProperties: 2,
        additionalProperties: { description: 'A value.', type: 'string', maxLength: 7 },
      },
      rest: { description: 'The rest.', type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      deep: {
        description: 'A whole.',
        type: 'object',
        required: ['name'],
        properties: {
          size: { description: 'A size.', type: 'string', maxLength: 3, default: '1Gi' },
          name: { description: 'A name.', type: 'string', maxLength: 5 },
        },
        default: { size: '1Gi', name: 'a' },
      },
    },
    'x-kubernetes-validations': [{ rule: 'self.isOn', message: 'must be on' }],
  });
});

it('two shapes do not share the name of a type (KA1)', () => {
  const other = shape('Part', {});
  const kind = { ...KIND, status: shape('ThingStatus', { part: object('Another part.', other) }) };
  expect(() => renderTypes([kind])).toThrow('two shapes have the name Part');
});
