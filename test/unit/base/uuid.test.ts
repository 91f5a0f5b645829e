// Goal: UUIDs are parsed and formatted as in RFC 9562. Method: random bytes formatted and parsed, and invalid texts.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { formatUuid, parseUuid, uuidv7, uuidv7Bytes } from '#base';
import { runs } from '../../support/runs.ts';

it('parseUuid reads the text of formatUuid, in upper and lower case', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const text = formatUuid(bytes);
      expect(text).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(parseUuid(text)).toEqual(bytes);
      expect(parseUuid(text.toUpperCase())).toEqual(bytes);
    }),
  );
});

it('parseUuid accepts the same texts as a regular expression', () => {
  const almost = fc
    .tuple(fc.uuid(), fc.nat(35), fc.string({ unit: 'binary', minLength: 0, maxLength: 2 }))
    .map(([text, at, change]) => text.slice(0, at) + change + text.slice(at + 1));
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.uuid(), almost), (text) => {
      const isUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
      expect(parseUuid(text) !== undefined).toBe(isUuid);
    }),
    { numRuns: runs(1000) },
  );
});

it('uuidv7 returns the example of RFC 9562, appendix A.6', () => {
  const random = { bytes: () => Uint8Array.from(Buffer.from('0cc318c4dc0c0c07398f', 'hex')) };
  const text = uuidv7(1_645_557_742_000, random);
  expect(text).toBe('017f22e2-79b0-7cc3-98c4-dc0c0c07398f');
  expect(formatUuid(uuidv7Bytes(1_645_557_742_000, random))).toBe(text);
});
