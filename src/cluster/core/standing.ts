/**
 * Health snapshot of a core, computed once a second because its values need not be newer. The core computes it in its
 * isolate; the front, which has the metrics, shows it.
 */
import { type GroupId, type NodeId, nodeOf } from '#base';
import type { Metrics } from '#observability';
import { lastId, type Membership, members } from '#raft';
import type { LostCampaign } from '../group/campaigns.ts';
import type { Group } from '../group/group.ts';
import type { ClockStanding } from '../group/peer-clocks.ts';

export interface CoreStanding {
  /** Voters of the catalog, which every node belongs to. */
  readonly voters: number;
  readonly learners: number;
  /** Maximum lag by node in entries over the groups that this node leads. */
  readonly lag: ReadonlyMap<NodeId, number>;
  /** Appends to the log that are not durable. */
  readonly logQueue: number;
  /** Committed entries whose rows are not in the store. */
  readonly storeQueue: number;
  /** Memory of all groups for entries and for requests that are not entries yet (C35). */
  readonly heldBytes: number;
  /** Diverged replicas on this node (C42). */
  readonly diverged: number;
  /** Groups that have not caught up since the start (catch-up.ts). */
  readonly lacking: number;
  readonly clock: ClockStanding;
  readonly recordedAhead: RecordedAhead | undefined;
}

/** Databases led by this node whose recorded time is ahead of the clock. */
export interface RecordedAhead {
  readonly count: number;
  /** The database that is furthest ahead. */
  readonly database: string;
  readonly aheadMs: number;
}

/** Counts since the last snapshot, in the isolate of the core. */
export interface CoreCounts {
  /** Failed elections of this node. */
  readonly lostCampaigns: Readonly<Record<LostCampaign, number>>;
  /** Delays of the ticks of the core. */
  readonly tickDelaysMs: readonly number[];
  /** Messages of the front processed since the core was opened. */
  readonly messagesTaken: number;
}

/** Message to the front. */
export type StandingMessage = CoreStanding & CoreCounts & OtherClusterSign & RefusalSign;

export interface OtherClusterSign {
  /** Description of a conflict between this node and another cluster; undefined: none. */
  readonly otherCluster: string | undefined;
}

export interface RefusalSign {
  /** Reason why every reachable node refuses this one; undefined: one accepts it, or none is reachable. */
  readonly refusedBy: string | undefined;
  /** Reason of a node that refuses this process because it has accepted another one of this node (TP12). */
  readonly otherProcess?: string | undefined;
}

const MS_PER_SECOND = 1000;

/** Numbers of voters and learners; 0 while the group is not known. */
export function countMembers(membership: Membership | undefined): Pick<CoreStanding, 'voters' | 'learners'> {
  return membership === undefined
    ? { voters: 0, learners: 0 }
    : { voters: members(membership.voters).length, learners: membership.learners.length };
}

/**
 * Maximum lag by node over these groups, which this node leads. Members of a group at rest do not lag (C31), and
 * there may be thousands of such groups: `told` are the nodes with such members.
 */
export function lagOf(led: Iterable<LedGroup>, told: Iterable<NodeId>): ReadonlyMap<NodeId, number> {
  const lag = new Map<NodeId, number>();
  for (const node of told) lag.set(node, 0);
  for (const group of led) {
    const raft = group.isAtRest ? undefined : group.timeless;
    if (raft?.role.kind !== 'leader') continue;
    const last = lastId(raft.log).index;
    for (const [replica, { progress }] of raft.role.peers) {
      const node = nodeOf(replica);
      lag.set(node, Math.max(lag.get(node) ?? 0, last - progress.match));
    }
  }
  return lag;
}

/** Recorded times ahead of the clock, unless the difference is within the tolerance of clocks. */
export function recordedAheadOf(
  led: Iterable<Pick<Group, 'id' | 'machine'>>,
  clock: {
    readonly wallMs: number;
    readonly aheadMsMax: number;
    readonly nameOf: (group: GroupId) => string | undefined;
  },
): RecordedAhead | undefined {
  let found: RecordedAhead | undefined;
  for (const { id, machine } of led) {
    const aheadMs = machine.recordedTimeMs - clock.wallMs;
    const database = aheadMs > clock.aheadMsMax ? clock.nameOf(id) : undefined;
    if (database === undefined) continue;
    const count = (found?.count ?? 0) + 1;
    found = found !== undefined && found.aheadMs >= aheadMs ? { ...found, count } : { count, database, aheadMs };
  }
  return found;
}

/** The used properties of a group that this node leads. */
type LedGroup = Pick<Group, 'isAtRest' | 'timeless'>;

/** Shows a snapshot in the metrics. `messagesSent` is the number of messages sent to the core so far. */
export function observeStanding(metrics: Metrics): (standing: StandingMessage, messagesSent: number) => void {
  const voters = metrics.gauge('cairn_raft_members', { role: 'voter' });
  const learners = metrics.gauge('cairn_raft_members', { role: 'learner' });
  const core = metrics.gauge('cairn_worker_queue_depth', { worker: 'core' });
  const log = metrics.gauge('cairn_worker_queue_depth', { worker: 'log' });
  const store = metrics.gauge('cairn_worker_queue_depth', { worker: 'store' });
  const held = metrics.gauge('cairn_replication_memory_bytes', {});
  const ahead = metrics.gauge('cairn_recorded_time_ahead_seconds', {});
  // Shown as 0 until the first snapshot, which may be long after the first scrape.
  const diverged = metrics.gauge('cairn_replicas_diverged', {});
  for (const gauge of [voters, learners, core, log, store, held, ahead, diverged]) gauge.set(0);
  const delays = metrics.histogram('cairn_core_tick_delay_seconds', {});
  const campaigns = {
    lost: metrics.counter('cairn_raft_election_total', { result: 'lost' }),
    timed_out: metrics.counter('cairn_raft_election_total', { result: 'timed_out' }),
    not_held: metrics.counter('cairn_raft_election_total', { result: 'not_held' }),
  };
  return (standing, messagesSent) => {
    voters.set(standing.voters);
    learners.set(standing.learners);
    core.set(messagesSent - standing.messagesTaken);
    log.set(standing.logQueue);
    store.set(standing.storeQueue);
    held.set(standing.heldBytes);
    diverged.set(standing.diverged);
    ahead.set((standing.recordedAhead?.aheadMs ?? 0) / MS_PER_SECOND);
    metrics.setSeries(
      'cairn_clock_offset_seconds',
      byNode(standing.clock.peers).map(([node, ms]) => ({ labels: { peer: String(node) }, value: ms / MS_PER_SECOND })),
    );
    metrics.setSeries(
      'cairn_raft_follower_lag_entries',
      byNode(standing.lag).map(([node, value]) => ({ labels: { peer: String(node) }, value })),
    );
    for (const delayMs of standing.tickDelaysMs) delays.observe(delayMs / MS_PER_SECOND);
    const { lost, timed_out: timedOut, not_held: notHeld } = standing.lostCampaigns;
    if (lost > 0) campaigns.lost.add(lost);
    if (timedOut > 0) campaigns.timed_out.add(timedOut);
    if (notHeld > 0) campaigns.not_held.add(notHeld);
  };
}

function byNode(values: ReadonlyMap<NodeId, number>): readonly (readonly [NodeId, number])[] {
  return [...values].toSorted(([one], [other]) => one - other);
}
