// Goal: the module that formats JSON in pages changes no value (TH5). Method: random JSON, compared with JavaScript's
// own functions.
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';

interface JsonText {
  readonly laidOut: (text: string) => string;
  readonly partsOf: (text: string) => readonly (readonly [name: string, text: string])[];
}

const ASSETS = join(import.meta.dirname, '../../../src/ui/html/assets');
const { laidOut, partsOf } = (await import(join(ASSETS, 'json-text.js'))) as JsonText;

it('JSON in pages is indented like JSON.stringify', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), fc.constantFrom(0, 1, 3), (value, spaces) => {
      expect(laidOut(JSON.stringify(value, undefined, spaces))).toBe(JSON.stringify(value, undefined, 2));
    }),
  );
});

it('JSON in pages keeps numbers, names and their order as they were written', () => {
  const text = '{"2":9007199254740993,"1":19.90,"a":1e400,"a":-0,"b":"\\u0041\\"}{"}';
  expect(laidOut(text).replaceAll(/\n\s*|(?<=:) /g, '')).toBe(text);
});

it('JSON in pages is split into the texts of its members', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 2), (value, spaces) => {
      const parts = partsOf(JSON.stringify(value, undefined, spaces));
      const read = parts.map(([name, text]) => [name, JSON.parse(text) as unknown]);
      expect(read).toEqual(Object.entries(JSON.parse(JSON.stringify(value)) as object));
    }),
  );
  expect(partsOf('[1.50, {"a":[1,2]}, []]')).toEqual([
    ['', '1.50'],
    ['', '{"a":[1,2]}'],
    ['', '[]'],
  ]);
  expect([partsOf('{}'), partsOf('[ ]'), partsOf('""')]).toEqual([[], [], []]);
});
