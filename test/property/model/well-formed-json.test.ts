// Goal: the check of payloads, which allocates nothing, agrees with the platform's decoder and parser (M12). Method:
// random JSON with changed, inserted, removed and truncated bytes, inside other bytes.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, encodeUtf8 } from '#base';
import { isWellFormedJson } from '#model';
import { JSON_DEPTH_MAX } from '../../../src/model/limits.ts';
import { isPlatformJson } from '../../support/platform-json.ts';
import { runs } from '../../support/runs.ts';

function wanted(bytes: Uint8Array, from: number, to: number): boolean {
  return isPlatformJson(bytes.subarray(from, to));
}

/** Surrounded by bytes that are not part of the range. */
function answersAsWanted(bytes: Uint8Array, around: Uint8Array): boolean {
  const page = concatBytes([around, bytes, around]);
  const [from, to] = [around.length, around.length + bytes.length];
  const answer = wanted(bytes, 0, bytes.length);
  expect(isWellFormedJson(page, from, to)).toBe(answer);
  for (const end of [from, to - 1, to + 1, from + (bytes.length >> 1)].filter((each) => each >= from)) {
    expect(isWellFormedJson(page, from, Math.min(page.length, end))).toBe(
      wanted(page, from, Math.min(page.length, end)),
    );
  }
  return answer;
}

const SIGNS =
  '{ } [ ] , : " \\ / \t \n \r 0 1 2 9 - + . e E n t f u \u0000 \u001f \u007f \u00e9 \u2028 \u{10000} \ufeff';
const PARTS = 'true false null nul tru "" "a" "a": {} [] [[ ]] {"a":1} [1,2] -0 01 1e5 1. .5 1e 1e+';
const ESCAPED = String.raw`\u \u00e9 \uD800 \uGGGG \x \n \\`;
const PIECES = [...[SIGNS, PARTS, ESCAPED].join(' ').split(' '), ' ', 'x'.repeat(70)].map(encodeUtf8);

/** UTF-8 that is truncated, overlong, a surrogate, or beyond the last character. */
const ILL_FORMED = [
  [0x80],
  [0xc3],
  [0xc0, 0x80],
  [0xe2, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xff],
].map((bytes) => Uint8Array.from(bytes));

const arbPiece = fc.constantFrom(...PIECES, ...ILL_FORMED);
const arbAround = fc.oneof(fc.constant(new Uint8Array(0)), arbPiece);

const arbChange = fc.record({ place: fc.nat(), taken: fc.nat(2), piece: arbPiece });

const arbJson: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }),
    fc.constantFrom(undefined, 1, '\t'),
    fc.constantFrom('', ' ', '\r\n'),
  )
  .map(([value, indent, space]) => encodeUtf8(`${space}${JSON.stringify(value, undefined, indent)}${space}`));

function changed(
  json: Uint8Array,
  { place, taken, piece }: { place: number; taken: number; piece: Uint8Array },
): Uint8Array {
  const at = place % (json.length + 1);
  return concatBytes([json.subarray(0, at), piece, json.subarray(at + taken)]);
}

/** Counts valid and invalid JSON among the drawn values, because both must occur. */
function counted(arbBytes: fc.Arbitrary<Uint8Array>, numRuns: number): readonly [number, number] {
  const counts: [number, number] = [0, 0];
  fc.assert(
    fc.property(arbBytes, arbAround, (bytes, around) => {
      counts[answersAsWanted(bytes, around) ? 0 : 1]++;
    }),
    { numRuns },
  );
  return counts;
}

describe('isWellFormedJson (M12)', () => {
  it('agrees with the platform on changed JSON', { timeout: 60_000 }, () => {
    const arbChanged = fc
      .tuple(arbJson, fc.array(arbChange, { minLength: 1, maxLength: 3 }))
      .map(([json, changes]) => changes.reduce(changed, json));
    const [json, other] = counted(arbChanged, runs(10_000));
    expect(Math.min(json, other)).toBeGreaterThan(runs(200));
  });

  it('agrees with the platform on random parts of JSON', { timeout: 60_000 }, () => {
    const arbPieces = fc.array(arbPiece, { maxLength: 8 }).map(concatBytes);
    const [json, other] = counted(arbPieces, runs(10_000));
    expect(Math.min(json, other)).toBeGreaterThan(runs(50));
  });

  it('agrees with the platform on every byte at every position', () => {
    const json = encodeUtf8('{"a\\u00e9":[-1.5e+2,true,null,"é𐀀\\n"],"b":{"c":false}}');
    const different: string[] = [];
    for (let at = 0; at < json.length; at++) {
      for (let byte = 0; byte < 256; byte++) {
        const bytes = json.with(at, byte);
        if (isWellFormedJson(bytes, 0, bytes.length) !== wanted(bytes, 0, bytes.length))
          different.push(`${at} ${byte}`);
      }
    }
    expect(different).toEqual([]);
  });

  it.each([
    ['[', ']'],
    ['{"a":', '}'],
    [' [ ', '\n] '],
  ])('has at most the allowed levels, of %s', (open, close) => {
    const answers = [1, JSON_DEPTH_MAX, JSON_DEPTH_MAX + 1, 10 * JSON_DEPTH_MAX].map((count) => {
      const bytes = encodeUtf8(`${open.repeat(count)}1${close.repeat(count)}`);
      return [isWellFormedJson(bytes, 0, bytes.length), wanted(bytes, 0, bytes.length)];
    });
    expect(answers).toEqual([
      [true, true],
      [true, true],
      [false, false],
      [false, false],
    ]);
  });
});
