// Goal: the gathered bytes of a request equal the received ones, and need no more memory than those. Method: random
// pieces; the memory of pieces of a long request.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { GatheredBytes } from '../../../src/transport/gathered-bytes.ts';

const MIB = 2 ** 20;

function piece(length: number, first: number = 1): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, at) => (first + at) % 251).buffer);
}

function gathered(pieces: readonly Uint8Array[], announced?: number): Buffer {
  const bytes = new GatheredBytes(announced);
  for (const each of pieces) bytes.add(each);
  return Buffer.from(bytes.take());
}

it('gathered bytes equal the received ones, for any announced length', () => {
  const lengths = fc.array(fc.oneof(fc.nat(300), fc.nat(300_000)), { maxLength: 400 });
  fc.assert(
    fc.property(lengths, fc.option(fc.nat(4 * MIB), { nil: undefined }), (each, announced) => {
      const pieces = each.map((length, n) => piece(length, n));
      const whole = Buffer.concat(pieces);
      expect(gathered(pieces, announced).equals(whole)).toBe(true);
    }),
    { numRuns: 30 },
  );
});

it('gathered bytes keep no pieces of a long request, and need its memory once', () => {
  const bytes = new GatheredBytes(8 * MIB);
  const pieces = Array.from({ length: 128 }, (_, n) => piece(MIB / 16, n));
  const held: number[] = [];
  for (const each of pieces) {
    bytes.add(each);
    held.push(bytes.pieceCount);
  }
  expect(Math.max(...held)).toBeLessThanOrEqual(17);
  expect(pieces.slice(-64).map(({ length }) => length)).toEqual(Array.from({ length: 64 }, () => 0));
  const whole = bytes.take();
  expect([whole.length, whole.buffer.byteLength]).toEqual([8 * MIB, 8 * MIB]);
  expect([bytes.byteCount, bytes.pieceCount]).toEqual([0, 0]);
});
