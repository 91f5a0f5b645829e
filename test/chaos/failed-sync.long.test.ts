// Goal: a failed sync, of the log or of the store, loses no acknowledged data (W7, W10, C2).
import { expect, it } from 'vitest';
import { endByFailedSync } from '../support/failed-sync.ts';
import { lacksTool } from '../support/needed-tools.ts';

it.skipIf(lacksTool('strace')).each([
  { call: 'fdatasync', error: 'ENOSPC', when: 25, says: /no space left/ },
  { call: 'fsync', error: 'EIO', when: 8, says: /could not be (written|made durable)/ },
])(
  'a node whose $call fails with $error at call $when ends with 70 and has lost nothing it answered',
  { timeout: 120_000 },
  async ({ says, ...failed }) => expect(await endByFailedSync(failed)).toEqual([expect.stringMatching(says)]),
);
