/**
 * Counts and durations in core and front, and their conversion to metrics.
 *
 * The core runs in another isolate than the metrics: it collects numbers that travel with its reports.
 */
import type { DatabaseError } from '#base';
import type { Metrics } from '#observability';
import type { Input, RaftState, Step } from '#raft';
import type { PersistedFacts } from '#storage';
import type { LostCampaign } from '../group/campaigns.ts';
import type { RaftLevels } from './raft-totals.ts';

/** Events that the core counts or times. The methods must not throw. */
export interface CoreObserver {
  /** A group of this node has a new leader. */
  elected(): void;
  followed(): void;
  /** An election of this node failed. */
  campaignFailed(result: LostCampaign): void;
  committed(entryCount: number): void;
  synced(facts: PersistedFacts): void;
  written(facts: WrittenFacts): void;
  /** Every step of every group, for tests; may throw, unlike the others, and then stops the core. */
  stepped?(before: RaftState, input: Input, after: Step): void;
}

/** One batch of the store. */
export interface WrittenFacts {
  readonly entryCount: number;
  readonly elapsedMs: number;
}

/** Events that the front times. The methods must not throw. */
export interface FrontObserver {
  /** A proposal has its outcome. */
  proposed(facts: { readonly elapsedMs: number }): void;
  /** A proposal or a read was refused or cancelled. */
  refused(facts: { readonly error: DatabaseError; readonly isProposal: boolean }): void;
  read(facts: { readonly elapsedMs: number }): void;
}

/** Counts of the core since the last report. */
export interface Measures {
  readonly elections: number;
  readonly followings: number;
  readonly committed: number;
  readonly syncs: readonly PersistedFacts[];
  readonly writes: readonly WrittenFacts[];
  readonly levels: CoreLevels;
}

/** Current levels of the core. */
export interface CoreLevels extends RaftLevels {
  /** Open groups, and those led by this node and by other nodes. */
  readonly openGroups: number;
  readonly ledGroups: number;
  readonly followedGroups: number;
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

/** Collects in the isolate of the core. */
export class MeasureGatherer implements CoreObserver {
  #elections = 0;
  #followings = 0;
  #lostCampaigns = noCampaigns();
  #committed = 0;
  #syncs: PersistedFacts[] = [];
  #writes: WrittenFacts[] = [];

  elected(): void {
    this.#elections += 1;
  }

  followed(): void {
    this.#followings += 1;
  }

  campaignFailed(result: LostCampaign): void {
    this.#lostCampaigns[result] += 1;
  }

  committed(entryCount: number): void {
    this.#committed += entryCount;
  }

  synced(facts: PersistedFacts): void {
    this.#syncs.push(facts);
  }

  written(facts: WrittenFacts): void {
    this.#writes.push(facts);
  }

  /** Failed elections since the last call; too rare to be part of every report. */
  takeLostCampaigns(): Readonly<Record<LostCampaign, number>> {
    const lost = this.#lostCampaigns;
    this.#lostCampaigns = noCampaigns();
    return lost;
  }

  /** Everything else collected since the last call. */
  take(levels: CoreLevels): Measures {
    const measures: Measures = {
      elections: this.#elections,
      followings: this.#followings,
      committed: this.#committed,
      syncs: this.#syncs,
      writes: this.#writes,
      levels,
    };
    this.#elections = 0;
    this.#followings = 0;
    this.#committed = 0;
    this.#syncs = [];
    this.#writes = [];
    return measures;
  }
}

function noCampaigns(): Record<LostCampaign, number> {
  return { lost: 0, timed_out: 0, not_held: 0 };
}

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

/** Adds the counts of a report of the core. */
export function observeMeasures(metrics: Metrics): (measures: Measures) => void {
  const elections = metrics.counter('cairn_raft_election_total', { result: 'won' });
  const leaderChanges = metrics.counter('cairn_raft_leader_changes_total', {});
  const committed = metrics.counter('cairn_raft_proposals_committed_total', {});
  const applied = metrics.counter('cairn_raft_proposals_applied_total', {});
  const walBytes = metrics.counter('cairn_wal_write_bytes_total', {});
  const syncs = metrics.histogram('cairn_wal_fsync_duration_seconds', {});
  const writes = metrics.histogram('cairn_store_commit_duration_seconds', {});
  const groups = metrics.gauge('cairn_raft_groups', {});
  const hasLeader = metrics.gauge('cairn_raft_has_leader', {});
  const isLeader = metrics.gauge('cairn_raft_is_leader', {});
  const term = metrics.gauge('cairn_raft_term', {});
  const lastIndex = metrics.gauge('cairn_raft_last_index', {});
  const committedIndex = metrics.gauge('cairn_raft_committed_index', {});
  const appliedIndex = metrics.gauge('cairn_raft_applied_index', {});
  return (measures) => {
    elections.add(measures.elections);
    leaderChanges.add(measures.elections + measures.followings);
    committed.add(measures.committed);
    for (const { bytes, elapsedMs } of measures.syncs) {
      walBytes.add(bytes);
      syncs.observe(elapsedMs / MS_PER_SECOND);
    }
    for (const { entryCount, elapsedMs } of measures.writes) {
      applied.add(entryCount);
      writes.observe(elapsedMs / MS_PER_SECOND);
    }
    const { levels } = measures;
    groups.set(levels.openGroups);
    hasLeader.set(levels.ledGroups + levels.followedGroups);
    isLeader.set(levels.ledGroups);
    term.set(levels.term);
    lastIndex.set(levels.lastIndex);
    committedIndex.set(levels.committedIndex);
    appliedIndex.set(levels.appliedIndex);
  };
}
