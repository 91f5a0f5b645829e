// Goal: a definition has one form in bytes (M9); a template with bound parameters selects the same events as its tree
// with the values substituted. Method: random definitions, changed bytes, shuffled settings; a naive substitution.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeUtf8 } from '#base';
import {
  ALL,
  and,
  type Definition,
  encodeDefinition,
  encodeSelector,
  Faults,
  KEY_TYPES,
  or,
  parametersOf,
  parseJson,
  type Selector,
  type SelectorTemplate,
  type StateViewDefinition,
  selectorToJson,
  term,
} from '#model';
import { decodeDefinition } from '../../../src/model/definition-bytes.ts';
import { checkDefinition, keyedTemplate } from '../../../src/model/definition-rules.ts';
import { type ParameterSelector } from '../../../src/model/selector.ts';
import { templateFromJson } from '../../../src/model/selector-json.ts';
import { type Bindings, bindTemplate } from '../../../src/model/selector-template.ts';
import { decodeTemplate } from '../../../src/model/selector-wire.ts';
import { arbDefinition, arbTemplate, componentName } from '../../support/definitions.ts';
import { runs } from '../../support/runs.ts';

const VIEW: StateViewDefinition = {
  kind: 'state-view',
  name: componentName('v'),
  description: undefined,
  sourceCodeUri: undefined,
  selector: ALL,
  order: 'revision',
  keyType: 'none',
  reduceFunction: 'reduce',
  contentType: 'a/b',
  schema: undefined,
  priority: 'normal',
  presenter: undefined,
};

/** Selectors around the limits of depth, width and number of alternatives. */
const arbLargeTemplate: fc.Arbitrary<SelectorTemplate> = fc
  .array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 17, size: 'max' })
  .chain((widths) => fc.boolean().map((isAnd) => ladder(widths, isAnd)));

/** Nested And and Or, each with as many terms as its width. */
function ladder([width = 1, ...rest]: readonly number[], isAnd: boolean): SelectorTemplate {
  const terms = Array.from({ length: width }, (_, at) => term('by-type', `${rest.length}-${at}`));
  const inner = rest.length === 0 ? terms : [...terms, ladder(rest, !isAnd)];
  return isAnd ? and(inner) : or(inner);
}

describe('the bytes of a definition', () => {
  it('decode to the definition', () => {
    fc.assert(
      fc.property(arbDefinition, (definition) => {
        expect(decodeDefinition(encodeDefinition(definition))).toEqual(definition);
      }),
    );
  });

  it('decode to every allowed selector, and to no other', () => {
    const isRead = new Set<boolean>();
    fc.assert(
      fc.property(arbLargeTemplate, fc.constantFrom(...KEY_TYPES), (template, keyType) => {
        const definition = { ...VIEW, keyType, selector: keyedTemplate(template, keyType) };
        const faults = new Faults();
        checkDefinition(definition, { field: '', faults });
        const bytes = encodeSelector(definition.selector);
        const read = decodeTemplate(bytes, 'selector', new Faults());
        expect(read).toStrictEqual(faults.none ? definition.selector : undefined);
        isRead.add(faults.none);
      }),
      { numRuns: runs(500) },
    );
    expect(isRead).toEqual(new Set([true, false]));
  });

  it('are the same for any order of its settings', () => {
    fc.assert(
      fc.property(arbDefinition, (definition) => {
        expect(encodeDefinition(turned(definition))).toStrictEqual(encodeDefinition(definition));
      }),
    );
  });

  it('decode to another definition or to none when one of them changes', () => {
    fc.assert(
      fc.property(arbDefinition, fc.nat(), fc.integer({ min: 1, max: 255 }), (definition, place, change) => {
        const bytes = encodeDefinition(definition);
        const at = place % bytes.length;
        bytes[at] = (bytes[at] ?? 0) ^ change;
        const read = decodeDefinition(bytes);
        const again = read === undefined ? bytes : encodeDefinition(read);
        expect(again).toStrictEqual(bytes);
      }),
    );
  });

  it('do not decode when they are truncated or extended', () => {
    fc.assert(
      fc.property(arbDefinition, fc.nat(), (definition, place) => {
        const bytes = encodeDefinition(definition);
        const cut = bytes.subarray(0, place % bytes.length);
        const longer = new Uint8Array([...bytes, 0]);
        expect([decodeDefinition(cut), decodeDefinition(longer)]).toStrictEqual([undefined, undefined]);
      }),
    );
  });
});

it('a template comes back from its bytes and from its JSON', () => {
  fc.assert(
    fc.property(arbTemplate, (template) => {
      const faults = new Faults();
      const node = parseJson(encodeUtf8(selectorToJson(template)));
      if (node.kind === 'fault') throw new Error(node.message);
      const found = [
        decodeTemplate(encodeSelector(template), 'selector', faults),
        templateFromJson(node, 'selector', faults),
      ];
      expect([found, faults.violations]).toStrictEqual([[template, template], []]);
    }),
  );
});

it('a template is filled with the values of its parameters', () => {
  fc.assert(
    fc.property(
      arbTemplate,
      fc.array(fc.constantFrom('x', 'y', 't'), { minLength: 12, maxLength: 12 }),
      (tree, values) => {
        const bindings = new Map(parametersOf(tree).map((name, index) => [name, values[index] ?? 'x']));
        const faults = new Faults();
        const bound = bindTemplate(tree, bindings, { field: 'parameters', faults });
        expect([bound, faults.violations]).toStrictEqual([naivelyFilled(tree, bindings), []]);
      },
    ),
  );
});

function turned(definition: Definition): Definition {
  if (definition.kind !== 'presenter') return definition;
  return { ...definition, settings: new Map([...definition.settings].toReversed()) };
}

function naivelyFilled(template: SelectorTemplate, bindings: Bindings): Selector {
  if (template.kind === 'parameter') return term(template.term, bindings.get(naiveBinding(template)) ?? '');
  if (!('selectors' in template)) return template;
  const parts = template.selectors.map((part) => naivelyFilled(part, bindings));
  return template.kind === 'and' ? and(parts) : or(parts);
}

function naiveBinding({ term: kind, name }: ParameterSelector): string {
  const attribute = kind.includes('stream') ? 'stream' : kind.includes('type') ? 'event_type' : 'subject';
  return `${attribute}.${name}`;
}
