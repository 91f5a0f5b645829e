// Goal: a node whose disk fails a sync ends with exit code 70 and one line that says so; no transaction that it
// answered is missing after a plain restart, and none that was in flight was answered with success (W7, W10, C2).
// Method: a real node under strace, which makes the n-th sync of each of its threads fail, with writers that never
// stop.
import { expect, it } from 'vitest';
import { type NodeProcess, startNode } from '../../chaos/support/node-process.ts';
import { Proof } from '../../chaos/support/proof.ts';
import { StoreClient } from '../../chaos/support/store-client.ts';
import { type Ledger, Writers } from '../../chaos/support/writers.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const SETTINGS = ['--wal-segment-bytes=4MiB', '--ballast-bytes=0', '--store-write-buffer-bytes=1MiB'];

async function start(dataDir: string, under: readonly string[] = []): Promise<NodeProcess> {
  return startNode({ dataDir, under, settings: SETTINGS, onSpawn: endWithTest });
}

/** Lets the call number `when` of each thread, and every one after it, fail. */
function failing(call: string, error: string, when: number): readonly string[] {
  const quiet = ['--follow-forks', '--seccomp-bpf', '--quiet=all', '--output=/dev/null'];
  return ['strace', ...quiet, '-e', `trace=${call}`, '-e', `inject=${call}:error=${error}:when=${when}+`];
}

it.skipIf(lacksTool('strace')).each([
  { call: 'fdatasync', error: 'EIO', when: 12, says: /could not be written \(EIO/ },
  { call: 'fdatasync', error: 'EIO', when: 40, says: /could not be written \(EIO/ },
  { call: 'fdatasync', error: 'ENOSPC', when: 25, says: /no space left/ },
  { call: 'fsync', error: 'EIO', when: 8, says: /store in .* could not be (written|made durable)/ },
])(
  'a node whose $call fails with $error at call $when ends with 70 and has lost nothing it answered',
  { timeout: 120_000 },
  async ({ call, error, when, says }) => {
    const dir = testDir();
    const first = await start(dir);
    using client = new StoreClient(first.grpc);
    const proof = await proofOf(client);
    first.kill('SIGTERM');
    expect(await first.ended).toBe(0);

    const node = await start(dir, failing(call, error, when));
    const writers = new Writers({ address: node.grpc, database: 'sync' }, proof.ledger);
    writers.start(8);
    expect(await node.ended).toBe(70);
    await writers.stop();

    const fatal = node
      .log()
      .split('\n')
      .filter((line) => line.includes('"fatal"'));
    expect(fatal).toEqual([expect.stringMatching(says)]);
    expect(writers.refused).toEqual([]);
    const next = await start(dir);
    await proof.check(next.grpc);
    const { acknowledged, unknownButStored, unknownAndAbsent } = proof.summary();
    expect(acknowledged).toBeGreaterThan(0);
    expect(unknownButStored + unknownAndAbsent).toBeGreaterThan(0);
    next.kill('SIGKILL');
    await next.ended;
  },
);

async function proofOf(client: StoreClient): Promise<Proof & { readonly ledger: Ledger }> {
  const ledger: Ledger = new Map();
  return Object.assign(new Proof(await client.createDatabase('sync'), ledger), { ledger });
}
