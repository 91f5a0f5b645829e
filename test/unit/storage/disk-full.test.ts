// Goal: a log on a real disk that is full stops before the first byte of a batch, loses nothing, and opens again while
// the disk is still full; and the guard of free space sees the disk fill up (W13, W15). Method: a child process inside
// a mount namespace of its own, on a tmpfs of 12 MiB.

import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { lacksTool } from '../../support/needed-tools.ts';
import { tempDir } from '../../support/temp-dir.ts';

const CHILD = resolve(import.meta.dirname, '../../support/full-disk-child.ts');
const SCRIPT = 'mount -t tmpfs -o size=12m cairn "$1" && exec "$2" --conditions=source "$3" "$1"';

it.skipIf(lacksTool('unshare'))(
  'a full disk stops the log cleanly and moves the guard through its levels (W13, W15)',
  {
    timeout: 60_000,
  },
  async () => {
    using directory = tempDir();
    // The superuser of a namespace of one's own may mount, and what is mounted goes with the namespace.
    const unshare = ['--mount', '--user', '--map-root-user', 'sh', '-ec', SCRIPT, 'sh'];
    const args = [...unshare, directory.path, process.execPath, CHILD];
    const { stdout } = await promisify(execFile)('unshare', args);
    const { log, guard } = JSON.parse(stdout) as {
      log: { acknowledged: number; held: number; kind: string };
      guard: unknown;
    };
    expect(log.kind).toBe('full');
    expect(log.acknowledged).toBeGreaterThan(100);
    expect(log.held).toBe(log.acknowledged);
    expect(guard).toEqual(['open 1', 'refusing-writes 1', 'refusing-writes 0', 'read-only 0', 'open 1']);
  },
);
