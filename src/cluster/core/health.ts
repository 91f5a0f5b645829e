/** Health snapshot of a core, computed once a second because its values need not be newer. */
import { type GroupId, type NodeId, nodeOf } from '#base';
import { lastId, type Membership, members } from '#raft';
import type { Group } from '../group/group.ts';
import type { ClockStanding } from '../group/peer-clocks.ts';
import type { RaftLevels } from './raft-totals.ts';
import type { RebuildProgress } from './rebuilds.ts';

export interface CoreHealth {
  readonly levels: CoreLevels;
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
  readonly rebuilds: RebuildProgress;
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

/** Numbers of groups, and sums of their indexes. */
export interface CoreLevels extends RaftLevels {
  /** Open groups, and those led by this node and by other nodes. */
  readonly openGroups: number;
  readonly ledGroups: number;
  readonly followedGroups: number;
}

/** Numbers of voters and learners; 0 while the group is not known. */
export function countMembers(membership: Membership | undefined): Pick<CoreHealth, 'voters' | 'learners'> {
  return membership === undefined
    ? { voters: 0, learners: 0 }
    : { voters: members(membership.voters).length, learners: membership.learners.length };
}

/**
 * Maximum lag by node over these groups, which this node leads. Members of a group at rest do not lag (C31), and
 * there may be thousands of such groups: `atRest` are the nodes with such members.
 */
export function lagOf(led: Iterable<LedGroup>, atRest: Iterable<NodeId>): ReadonlyMap<NodeId, number> {
  const lag = new Map<NodeId, number>();
  for (const node of atRest) lag.set(node, 0);
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
