// Goal: the digest of parts is that of their concatenation, for any lengths and numbers. Method: compared with the hash
// object of the platform, around the length at which the implementation changes.
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { toHex } from '#base';
import { nativeSha256 } from '#cluster';

function bytes(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 31 + seed) & 0xff);
}

it.each([[[]], [[0]], [[32, 300]], [[32, 4063]], [[32, 4064]], [[32, 4065]], [[1, 0, 5000, 7]], [[100_000]]])(
  'nativeSha256 of parts of %j bytes equals that of their concatenation',
  (lengths) => {
    const parts = lengths.map((length, seed) => bytes(length, seed));
    const expected = createHash('sha256').update(Buffer.concat(parts)).digest('hex');
    expect(toHex(nativeSha256(parts))).toBe(expected);
    // The memory in which parts are joined is reused.
    expect(toHex(nativeSha256(parts))).toBe(expected);
  },
);
