// Goal: work for clients does not delay heartbeats, because consensus and peer links have their own thread. Method:
// block the threads of all three fronts for longer than an election timeout; no leadership may move.
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { startServerCluster } from '../support/server-cluster.ts';

const DATABASE = 'shop';
/** Followers wait for a leader for 2 to 3.5 s. */
const STANDSTILL_MS = 5000;
const SPEC_MS = 120_000;
/** Metrics of a node are up to two seconds old. */
const SETTLED_MS = 3000;

interface Standing {
  /** The highest term of all groups. */
  readonly term: number;
  /** Number of elections that were started. */
  readonly elections: number;
}

async function standingOf(metricsUrl: string): Promise<Standing> {
  const text = await (await fetch(metricsUrl)).text();
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm'))].reduce(
      (all, [, each]) => all + Number(each),
      0,
    );
  return { term: sum('cairn_raft_term'), elections: sum('cairn_raft_election_total') };
}

/**
 * Returns the state of several nodes once it no longer changes: leaderships are transferred after a database is
 * created.
 */
function settled(urls: readonly string[]): Promise<readonly Standing[]> {
  let last: readonly Standing[] = [];
  return eventually(
    async () => {
      const now = await Promise.all(urls.map(standingOf));
      const isSame = isDeepStrictEqual(now, last);
      last = now;
      if (!isSame) throw new Error('leads are on their way');
      return now;
    },
    { interval: SETTLED_MS },
  );
}

/** Blocks this thread: no front reads, answers or sends meanwhile. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

it('work for clients delays no heartbeat: nodes with blocked fronts keep their leaderships', {
  timeout: SPEC_MS,
}, async () => {
  await using cluster = await startServerCluster();
  const { client } = cluster;
  await client.send('createDatabase', { databaseName: DATABASE });
  const write = (id: string): Promise<unknown> => client.call('transact', transaction(DATABASE, [event({ id })]));
  await write('before');
  const urls = [cluster.metrics, cluster.metricsOfHttp];
  const before = await settled(urls);
  standStill(STANDSTILL_MS);
  await write('behind');
  expect(await settled(urls)).toEqual(before);
});
