// Goal: a health snapshot of a core has the members of its groups, the lag of each node and the queues, and becomes
// metrics. Method: three nodes in one thread, of which one is stopped; and a given snapshot.
import { expect, it } from 'vitest';
import { replicaOf, toNodeId } from '#base';
import { createMetrics } from '#observability';
import { membershipOf } from '#raft';
import { countMembers, lagOf } from '../../../../src/cluster/core/health.ts';
import { CoreCounter } from '../../../../src/cluster/core/observer.ts';
import { observeCore } from '../../../../src/cluster/front/node-metrics.ts';
import type { Group } from '../../../../src/cluster/group/group.ts';
import { PeerMeasureGatherer } from '../../../../src/cluster/peer/peer-measures.ts';
import type { Telemetry } from '../../../../src/cluster/thread/core-thread-messages.ts';
import { startTrio } from '../../../support/cluster/replica-world.ts';

it('a health snapshot has the lag of a stopped node, only on the leader, and none after its return', async () => {
  const { world, group, catalog, leader, others } = await startTrio();
  // If it led the catalog, the next leader would add its own entry.
  const [away, other] = others.toSorted((one, next) => Number(one === catalog) - Number(next === catalog));
  if (away === undefined || other === undefined) throw new Error('There are three nodes');
  await away.crash({ survives: () => true });
  for (const text of ['a', 'b', 'c', 'd']) await world.answer(leader.transact(group, text));
  await world.pass(500);
  const { lag, voters, learners, logQueue, storeQueue } = leader.core.health;
  expect({ voters, learners, logQueue, storeQueue }).toEqual({ voters: 3, learners: 0, logQueue: 0, storeQueue: 0 });
  expect([lag.get(away.node), lag.get(other.node)]).toEqual([4, 0]);
  expect(other.core.health.lag.get(away.node) ?? 0).toBeLessThan(4);

  await away.start();
  expect(away.core.health.lacking).toBeGreaterThan(0);
  await world.pass(2000);
  expect(leader.core.health.lag.get(away.node)).toBe(0);
  expect(away.core.health.lacking).toBe(0);
});

it('a health snapshot counts voters and learners', () => {
  const replicas = [1, 2, 3].map((node) => replicaOf(toNodeId(node)));
  expect(countMembers(membershipOf(replicas.slice(0, 2), replicas.slice(2)))).toEqual({ voters: 2, learners: 1 });
  expect(countMembers(undefined)).toEqual({ voters: 0, learners: 0 });
});

it('the lag of members skips groups at rest, whose members have everything', () => {
  let looks = 0;
  const role = { kind: 'leader', peers: new Map() };
  const group = (isAtRest: boolean): Group =>
    ({
      isAtRest,
      get timeless() {
        looks += 1;
        return { role, log: { runs: [], base: { index: 1, term: 1 } } };
      },
    }) as unknown as Group;
  const told = [2, 3].map(toNodeId);
  const resting = Array.from({ length: 3000 }, () => group(true));
  expect(lagOf([...resting, group(false)], told)).toEqual(new Map(told.map((node) => [node, 0])));
  expect(looks).toBe(1);
});

const levels = {
  openGroups: 4,
  ledGroups: 1,
  followedGroups: 2,
  term: 9,
  lastIndex: 30,
  committedIndex: 29,
  appliedIndex: 28,
};
const health: Telemetry['health'] = {
  levels,
  voters: 3,
  learners: 2,
  lag: new Map([
    [toNodeId(7), 12_000],
    [toNodeId(2), 0],
  ]),
  logQueue: 5,
  storeQueue: 60,
  heldBytes: 4096,
  clock: { aheadMs: 1250, isFar: false, jumpedMs: 0, peers: new Map([[toNodeId(2), 1250]]) },
  recordedAhead: { count: 2, database: 'shop', aheadMs: 4000 },
  diverged: 1,
  lacking: 0,
  rebuilds: { groups: 2, bytes: 300, damaged: 1 },
};

function found(): Telemetry {
  const counter = new CoreCounter();
  counter.elected();
  counter.followed();
  for (const result of ['lost', 'not_held', 'not_held'] as const) counter.campaignFailed(result);
  counter.committed(6);
  for (const elapsedMs of [1, 2]) counter.synced({ bytes: 100, elapsedMs });
  counter.written({ entryCount: 5, elapsedMs: 3 });
  const links = new PeerMeasureGatherer();
  const telemetry = { health, counts: counter.take(), links: links.take(), signs: links.signs };
  expect(counter.take().syncsMs).toEqual([]);
  return { ...telemetry, tickDelaysMs: [0.2, 900], messagesTaken: 90 };
}

it('telemetry becomes metrics: levels replace the previous ones, counts are added', async () => {
  const metrics = createMetrics({ runtime: false });
  const show = observeCore(metrics);
  show(structuredClone(found()), 100);
  const { body } = await metrics.render();
  for (const line of [
    'cairn_raft_members{role="voter"} 3',
    'cairn_raft_members{role="learner"} 2',
    'cairn_raft_follower_lag_entries{peer="2"} 0',
    'cairn_raft_follower_lag_entries{peer="7"} 12000',
    'cairn_worker_queue_depth{worker="core"} 10',
    'cairn_worker_queue_depth{worker="log"} 5',
    'cairn_worker_queue_depth{worker="store"} 60',
    'cairn_replicas_diverged 1',
    'cairn_replication_memory_bytes 4096',
    'cairn_raft_election_total{result="lost"} 1',
    'cairn_raft_election_total{result="timed_out"} 0',
    'cairn_raft_election_total{result="not_held"} 2',
    'cairn_raft_election_total{result="won"} 1',
    'cairn_raft_leader_changes_total 2',
    'cairn_raft_proposals_committed_total 6',
    'cairn_raft_proposals_applied_total 5',
    'cairn_wal_write_bytes_total 200',
    'cairn_wal_fsync_duration_seconds_count 2',
    'cairn_store_commit_duration_seconds_count 1',
    'cairn_raft_groups 4',
    'cairn_raft_has_leader 3',
    'cairn_raft_is_leader 1',
    'cairn_raft_term 9',
    'cairn_raft_applied_index 28',
    'cairn_core_tick_delay_seconds_bucket{le="0.001"} 1',
    'cairn_core_tick_delay_seconds_bucket{le="1.024"} 2',
  ]) {
    expect(body.split('\n')).toContain(line);
  }
  show({ ...found(), health: { ...health, lag: new Map() } }, 100);
  const { body: later } = await metrics.render();
  expect(later).not.toContain('cairn_raft_follower_lag_entries{');
  expect(later.split('\n')).toContain('cairn_wal_write_bytes_total 400');
});
