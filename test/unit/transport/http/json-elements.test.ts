// Goal: an object with an array of any length is valid JSON, as text when it is short and as bytes with a line break
// otherwise. Method: random and long values.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { JsonElements } from '../../../../src/transport/http/json-elements.ts';
import { type JsonMembers, jsonMembers } from '../../../../src/transport/http/json-text.ts';
import { PIECE_BYTES } from '../../../../src/transport/http/limits.ts';

const LONG = 'ä€😀"'.repeat(PIECE_BYTES / 4);

function elementsOf(pieces: readonly (readonly unknown[])[]): JsonElements {
  const elements = new JsonElements();
  for (const piece of pieces) elements.add(piece.map((value) => JSON.stringify(value)));
  return elements;
}

function textOf(written: string | Buffer): string {
  return typeof written === 'string' ? written : written.toString().replace(/\n$/, '');
}

function inside(members: JsonMembers): readonly string[] {
  return Object.entries(members).flatMap(([name, value]) =>
    value === undefined ? [] : [`"${name}":${JSON.stringify(value)}`],
  );
}

it.each([
  ['alone', {}, {}],
  ['with members before', { a: 1 }, {}],
  ['with members behind', {}, { z: 'x', none: undefined }],
  ['with both', { a: 1, none: undefined }, { z: 'x' }],
])('elements in an object are written %s', (_, first, last) => {
  for (const values of [[], ['x'], [1, null, { x: ['y'] }], [LONG], ['x', LONG, 'y', LONG]]) {
    const text = textOf(elementsOf([values]).inObject(jsonMembers(first), 'events', jsonMembers(last)));
    const members = [...inside(first), `"events":${JSON.stringify(values)}`, ...inside(last)];
    expect(text).toBe(`{${members.join(',')}}`);
  }
});

it('elements in an object are the same for any order of additions in pieces', () => {
  const arbPieces = fc.array(fc.array(fc.oneof(fc.jsonValue(), fc.constant(LONG)), { maxLength: 4 }), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(arbPieces, (pieces) => {
      const elements = elementsOf(pieces);
      expect(elements.count).toBe(pieces.flat().length);
      const body = elements.inObject('', 'events', '');
      expect(textOf(body)).toBe(JSON.stringify({ events: pieces.flat() }));
    }),
    { numRuns: 30 },
  );
});

it('elements without a name are an array, and short ones are text', () => {
  expect(elementsOf([['x', 1]]).inObject('', undefined, '')).toBe('["x",1]');
  expect(elementsOf([[LONG]]).inObject('', 'events', '')).toBeInstanceOf(Buffer);
});
