/** Metrics of the front, and of the core by its telemetry. */
import type { DatabaseError, NodeId } from '#base';
import type { Count, Level, Metrics } from '#observability';
import type { Telemetry } from '../thread/core-thread-messages.ts';

/** Events that the front times. The methods must not throw. */
export interface FrontObserver {
  /** A proposal has its outcome. */
  proposed(facts: { readonly elapsedMs: number }): void;
  /** A proposal or a read was refused or cancelled. */
  refused(facts: { readonly error: DatabaseError; readonly isProposal: boolean }): void;
  read(facts: { readonly elapsedMs: number }): void;
}

const MS_PER_SECOND = 1000;
/** Refusals for overload, by the names of refusals.ts. */
const REJECTIONS = {
  Draining: 'draining',
  DiskFull: 'disk_full',
  EntryTooLarge: 'too_large',
  UncommittedBytes: 'overload',
  WaitingBytes: 'overload',
  ApplyBacklog: 'overload',
  PendingReads: 'overload',
  ForwardedBytes: 'overload',
  ReplicationMemory: 'overload',
} as const;

/** Counts events of the front. */
export function observeFront(metrics: Metrics): FrontObserver {
  const proposals = metrics.histogram('cairn_raft_proposal_duration_seconds', {});
  const failures = metrics.counter('cairn_raft_proposals_failed_total', {});
  const rejections = new Map(
    Object.entries(REJECTIONS).map(([reason, label]) => [
      reason,
      metrics.counter('cairn_rejected_total', { reason: label }),
    ]),
  );
  const reads = metrics.histogram('cairn_raft_read_index_duration_seconds', {});
  return {
    proposed: ({ elapsedMs }) => proposals.observe(elapsedMs / MS_PER_SECOND),
    refused: ({ error, isProposal }) => {
      if (isProposal) failures.add();
      rejections.get(error.details.reason ?? '')?.add();
    },
    read: ({ elapsedMs }) => reads.observe(elapsedMs / MS_PER_SECOND),
  };
}

/** Shows the telemetry of the core. `messagesSent` is the number of messages sent to it so far. */
export function observeCore(metrics: Metrics): (telemetry: Telemetry, messagesSent: number) => void {
  const showCounts = observeCounts(metrics);
  const gauges = healthGauges(metrics);
  const core = metrics.gauge('cairn_worker_queue_depth', { worker: 'core' });
  const alarm = metrics.gauge('cairn_corruption_alarm', {});
  // Shown as 0 until the first snapshot, which may be long after the first scrape.
  for (const gauge of [core, ...gauges.map(([each]) => each)]) gauge.set(0);
  const delays = metrics.histogram('cairn_core_tick_delay_seconds', {});
  return ({ health, counts, tickDelaysMs, messagesTaken }, messagesSent) => {
    showCounts(counts);
    for (const [gauge, valueIn] of gauges) gauge.set(valueIn(health));
    core.set(messagesSent - messagesTaken);
    alarm.set(health.rebuilds.damaged > 0 ? 1 : 0);
    metrics.setSeries(
      'cairn_clock_offset_seconds',
      byNode(health.clock.peers).map(([node, ms]) => ({ labels: { peer: String(node) }, value: ms / MS_PER_SECOND })),
    );
    metrics.setSeries(
      'cairn_raft_follower_lag_entries',
      byNode(health.lag).map(([node, value]) => ({ labels: { peer: String(node) }, value })),
    );
    for (const delayMs of tickDelaysMs) delays.observe(delayMs / MS_PER_SECOND);
  };
}

type Health = Telemetry['health'];

function healthGauges(metrics: Metrics): readonly (readonly [Level, (health: Health) => number])[] {
  return [
    [metrics.gauge('cairn_raft_members', { role: 'voter' }), ({ voters }) => voters],
    [metrics.gauge('cairn_raft_members', { role: 'learner' }), ({ learners }) => learners],
    [metrics.gauge('cairn_worker_queue_depth', { worker: 'log' }), ({ logQueue }) => logQueue],
    [metrics.gauge('cairn_worker_queue_depth', { worker: 'store' }), ({ storeQueue }) => storeQueue],
    [metrics.gauge('cairn_replication_memory_bytes', {}), ({ heldBytes }) => heldBytes],
    [metrics.gauge('cairn_recorded_time_ahead_seconds', {}), aheadSeconds],
    [metrics.gauge('cairn_replicas_diverged', {}), ({ diverged }) => diverged],
    [metrics.gauge('cairn_databases_rebuilding', {}), ({ rebuilds }) => rebuilds.groups],
    [metrics.gauge('cairn_rebuild_remaining_bytes', {}), ({ rebuilds }) => rebuilds.bytes],
    [metrics.gauge('cairn_raft_groups', {}), ({ levels }) => levels.openGroups],
    [metrics.gauge('cairn_raft_has_leader', {}), ({ levels }) => levels.ledGroups + levels.followedGroups],
    [metrics.gauge('cairn_raft_is_leader', {}), ({ levels }) => levels.ledGroups],
    [metrics.gauge('cairn_raft_term', {}), ({ levels }) => levels.term],
    [metrics.gauge('cairn_raft_last_index', {}), ({ levels }) => levels.lastIndex],
    [metrics.gauge('cairn_raft_committed_index', {}), ({ levels }) => levels.committedIndex],
    [metrics.gauge('cairn_raft_applied_index', {}), ({ levels }) => levels.appliedIndex],
  ];
}

function aheadSeconds({ recordedAhead }: Health): number {
  return (recordedAhead?.aheadMs ?? 0) / MS_PER_SECOND;
}

function observeCounts(metrics: Metrics): (counts: Telemetry['counts']) => void {
  const counters: readonly (readonly [Count, (counts: Telemetry['counts']) => number])[] = [
    [metrics.counter('cairn_raft_election_total', { result: 'won' }), ({ elections }) => elections],
    [metrics.counter('cairn_raft_election_total', { result: 'lost' }), ({ lostCampaigns }) => lostCampaigns.lost],
    [metrics.counter('cairn_raft_election_total', { result: 'timed_out' }), (counts) => counts.lostCampaigns.timed_out],
    [metrics.counter('cairn_raft_election_total', { result: 'not_held' }), (counts) => counts.lostCampaigns.not_held],
    [metrics.counter('cairn_raft_leader_changes_total', {}), (counts) => counts.elections + counts.followings],
    [metrics.counter('cairn_raft_proposals_committed_total', {}), ({ committed }) => committed],
    [metrics.counter('cairn_raft_proposals_applied_total', {}), ({ applied }) => applied],
    [metrics.counter('cairn_wal_write_bytes_total', {}), ({ logBytes }) => logBytes],
  ];
  const syncs = metrics.histogram('cairn_wal_fsync_duration_seconds', {});
  const writes = metrics.histogram('cairn_store_commit_duration_seconds', {});
  return (counts) => {
    for (const [counter, countIn] of counters) counter.add(countIn(counts));
    for (const elapsedMs of counts.syncsMs) syncs.observe(elapsedMs / MS_PER_SECOND);
    for (const elapsedMs of counts.writesMs) writes.observe(elapsedMs / MS_PER_SECOND);
  };
}

function byNode(values: ReadonlyMap<NodeId, number>): readonly (readonly [NodeId, number])[] {
  return [...values].toSorted(([one], [other]) => one - other);
}
