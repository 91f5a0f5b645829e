// Goal: load that makes no progress is told from load that does: answers to what was sent before count for nothing.
// Method: the writers of the chaos tests on a real node.
import { expect, it } from 'vitest';
import { StoreClient } from '../../chaos/support/store-client.ts';
import { type Ledger, Writers } from '../../chaos/support/writers.ts';
import { startTestServer } from '../support/server.ts';

const WAIT_MS = 60_000;

it('writers whose only answers are replays make no progress', { timeout: WAIT_MS }, async () => {
  await using server = await startTestServer();
  using client = new StoreClient(server.grpc);
  await client.createDatabase('replayed');
  const ledger: Ledger = new Map();
  const target = { address: server.grpc, database: 'replayed' };
  const first = new Writers(target, ledger);
  first.start(1);
  expect(await first.stall(WAIT_MS)).toBeUndefined();
  await first.stop();
  for (const attempt of ledger.values()) attempt.outcome = { kind: 'unknown' };

  const again = new Writers(target, ledger);
  again.start(0);
  expect(await again.stall(WAIT_MS)).toBe('every writer ended before anything new was acknowledged');
  await again.stop();
  expect([...ledger.values()].some(({ outcome }) => outcome.kind === 'acknowledged')).toBe(true);
});
