// Goal: the digest of parts is that of their bytes in a row, however long and many they are. Method: against the hash
// object of the platform, around the length at which the way changes.
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { toHex } from '#base';
import { nativeSha256 } from '#cluster';

function bytes(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 31 + seed) & 0xff);
}

it.each([[[]], [[0]], [[32, 300]], [[32, 4063]], [[32, 4064]], [[32, 4065]], [[1, 0, 5000, 7]], [[100_000]]])(
  'nativeSha256 of parts of %j bytes is that of all of them',
  (lengths) => {
    const parts = lengths.map((length, seed) => bytes(length, seed));
    const expected = createHash('sha256').update(Buffer.concat(parts)).digest('hex');
    expect(toHex(nativeSha256(parts))).toBe(expected);
    // The memory that parts are joined in is used again.
    expect(toHex(nativeSha256(parts))).toBe(expected);
  },
);
