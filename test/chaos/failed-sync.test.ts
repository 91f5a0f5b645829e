// Goal: a failed sync of the log ends the node and loses no acknowledged data (W7, W10, C2).
import { expect, it } from 'vitest';
import { endByFailedSync } from '../support/failed-sync.ts';
import { lacksTool } from '../support/needed-tools.ts';

const EIO = { call: 'fdatasync', error: 'EIO', when: 40, says: /could not be written \(EIO/ };

it.skipIf(lacksTool('strace')).each([
  { ...EIO, log: 'the thread of its core' },
  { ...EIO, log: 'a thread of its own', settings: ['--peer-port=0'] },
])(
  'a node that syncs on $log and whose $call fails with $error at call $when ends with 70 and loses no answer',
  { timeout: 120_000 },
  async ({ says, ...failed }) => expect(await endByFailedSync(failed)).toEqual([expect.stringMatching(says)]),
);
