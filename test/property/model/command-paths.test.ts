// Goal: a component that routes by a path template extracts exactly the values that were filled in (M10). Method:
// random templates and values; the router of the component SDK, which shares no code with the filling.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Faults } from '#model';
import { Router } from '../../../sdk/component/src/routes.ts';
import { fillPath, openNames, type PathTemplate, parsePathTemplate } from '../../../src/model/path-template.ts';
import { runs } from '../../support/runs.ts';

const arbFixed = fc.string({
  minLength: 1,
  maxLength: 6,
  unit: fc.constantFrom(...Array.from("abz09-._~:@!$&=+,;'()*ä🏦")),
});
const arbOpen = fc
  .string({ minLength: 1, maxLength: 4, unit: fc.constantFrom(...Array.from('aZ_')) })
  .map((name) => `{${name}}`);
const arbPath = fc
  .array(fc.oneof(arbFixed, arbOpen), { minLength: 1, maxLength: 6 })
  .map((segments) => `/${segments.join('/')}`);
/** Any text, and characters with a meaning in paths. */
const arbValue = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.string({ minLength: 1, unit: fc.constantFrom(...Array.from('/{}%?#. \0é')) }),
  fc.constantFrom('.', '..', '%2F', '{a}', '\n'),
);

function parsed(path: string): PathTemplate | undefined {
  return parsePathTemplate(path, { field: 'path', faults: new Faults() });
}

it('a router extracts the values that a path template was filled with (M10)', () => {
  fc.assert(
    fc.property(arbPath, fc.infiniteStream(arbValue), (path, stream) => {
      const template = parsed(path) ?? { segments: [] };
      const names = [...openNames(template)];
      const values = new Map([...stream.take(names.length)].map((value, n) => [names[n] ?? '', value]));
      const filled = fillPath(template, values, { field: 'parameters', faults: new Faults() }) ?? '';
      const found = new Router({ [`GET ${path}`]: true }).find('GET', filled);
      expect(found).toEqual({ target: true, parameters: Object.fromEntries(values) });
      // A filled template is a path without parameters.
      expect(openNames(parsed(filled) ?? { segments: [{ kind: 'open', name: 'x' }] }).size).toBe(0);
    }),
    { numRuns: runs(500) },
  );
});

it('a path template is filled only with values for all its parameters', () => {
  fc.assert(
    fc.property(arbPath, fc.func(fc.boolean()), (path, isGiven) => {
      const template = parsed(path) ?? { segments: [] };
      const names = [...openNames(template)];
      const given = names.filter((name) => isGiven(name));
      const faults = new Faults();
      const filled = fillPath(template, new Map(given.map((name) => [name, 'x'])), { field: 'p', faults });
      expect([filled === undefined, faults.count]).toEqual([given.length < names.length, names.length - given.length]);
    }),
  );
});

it('a path template is parsed or refused with one fault, for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (text, isPath) => {
      const faults = new Faults();
      const template = parsePathTemplate(isPath ? `/${text}` : text, { field: 'path', faults });
      expect(faults.count).toBe(template === undefined ? 1 : 0);
    }),
  );
});
