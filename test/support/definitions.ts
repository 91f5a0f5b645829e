/** Random definitions of every kind, in the form that their parsers return. */
import * as fc from 'fast-check';
import {
  and,
  type Definition,
  isComponentName,
  KEY_TYPES,
  or,
  type ParameterTerm,
  PRIORITIES,
  parameter,
  type SelectorTemplate,
  type StateViewDefinition,
  toVersionNumber,
} from '#model';
import { FOLD_ORDERS, type PresenterDefinition, type StateChangeDefinition } from '../../src/model/definition.ts';
import { keyedTemplate } from '../../src/model/definition-rules.ts';
import { type ComponentName } from '../../src/model/names.ts';
import { arbSelector } from './selectors.ts';

const PARAMETER_TERMS: readonly ParameterTerm[] = [
  'by-stream',
  'by-stream-prefix',
  'by-type',
  'by-type-prefix',
  'by-subject',
  'by-subject-prefix',
];

export function componentName(text: string): ComponentName {
  if (!isComponentName(text)) throw new Error(`no component name: ${text}`);
  return text;
}

const arbParameter: fc.Arbitrary<SelectorTemplate> = fc
  .tuple(fc.constantFrom(...PARAMETER_TERMS), fc.constantFrom('a', 'b', 'account_id'))
  .map(([kind, name]) => parameter(kind, name));

/** Selector templates, some of whose terms are parameters. */
export const arbTemplate: fc.Arbitrary<SelectorTemplate> = fc.letrec<{ node: SelectorTemplate }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    arbParameter,
    arbSelector,
    fc.array(tie('node'), { maxLength: 3 }).map((parts) => and(parts)),
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((parts) => or(parts)),
  ),
})).node;

const arbName = fc.constantFrom('accounts', 'A', 'open-orders.v2', 'B_1').map(componentName);
const arbText = fc.string({ unit: 'grapheme', maxLength: 20 });
const arbUri = fc.constantFrom('https://schemas.example/a.json', 'account', 'urn:x:1');
const arbType = fc.constantFrom('application/json', 'text/html; charset=utf-8', 'text/csv', 'image/png');
const perhaps = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const head = { name: arbName, description: perhaps(arbText), sourceCodeUri: perhaps(arbUri) };

const arbStateView: fc.Arbitrary<StateViewDefinition> = fc
  .record({
    kind: fc.constant('state-view' as const),
    ...head,
    selector: arbTemplate,
    order: fc.constantFrom(...FOLD_ORDERS),
    keyType: fc.constantFrom(...KEY_TYPES),
    reduceFunction: fc.constantFrom('reduce', 'evolve_all', 'fold-1'),
    contentType: arbType,
    schema: perhaps(
      fc.oneof(
        arbUri.map((uri) => ({ kind: 'uri' as const, uri })),
        fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => ({ kind: 'held' as const, bytes })),
      ),
    ),
    priority: fc.constantFrom(...PRIORITIES),
    presenter: perhaps(
      fc.record({ name: arbName, version: perhaps(fc.integer({ min: 1, max: 2 ** 40 }).map(toVersionNumber)) }),
    ),
  })
  .map((view) => ({ ...view, selector: keyedTemplate(view.selector, view.keyType) }));

const arbStateChange: fc.Arbitrary<StateChangeDefinition> = fc.record({
  kind: fc.constant('state-change' as const),
  ...head,
  // In order of their bytes, which is also the order of these texts.
  stateViews: fc.subarray(['A', 'B', 'accounts', 'orders'].map(componentName)),
});

const arbPresenter: fc.Arbitrary<PresenterDefinition> = fc.record({
  kind: fc.constant('presenter' as const),
  ...head,
  offers: fc.uniqueArray(fc.record({ contentType: arbType, schema: perhaps(arbUri) }), {
    minLength: 1,
    maxLength: 3,
    selector: ({ contentType }) => contentType,
  }),
  settings: fc
    .uniqueArray(fc.tuple(fc.constantFrom('theme', 'page size', 'é', 'Z'), arbText), { selector: ([key]) => key })
    .map((entries) => new Map(entries)),
});

export const arbDefinition: fc.Arbitrary<Definition> = fc.oneof(arbStateView, arbStateChange, arbPresenter);
