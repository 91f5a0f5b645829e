// Goal: a file that cannot be opened because no descriptor is free is opened as soon as one is; any other failure is
// reported immediately. Method: work that fails a given number of times, then succeeds.
import { expect, test } from 'vitest';
import { patiently, patientlyAwait } from '../../../src/storage/basis/descriptors.ts';

/** Fails twice as if no descriptor were free, then returns the number of calls. */
function scarce(code: string): () => number {
  let calls = 0;
  return () => {
    calls += 1;
    if (calls <= 2) throw Object.assign(new Error(`${code}: no luck`), { code });
    return calls;
  };
}

test.each(['EMFILE', 'ENFILE'])('opening is retried after %s', async (code) => {
  expect(patiently(scarce(code))).toBe(3);
  const work = scarce(code);
  expect(await patientlyAwait(async () => work())).toBe(3);
});

test.each(['EIO', 'ENOENT', 'EACCES'])('nothing is retried after %s', async (code) => {
  expect(() => patiently(scarce(code))).toThrow(code);
  const work = scarce(code);
  await expect(patientlyAwait(async () => work())).rejects.toThrow(code);
});
