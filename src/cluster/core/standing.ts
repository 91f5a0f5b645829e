/**
 * How a core is: what is looked at once a second, beside its reports, because nobody counts it as it changes and it
 * need not be newer. The core looks, in its isolate; the front, which has the metrics, shows it.
 */
import { type GroupId, type NodeId, nodeOf } from '#base';
import type { Metrics } from '#observability';
import { lastId, type Membership, members } from '#raft';
import type { LostCampaign } from '../group/campaigns.ts';
import type { Group } from '../group/group.ts';
import type { ClockStanding } from '../group/peer-clocks.ts';

export interface CoreStanding {
  /** Of the catalog, to which every node belongs. */
  readonly voters: number;
  readonly learners: number;
  /** By node, the most entries that a group led here has and that node is not known to hold. */
  readonly lag: ReadonlyMap<NodeId, number>;
  /** Appends that were given to the log and are not durable. */
  readonly logQueue: number;
  /** Entries that are committed and whose rows are not in the store. */
  readonly storeQueue: number;
  /** What all groups hold of entries and of requests that are none yet (C35). */
  readonly heldBytes: number;
  /** Replicas here that hold another history than their groups (C42). */
  readonly diverged: number;
  /** Groups that are waited for since the start (catch-up.ts). */
  readonly lacking: number;
  readonly clock: ClockStanding;
  readonly recordedAhead: RecordedAhead | undefined;
}

/** Databases led here that were given recorded times which the clock has not reached: their times stand still. */
export interface RecordedAhead {
  readonly count: number;
  /** The one that is furthest ahead. */
  readonly database: string;
  readonly aheadMs: number;
}

/** What has been counted since the last look, where the core runs. */
export interface CoreCounts {
  /** Attempts to lead a group that failed. */
  readonly lostCampaigns: Readonly<Record<LostCampaign, number>>;
  /** How late the ticks of the core were. */
  readonly tickDelaysMs: readonly number[];
  /** Messages of the front that were taken since the core was opened. */
  readonly messagesTaken: number;
}

/** A message to the front. */
export type StandingMessage = CoreStanding & CoreCounts & OtherClusterSign & RefusalSign;

export interface OtherClusterSign {
  /** A sentence that says how this node and another cluster contradict each other; undefined: they do not. */
  readonly otherCluster: string | undefined;
}

export interface RefusalSign {
  /** Why every node that this one reaches refuses it, in a sentence; undefined: one accepts it, or none is reached. */
  readonly refusedBy: string | undefined;
}

const MS_PER_SECOND = 1000;

/** How many vote, and how many only receive; nobody while the group is not known. */
export function countMembers(membership: Membership | undefined): Pick<CoreStanding, 'voters' | 'learners'> {
  return membership === undefined
    ? { voters: 0, learners: 0 }
    : { voters: members(membership.voters).length, learners: membership.learners.length };
}

/**
 * By node, the most that it lacks of any of these groups, which are led here. Members of a group at rest lack nothing
 * (C31), and there may be thousands of those: `told` are the nodes that have such members.
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

/** What is known of recorded times ahead of the clock, unless it is less than what clocks may differ by. */
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

/** What counts of a group that is led here. */
type LedGroup = Pick<Group, 'isAtRest' | 'timeless'>;

/** Shows what a look has found. `messagesSent` is how many messages the core was sent by now. */
export function observeStanding(metrics: Metrics): (standing: StandingMessage, messagesSent: number) => void {
  const voters = metrics.gauge('cairn_raft_members', { role: 'voter' });
  const learners = metrics.gauge('cairn_raft_members', { role: 'learner' });
  const core = metrics.gauge('cairn_worker_queue_depth', { worker: 'core' });
  const log = metrics.gauge('cairn_worker_queue_depth', { worker: 'log' });
  const store = metrics.gauge('cairn_worker_queue_depth', { worker: 'store' });
  const held = metrics.gauge('cairn_replication_memory_bytes', {});
  const ahead = metrics.gauge('cairn_recorded_time_ahead_seconds', {});
  // Until the first look, which may be long after the first scrape.
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
