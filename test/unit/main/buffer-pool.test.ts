// Goal: a message of kilobytes has memory of its own, so that it can be given back alone.
import { expect, test } from 'vitest';
import { narrowBufferPool } from '../../../src/main/buffer-pool.ts';

test('what is joined to more than 4 KiB is not cut from a pool', () => {
  const before = Buffer.poolSize;
  narrowBufferPool();
  const parts = [new Uint8Array(5), new Uint8Array(5000)];
  expect(Buffer.concat(parts).buffer.byteLength).toBe(5005);
  Buffer.poolSize = before;
});
