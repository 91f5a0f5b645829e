// Goal: base64 decodes to the bytes that were encoded, and each byte sequence has one spelling (B4). Method: Node's
// Buffer is the oracle for random bytes; tables have the spellings that must be rejected.
import { Buffer } from 'node:buffer';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { fromBase64, fromBase64Url, toBase64Url } from '#base';

it('base64 decodes what Node encodes, and spells it like Node', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
      const node = Buffer.from(bytes);
      expect(toBase64Url(bytes)).toBe(node.toString('base64url'));
      expect(fromBase64(node.toString('base64'))).toEqual(bytes);
      expect(fromBase64Url(toBase64Url(bytes))).toEqual(bytes);
    }),
  );
});

it.each(['a', 'TQ', 'TQ=', 'TQ===', 'TQ==TQ==', 'TR==', 'TWF-', 'TW F', 'TWE\n', '====', 'é234'])(
  'base64 rejects %j in the standard alphabet',
  (text) => {
    expect(fromBase64(text)).toBeUndefined();
  },
);

it.each(['a', 'TQ==', 'TR', 'TWE+', 'T WE', 'abcde'])('base64 rejects %j in the URL-safe alphabet', (text) => {
  expect(fromBase64Url(text)).toBeUndefined();
});
