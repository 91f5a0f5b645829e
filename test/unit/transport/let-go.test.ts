// Goal: of a long request nothing is held once it is answered for good, and all of it while another node may be asked.
// Method: requests in memory of their own, and of others', beside work that ends in each way.
import { describe, expect, it } from 'vitest';
import { DatabaseError, type ErrorCode } from '#base';
import { lettingGo } from '../../../src/transport/let-go.ts';

const BYTES = 100_000;

describe('a request that is let go of', () => {
  it('is there while it is worked on, and gone with its answer', async () => {
    const request = new Uint8Array(BYTES);
    expect(await lettingGo(request, 0, async () => request.length)).toBe(BYTES);
    expect(request.buffer.byteLength).toBe(0);
  });

  it.each<readonly [ErrorCode, number]>([
    ['invalid_argument', 0],
    ['too_large', 0],
    ['not_found', BYTES],
    ['unavailable', BYTES],
    ['busy', BYTES],
  ])('that ends as %s leaves %d bytes', async (code, left) => {
    const request = new Uint8Array(BYTES);
    const failure = new DatabaseError(code, 'It is refused');
    await expect(lettingGo(request, 0, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(request.length).toBe(left);
  });

  it('stays where its memory is that of others, too', async () => {
    const shared = new Uint8Array(2 * BYTES);
    const [request, framed] = [shared.subarray(BYTES), new Uint8Array(BYTES + 5).subarray(5)];
    await lettingGo(request, 5, async () => undefined);
    await lettingGo(framed, 5, async () => undefined);
    expect([request.length, framed.length]).toEqual([BYTES, 0]);
  });
});
