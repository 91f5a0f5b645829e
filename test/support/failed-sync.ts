// A test of a node whose disk fails a sync under continuous writes (W7, W10, C2). The node must exit with code 70 and
// log the reason; after a normal restart no acknowledged transaction may be missing, and no unsynced one may have been
// acknowledged. A real node runs under strace, which makes the n-th sync of each thread fail.
import { expect } from 'vitest';
import { Proof } from '../../chaos/support/proof.ts';
import { StoreClient } from '../../chaos/support/store-client.ts';
import { type Ledger, Writers } from '../../chaos/support/writers.ts';
import { SMALL_STORE, startOwnNode } from './own-node.ts';
import { testDir } from './test-scope.ts';

export interface FailedSync {
  readonly call: string;
  readonly error: string;
  /** Number of the first failing call of each thread, above the calls of a start; all later ones fail too. */
  readonly when: number;
  /** Further settings. Without a peer port among them, the core writes the log. */
  readonly settings?: readonly string[];
}

/** Command prefix that makes call number `when` of each thread fail, and every later one. */
function failing(call: string, error: string, when: number): readonly string[] {
  const quiet = ['--follow-forks', '--seccomp-bpf', '--quiet=all', '--output=/dev/null'];
  return ['strace', ...quiet, '-e', `trace=${call}`, '-e', `inject=${call}:error=${error}:when=${when}+`];
}

/** Runs the test and returns the log lines about the node's end. */
export async function endByFailedSync({ call, error, when, settings = [] }: FailedSync): Promise<readonly string[]> {
  const dir = testDir();
  const small = [...SMALL_STORE, ...settings];
  const first = await startOwnNode(dir, small);
  using client = new StoreClient(first.grpc);
  const proof = await proofOf(client);
  first.kill('SIGTERM');
  expect(await first.ended).toBe(0);

  const node = await startOwnNode(dir, small, { under: failing(call, error, when) });
  const writers = new Writers({ address: node.grpc, database: 'sync' }, proof.ledger);
  writers.start(8);
  expect(await node.ended).toBe(70);
  await writers.stop();

  const fatal = node
    .log()
    .split('\n')
    .filter((line) => line.includes('"fatal"'));
  expect(writers.refused).toEqual([]);
  const next = await startOwnNode(dir, small);
  await proof.check(next.grpc);
  const { acknowledged, unknownButStored, unknownAndAbsent } = proof.summary();
  expect(acknowledged).toBeGreaterThan(0);
  expect(unknownButStored + unknownAndAbsent).toBeGreaterThan(0);
  next.kill('SIGKILL');
  await next.ended;
  return fatal;
}

async function proofOf(client: StoreClient): Promise<Proof & { readonly ledger: Ledger }> {
  const ledger: Ledger = new Map();
  return Object.assign(new Proof(await client.createDatabase('sync'), ledger), { ledger });
}
