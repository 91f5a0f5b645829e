// Goal: a node with its threads behaves like the core in one thread: other nodes reach it, it rejects another
// cluster, and it counts its work. Method: a real node on real files.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { parseAddress } from '#base';
import { type NodeOptions, startNode } from '#cluster';
import { createMetrics, silentLogger } from '#observability';
import { LONG_RUN_MS } from '../../../../src/cluster/store/silent-ends.ts';
import { CORE_WORKER } from '../../../../src/main/node/open-node.ts';
import { databaseKit } from '../../../support/cluster/machine-kit.ts';
import { eventually } from '../../../support/eventually.ts';
import { LinkedNode, OTHER_CLUSTER, placeOf } from '../../../support/peer-nodes.ts';
import { testDir } from '../../../support/test-scope.ts';

let directory = '';

beforeEach(() => {
  directory = testDir();
});

async function open(options: Partial<NodeOptions> = {}): ReturnType<typeof startNode> {
  const node = await startNode({
    coreWorker: CORE_WORKER,
    dataDirectory: directory,
    name: 'test',
    mayFound: true,
    logger: silentLogger,
    metrics: createMetrics({ runtime: false }),
    ...options,
  });
  onTestFinished(async () => node.drain());
  return node;
}

/** Number of threads of this process that write a log. */
function logThreads(): number {
  const tasks = readdirSync('/proc/self/task');
  return tasks.filter((task) => readFileSync(`/proc/self/task/${task}/comm`, 'utf8') === 'log\n').length;
}

it('a node refuses to start when it cannot listen for peers', async () => {
  await using other = await LinkedNode.open(placeOf(2));
  const opening = open({ links: { host: '127.0.0.1', port: other.links.port, peers: [] } });
  await expect(opening).rejects.toThrow(/^Cannot listen for peers on 127\.0\.0\.1:\d+ \(--peer-port\): /);
});

it('a node that nodes of another cluster dial logs it, and rejects requests only while it has no database (K1)', async () => {
  const logged: string[] = [];
  const logger = { ...silentLogger, warn: (event: string) => void logged.push(event) };
  const node = await open({ logger, links: { host: '127.0.0.1', port: 0, advertisedHost: '127.0.0.1', peers: [] } });
  const { port } = parseAddress(node.peerAddress ?? '') ?? { port: 0 };
  node.advertise({ grpc: '127.0.0.1:1', http: 'http://127.0.0.1:2' });
  await using stranger = await LinkedNode.open(placeOf(2), { clusterId: OTHER_CLUSTER });
  const { binding } = await node.createDatabase('shop');
  stranger.links.setPeers([{ ...placeOf(1), host: '127.0.0.1', port }]);
  await eventually(() => expect(logged).toContain('other-cluster'));
  expect(node.health().accepting).toBe(true);
  await node.transact(binding.group, databaseKit.payload('a'));
  await node.deleteDatabase('shop');
  await eventually(() => expect(node.health().accepting).toBe(false));
  await expect(node.createDatabase('shop')).rejects.toMatchObject({ details: { reason: 'OtherCluster' } });
});

it('a node has a thread for its log only when other nodes can reach it', async () => {
  const before = logThreads();
  const alone = await open();
  expect(logThreads()).toBe(before);
  await alone.drain();
  const node = await open({ links: { host: '127.0.0.1', port: 0, peers: [] } });
  expect(logThreads()).toBe(before + 1);
  const { binding } = await node.createDatabase('shop');
  await node.transact(binding.group, databaseKit.payload('a'));
});

it('a node makes all rows again after five ends without an error, and forgets them when it has run for long', async () => {
  const node = await open();
  const { binding } = await node.createDatabase('shop');
  await node.transact(binding.group, databaseKit.payload('a'));
  await node.drain();
  // This start makes a table of the log of LevelDB.
  await (await open()).drain();
  const starts = join(directory, 'starts');
  writeFileSync(starts, '.....');
  const logged: string[] = [];
  const logger = { ...silentLogger, error: (event: string) => void logged.push(event) };
  const again = await open({ logger });
  await eventually(() => expect(again.absence(binding.group)).toBeUndefined());
  await again.drain();
  expect([logged.splice(0), existsSync(join(directory, 'damage'))]).toEqual([
    ['rows-removed', 'database-rebuilding'],
    false,
  ]);
  await (await open()).drain();
  const timers = vi.spyOn(globalThis, 'setTimeout');
  writeFileSync(starts, '..');
  const last = await open({ logger });
  expect(readFileSync(starts, 'utf8')).toBe('...');
  for (const [work, delayMs] of timers.mock.calls) if (delayMs === LONG_RUN_MS) work();
  expect(existsSync(starts)).toBe(false);
  expect(await databaseKit.history(last.reader, binding.group)).toEqual(['a']);
  expect(logged).toEqual([]);
});

it('a node counts its work', async () => {
  const metrics = createMetrics({ runtime: false });
  const node = await open({ metrics });
  const { binding } = await node.createDatabase('shop');
  for (const text of ['a', 'b', 'c']) await node.transact(binding.group, databaseKit.payload(text));
  await node.latest(binding.group);
  let body = '';
  const read = (name: string): number => Number(new RegExp(`^${name}(?:\\{.*\\})? (.+)$`, 'm').exec(body)?.[1]);
  await eventually(async () => {
    ({ body } = await metrics.render());
    expect(read('cairn_raft_proposals_applied_total')).toBe(6);
  });
  expect(read('cairn_raft_proposal_duration_seconds_count')).toBe(4);
  expect(read('cairn_raft_read_index_duration_seconds_count')).toBe(1);
  expect(read('cairn_raft_is_leader')).toBe(2);
  expect(read('cairn_raft_election_total')).toBe(2);
  expect(read('cairn_raft_leader_changes_total')).toBe(2);
  expect(read('cairn_raft_term')).toBe(1);
  // Two no-ops, one creation, three transactions.
  expect(read('cairn_raft_proposals_applied_total')).toBe(6);
  expect(read('cairn_raft_proposals_committed_total')).toBe(6);
  for (const index of ['last', 'committed', 'applied']) expect(read(`cairn_raft_${index}_index`)).toBe(6);
  expect(read('cairn_wal_fsync_duration_seconds_count')).toBeGreaterThanOrEqual(6);
  // The three transactions may share a batch.
  expect(read('cairn_store_commit_duration_seconds_count')).toBeGreaterThanOrEqual(4);
  expect(read('cairn_disk_capacity_bytes')).toBeGreaterThan(0);
  await node.drain();
  await expect(node.transact(binding.group, databaseKit.payload('late'))).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect((await metrics.render()).body).toContain('cairn_rejected_total{reason="draining"} 1');
});
