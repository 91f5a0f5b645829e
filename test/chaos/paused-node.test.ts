// Goal: a node that is stopped for seconds under load and goes on answers what waited, loses nothing and follows its
// history on (C2). Method: SIGSTOP and SIGCONT to a real node with writers and a subscriber at work.
import { expect, it } from 'vitest';
import { Follower } from '../../chaos/support/follower.ts';
import { pauseNode, startNode } from '../../chaos/support/node-process.ts';
import { Proof } from '../../chaos/support/proof.ts';
import { StoreClient } from '../../chaos/support/store-client.ts';
import { type Ledger, Writers } from '../../chaos/support/writers.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const PAUSE_MS = 3000;
const PAUSES = 2;

it('a node that is stopped twice for three seconds under load answers every writer afterwards', {
  timeout: 120_000,
}, async () => {
  const dir = testDir();
  const node = await startNode({
    dataDir: dir,
    settings: ['--wal-segment-bytes=4MiB', '--ballast-bytes=0'],
    onSpawn: endWithTest,
  });
  using client = new StoreClient(node.grpc);
  const ledger: Ledger = new Map();
  const proof = new Proof(await client.createDatabase('paused'), ledger);
  const follower = new Follower('paused');
  const writers = new Writers({ address: node.grpc, database: 'paused' }, ledger);
  follower.start(node.grpc);
  writers.start(8);
  await writers.answered;

  for (let pause = 0; pause < PAUSES; pause++) {
    await pauseNode(node, PAUSE_MS);
    const before = proof.summary().acknowledged;
    await expect.poll(() => proof.summary().acknowledged, { timeout: 20_000 }).toBeGreaterThan(before + 8);
  }

  await writers.stop();
  const stored = await proof.check(node.grpc);
  expect(proof.summary()).toMatchObject({ refused: 0, unknownButStored: 0, unknownAndAbsent: 0 });
  await expect.poll(() => follower.count, { timeout: 20_000 }).toBe(stored.length);
  await follower.stop();
  follower.check(stored);
  expect(node.log()).not.toContain('"level":"error"');
});
