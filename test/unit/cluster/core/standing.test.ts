// Goal: a health snapshot of a core has the members of its groups, the lag of each node and the queues, and becomes
// metrics. Method: three nodes in one thread, of which one is stopped; and a given snapshot.
import { expect, it } from 'vitest';
import { replicaOf, toNodeId } from '#base';
import { createMetrics } from '#observability';
import { membershipOf } from '#raft';
import { countMembers, lagOf, observeStanding, type StandingMessage } from '../../../../src/cluster/core/standing.ts';
import type { Group } from '../../../../src/cluster/group/group.ts';
import { startTrio } from '../../../support/cluster/replica-world.ts';

it('a health snapshot has the lag of a stopped node, only on the leader, and none after its return', async () => {
  const { world, group, catalog, leader, others } = await startTrio();
  // If it led the catalog, the next leader would add its own entry.
  const [away, other] = others.toSorted((one, next) => Number(one === catalog) - Number(next === catalog));
  if (away === undefined || other === undefined) throw new Error('There are three nodes');
  await away.crash({ survives: () => true });
  for (const text of ['a', 'b', 'c', 'd']) await world.answer(leader.transact(group, text));
  await world.pass(500);
  const { lag, voters, learners, logQueue, storeQueue } = leader.core.standing;
  expect({ voters, learners, logQueue, storeQueue }).toEqual({ voters: 3, learners: 0, logQueue: 0, storeQueue: 0 });
  expect([lag.get(away.node), lag.get(other.node)]).toEqual([4, 0]);
  expect(other.core.standing.lag.get(away.node) ?? 0).toBeLessThan(4);

  await away.start();
  expect(away.core.standing.lacking).toBeGreaterThan(0);
  await world.pass(2000);
  expect(leader.core.standing.lag.get(away.node)).toBe(0);
  expect(away.core.standing.lacking).toBe(0);
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

const found: StandingMessage = {
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
  lostCampaigns: { lost: 1, timed_out: 0, not_held: 4 },
  tickDelaysMs: [0.2, 900],
  messagesTaken: 90,
  otherCluster: undefined,
  refusedBy: undefined,
};

it('a health snapshot replaces the previous one in the metrics', async () => {
  const metrics = createMetrics({ runtime: false });
  const show = observeStanding(metrics);
  show(structuredClone(found), 100);
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
    'cairn_raft_election_total{result="not_held"} 4',
    'cairn_core_tick_delay_seconds_bucket{le="0.001"} 1',
    'cairn_core_tick_delay_seconds_bucket{le="1.024"} 2',
  ]) {
    expect(body.split('\n')).toContain(line);
  }
  show({ ...found, lag: new Map() }, 100);
  expect((await metrics.render()).body).not.toContain('cairn_raft_follower_lag_entries{');
});
