// Goal: a file that cannot be opened for want of descriptors is opened as soon as there is one; any other failure is
// told at once. Method: work that fails so often, and then works.
import { expect, test } from 'vitest';
import { patiently, patientlyAwait } from '../../../src/storage/descriptors.ts';

/** Fails twice as if there were no descriptor, then answers how often it was called. */
function scarce(code: string): () => number {
  let calls = 0;
  return () => {
    calls += 1;
    if (calls <= 2) throw Object.assign(new Error(`${code}: no luck`), { code });
    return calls;
  };
}

test.each(['EMFILE', 'ENFILE'])('opening is tried again after %s', async (code) => {
  expect(patiently(scarce(code))).toBe(3);
  const work = scarce(code);
  expect(await patientlyAwait(async () => work())).toBe(3);
});

test.each(['EIO', 'ENOENT', 'EACCES'])('nothing is tried again after %s', async (code) => {
  expect(() => patiently(scarce(code))).toThrow(code);
  const work = scarce(code);
  await expect(patientlyAwait(async () => work())).rejects.toThrow(code);
});
