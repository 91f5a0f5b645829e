// Goal: UTF-8 is checked in place with the same result as the platform's decoder. Method: the platform's fatal decoder
// is the oracle.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codePointAt, encodeUtf8, indexOfIllFormed, sequenceLength, toHex, utf8Length } from '#base';
import { runs } from '../../support/runs.ts';

const judge = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function agreesWithThePlatform(bytes: Uint8Array): void {
  let wellFormed = true;
  try {
    judge.decode(bytes);
  } catch {
    wellFormed = false;
  }
  const hex = toHex(bytes);
  expect({ hex, wellFormed: indexOfIllFormed(bytes) === -1 }).toEqual({ hex, wellFormed });
}

describe('UTF-8 in place', () => {
  it('is well-formed when the platform decodes it, for any bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 50 }), agreesWithThePlatform));
    const edges = [
      0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5,
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...edges), { maxLength: 6 }), (list) =>
        agreesWithThePlatform(Uint8Array.from(list)),
      ),
      { numRuns: runs(3000) },
    );
  });

  it('reports the first ill-formed byte within the range', () => {
    const bytes = Uint8Array.of(0x61, 0xc3, 0xa9, 0xff, 0x62);
    expect(indexOfIllFormed(bytes)).toBe(3);
    expect(indexOfIllFormed(bytes, 0, 3)).toBe(-1);
    expect(indexOfIllFormed(bytes, 0, 2)).toBe(1);
  });

  it('returns code points and lengths', () => {
    const encoded = encodeUtf8('aé€😀');
    const points: number[] = [];
    for (let at = 0; at < encoded.length; ) {
      const length = sequenceLength(encoded, at, encoded.length);
      points.push(codePointAt(encoded, at, length));
      at += length;
    }
    expect(points).toEqual([0x61, 0xe9, 0x20ac, 0x1f600]);
  });

  it('has the length of its encoding, also with lone surrogates', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'é', '€', '😀', '\ud800', '\udc00'), { maxLength: 9 }), (parts) => {
        const text = parts.join('');
        expect(utf8Length(text)).toBe(encodeUtf8(text).length);
      }),
    );
  });
});
