// Goal: no work for clients delays a beat, whatever it is: consensus and the links between nodes have a thread of
// their own. Method: three real nodes whose fronts are all on the thread of this test. It stands still for longer
// than any follower waits for a leader, and is then flooded by large transactions and scans; the leads stay where
// they were. That the time is long enough is shown by a process that stands still as a whole: it leads no more.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pauseNode, startNode } from '../../chaos/support/node-process.ts';
import { Direction } from '../../src/transport/grpc/gen/cairn/v1/event.ts';
import { TestClient } from '../support/grpc-client.ts';
import { event, transaction } from '../support/grpc-requests.ts';
import { startServerCluster, untilAllAreVoters } from '../support/server-cluster.ts';
import { endWithTest, testDir } from '../support/test-scope.ts';

const DATABASE = 'shop';
/** Followers wait for a leader for 2 to 3.5 s. */
const STANDSTILL_MS = 5000;
const FLOOD_MS = 3000;
const SPEC_MS = 120_000;
const PAYLOAD = Buffer.from(JSON.stringify({ text: 'x'.repeat(500) }));

interface Standing {
  /** The highest of all groups. */
  readonly term: number;
  /** Elections that anybody has begun. */
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

/** Nothing else of this thread runs meanwhile: no front reads, answers or sends. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('work for clients', () => {
  it('delays no beat: fronts that stand still, and fronts that are flooded, lose no lead', {
    timeout: SPEC_MS,
  }, async () => {
    await using cluster = await startServerCluster();
    const clients = cluster.nodes.map((address) => new TestClient(address));
    const [client] = clients;
    await client?.send('createDatabase', { databaseName: DATABASE });
    const write = async (id: string, count = 1): Promise<unknown> => {
      const events = Array.from({ length: count }, (_, at) => event({ id: `${id}-${at}`, data: PAYLOAD }));
      return client?.call('transact', transaction(DATABASE, events, { transactionId: crypto.randomUUID() }));
    };
    await write('before');
    const urls = [cluster.metrics, cluster.metricsOfHttp];
    const before = await Promise.all(urls.map(standingOf));
    standStill(STANDSTILL_MS);
    await write('behind');
    const untilMs = performance.now() + FLOOD_MS;
    let writes = 0;
    const writer = async (number: number): Promise<void> => {
      while (performance.now() < untilMs) {
        await write(`${number}-${writes}`, 1000);
        writes += 1;
      }
    };
    const reader = async (): Promise<void> => {
      const request = { databaseName: DATABASE, startRevision: 0, direction: Direction.DIRECTION_FORWARD, limit: 0 };
      while (performance.now() < untilMs) await client?.collect('scanDatabaseLog', request);
    };
    await Promise.all([...Array.from({ length: 8 }, (_, number) => writer(number)), reader(), reader()]);
    expect(writes).toBeGreaterThan(8);
    expect(await Promise.all(urls.map(standingOf))).toEqual(before);
    for (const each of clients) await each[Symbol.asyncDispose]();
  });

  it('would, if beats waited for it: a node that stands still as a whole for as long leads no more', {
    timeout: SPEC_MS,
  }, async () => {
    const dir = testDir();
    const start = (name: string, ...own: readonly string[]): ReturnType<typeof startNode> =>
      startNode({
        dataDir: join(dir, name),
        settings: ['--peer-port=0', `--node-name=${name}`, '--wal-segment-bytes=4MiB', '--ballast-bytes=0', ...own],
        onSpawn: endWithTest,
      });
    const one = await start('one');
    const others = await Promise.all([start('two', `--join=${one.peer}`), start('three', `--join=${one.peer}`)]);
    const term = async (): Promise<number> => (await standingOf(others[0]?.metrics ?? '')).term;
    await untilAllAreVoters(one, 3);
    const before = await term();
    await pauseNode(one, STANDSTILL_MS);
    await expect.poll(term, { timeout: 30_000 }).toBeGreaterThan(before);
  });
});
