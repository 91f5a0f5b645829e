// Goal: a manifest has one encoding, and bytes that are not the encoding of the expected one are refused with a reason
// (X1). Method: the example of docs/formats/archive.md; every bit of it; manifests that another program has written
// with a right hash.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeUtf8 } from '#base';
import { decodeManifest, encodeManifest, endOf } from '../../../src/archive/manifest.ts';
import { newHash } from '../../support/archive/archived-history.ts';

const PAGE = join(import.meta.dirname, '../../../docs/formats/archive.md');
const EXAMPLE = readFileSync(PAGE, 'utf8').split('## Example')[1]?.split('```')[1] ?? '';
const BYTES = encodeUtf8(EXAMPLE.slice(EXAMPLE.indexOf('\n') + 1));
const EXPECTED = { databaseId: '019b76da-a800-7000-8000-000000000001', number: 812 };

/** The example with another text in place of one in it, and the hash of that. */
function written(text: string, other: string): Uint8Array {
  const [line = ''] = Buffer.from(BYTES).toString().split('\n');
  if (!line.includes(text)) throw new Error(`the example has no ${text}`);
  const changed = `${line.replace(text, other)}\n`;
  return encodeUtf8(`${changed}"${createHash('sha256').update(changed).digest('hex')}"\n`);
}

describe('a manifest', () => {
  it('is encoded as in the example of its page', () => {
    const manifest = decodeManifest(newHash, BYTES, EXPECTED);
    if (typeof manifest === 'string') throw new Error(manifest);
    expect(manifest).toMatchObject({
      number: 812,
      basis: { number: 811 },
      database: { name: 'shop' },
      writer: 'node-1',
    });
    expect(endOf(manifest)).toEqual({ position: 67_117_105, revision: 51_236, recordedTimeMs: 1_767_225_999_000 });
    expect(Buffer.from(encodeManifest(newHash, manifest)).toString()).toBe(Buffer.from(BYTES).toString());
  });

  it('is refused when any bit of it is changed, or its end is cut', () => {
    for (let bit = 0; bit < 8 * BYTES.length; bit++) {
      const bytes = BYTES.slice();
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(typeof decodeManifest(newHash, bytes, EXPECTED), `bit ${bit}`).toBe('string');
    }
    for (let length = 0; length < BYTES.length; length++) {
      expect(typeof decodeManifest(newHash, BYTES.subarray(0, length), EXPECTED), `${length} bytes`).toBe('string');
    }
  });

  it.each([
    ['"format":1', '"format":2', /^it has format 2, and this release reads format 1$/],
    ['"number":812', '"number":811', /^it is manifest 811 of database 019b76da-a800-7000-8000-000000000001$/],
    ['"id":"019b', '"id":"119b', /^it is manifest 812 of database 119b76da/],
    ['"writer":"node-1"', '"writer":1', /^a field is missing or has another type$/],
    ['"bytes":8192', '"bytes":-1', /^a field is missing or has another type$/],
    ['"chainHash":"', '"chainHash":"A', /^a field is missing or has another type$/],
    ['"writer":"node-1"', '"writer": "node-1"', /^it has an unknown field, or is written in another way$/],
    ['"writer":"node-1"', '"writer":"node-1","later":1', /^it has an unknown field, or is written in another way$/],
    ['"bytes":8192', '"bytes":8191', /^object \w{64} does not continue the one before it$/],
    ['"end":67117105,"revision":51236', '"end":67117105,"revision":1', /does not continue the one before it$/],
    ['{"format"', '["format"', /^it is no JSON object$/],
  ])('is refused with a reason when it has %s as %s', (text, other, reason) => {
    expect(decodeManifest(newHash, written(text, other), EXPECTED)).toMatch(reason);
  });
});
