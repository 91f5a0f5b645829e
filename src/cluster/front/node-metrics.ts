/** Metrics of the front, and of the core by its telemetry. */
import type { DatabaseError, NodeId } from '#base';
import type { Metrics } from '#observability';
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
  const showLevels = observeLevels(metrics);
  const voters = metrics.gauge('cairn_raft_members', { role: 'voter' });
  const learners = metrics.gauge('cairn_raft_members', { role: 'learner' });
  const core = metrics.gauge('cairn_worker_queue_depth', { worker: 'core' });
  const log = metrics.gauge('cairn_worker_queue_depth', { worker: 'log' });
  const store = metrics.gauge('cairn_worker_queue_depth', { worker: 'store' });
  const held = metrics.gauge('cairn_replication_memory_bytes', {});
  const ahead = metrics.gauge('cairn_recorded_time_ahead_seconds', {});
  // Shown as 0 until the first snapshot, which may be long after the first scrape.
  const diverged = metrics.gauge('cairn_replicas_diverged', {});
  const rebuilding = metrics.gauge('cairn_databases_rebuilding', {});
  const left = metrics.gauge('cairn_rebuild_remaining_bytes', {});
  const alarm = metrics.gauge('cairn_corruption_alarm', {});
  for (const gauge of [voters, learners, core, log, store, held, ahead, diverged, rebuilding, left]) gauge.set(0);
  const delays = metrics.histogram('cairn_core_tick_delay_seconds', {});
  return ({ health, counts, tickDelaysMs, messagesTaken }, messagesSent) => {
    showCounts(counts);
    showLevels(health.levels);
    voters.set(health.voters);
    learners.set(health.learners);
    core.set(messagesSent - messagesTaken);
    log.set(health.logQueue);
    store.set(health.storeQueue);
    held.set(health.heldBytes);
    diverged.set(health.diverged);
    rebuilding.set(health.rebuilds.groups);
    left.set(health.rebuilds.bytes);
    alarm.set(health.rebuilds.damaged > 0 ? 1 : 0);
    ahead.set((health.recordedAhead?.aheadMs ?? 0) / MS_PER_SECOND);
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

function observeCounts(metrics: Metrics): (counts: Telemetry['counts']) => void {
  const elections = metrics.counter('cairn_raft_election_total', { result: 'won' });
  const lost = metrics.counter('cairn_raft_election_total', { result: 'lost' });
  const timedOut = metrics.counter('cairn_raft_election_total', { result: 'timed_out' });
  const notHeld = metrics.counter('cairn_raft_election_total', { result: 'not_held' });
  const leaderChanges = metrics.counter('cairn_raft_leader_changes_total', {});
  const committed = metrics.counter('cairn_raft_proposals_committed_total', {});
  const applied = metrics.counter('cairn_raft_proposals_applied_total', {});
  const walBytes = metrics.counter('cairn_wal_write_bytes_total', {});
  const syncs = metrics.histogram('cairn_wal_fsync_duration_seconds', {});
  const writes = metrics.histogram('cairn_store_commit_duration_seconds', {});
  return (counts) => {
    elections.add(counts.elections);
    lost.add(counts.lostCampaigns.lost);
    timedOut.add(counts.lostCampaigns.timed_out);
    notHeld.add(counts.lostCampaigns.not_held);
    leaderChanges.add(counts.elections + counts.followings);
    committed.add(counts.committed);
    walBytes.add(counts.logBytes);
    for (const elapsedMs of counts.syncsMs) syncs.observe(elapsedMs / MS_PER_SECOND);
    applied.add(counts.applied);
    for (const elapsedMs of counts.writesMs) writes.observe(elapsedMs / MS_PER_SECOND);
  };
}

function observeLevels(metrics: Metrics): (levels: Telemetry['health']['levels']) => void {
  const groups = metrics.gauge('cairn_raft_groups', {});
  const hasLeader = metrics.gauge('cairn_raft_has_leader', {});
  const isLeader = metrics.gauge('cairn_raft_is_leader', {});
  const term = metrics.gauge('cairn_raft_term', {});
  const lastIndex = metrics.gauge('cairn_raft_last_index', {});
  const committedIndex = metrics.gauge('cairn_raft_committed_index', {});
  const appliedIndex = metrics.gauge('cairn_raft_applied_index', {});
  return (levels) => {
    groups.set(levels.openGroups);
    hasLeader.set(levels.ledGroups + levels.followedGroups);
    isLeader.set(levels.ledGroups);
    term.set(levels.term);
    lastIndex.set(levels.lastIndex);
    committedIndex.set(levels.committedIndex);
    appliedIndex.set(levels.appliedIndex);
  };
}

function byNode(values: ReadonlyMap<NodeId, number>): readonly (readonly [NodeId, number])[] {
  return [...values].toSorted(([one], [other]) => one - other);
}
