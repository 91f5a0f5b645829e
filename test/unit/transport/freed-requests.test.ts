// Goal: the memory of a long request is released when its answer is final, and kept while another node may be asked.
// Method: requests that end with each error.
import { expect, it } from 'vitest';
import { DatabaseError, type ErrorCode } from '#base';
import { lettingGo } from '../../../src/transport/gathered-bytes.ts';

const BYTES = 100_000;

it.each<readonly [ErrorCode, number]>([
  ['invalid_argument', 0],
  ['too_large', 0],
  ['not_found', BYTES],
  ['unavailable', BYTES],
  ['busy', BYTES],
])('a request that is released and ends with %s leaves %d bytes', async (code, left) => {
  const request = new Uint8Array(BYTES);
  const failure = new DatabaseError(code, 'It is refused');
  await expect(lettingGo(request, 0, () => Promise.reject(failure))).rejects.toBe(failure);
  expect(request.length).toBe(left);
});

it('a request that is released keeps memory that it shares', async () => {
  const shared = new Uint8Array(2 * BYTES);
  const [request, framed] = [shared.subarray(BYTES), new Uint8Array(BYTES + 5).subarray(5)];
  await lettingGo(request, 5, async () => undefined);
  await lettingGo(framed, 5, async () => undefined);
  expect([request.length, framed.length]).toEqual([BYTES, 0]);
});
