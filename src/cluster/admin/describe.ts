/**
 * Describes the cluster for operators: the content of the catalog, and the view of each node on the groups that it
 * leads. Each node describes what it knows; the node that received the request merges the descriptions.
 */
import {
  CATALOG_GROUP,
  type Clock,
  type DatabaseId,
  type GroupId,
  type LogIndex,
  type NodeId,
  nodeOf,
  type ReplicaId,
  type Revision,
} from '#base';
import { everybody, isVoter, lastId, type MemberState, memberStateOf } from '#raft';
import { hasOthers } from '../group/drain-transfers.ts';
import type { Group } from '../group/group.ts';
import type { ClockStanding } from '../group/peer-clocks.ts';
import type { CatalogMachine } from '../machine.ts';
import type { Binding, RegisteredNode } from '../outcome.ts';
import { loadsOf } from '../placement/spread.ts';

/** Role of a node in the catalog group. */
export type CatalogRole = 'voter' | 'learner' | 'none';

export interface DescribedNode extends RegisteredNode {
  /** True when it has answered just now. */
  readonly answers: boolean;
  /** True when it transfers its leaderships, to exit or to stay without any. */
  readonly isDraining: boolean;
  /** Leaderships that another voter could take, including that of the catalog, by its own report; 0 for other nodes. */
  readonly movableLeads: number;
  /** Databases with a current or planned replica on the node. */
  readonly copies: number;
  /** Databases that it leads. */
  readonly leads: number;
  readonly catalogRole: CatalogRole;
  /** Entries that its replica with the largest lag has not acknowledged, according to the leaders. */
  readonly lag: number;
  /** Time by which its clock is ahead of those of its peers, by its own report; absent: not at all, or no answer. */
  readonly clockAheadMs?: number;
  /** Its own report; absent without an answer. */
  readonly own?: OwnDescription;
}

/** The report of a node about itself. */
export interface OwnDescription {
  /** Release of its process; empty: unknown. */
  readonly release: string;
  /** Applied index of the catalog. */
  readonly catalogIndex: LogIndex;
  /** Committed entries of its replicas that it has not applied. */
  readonly unapplied: number;
  /** Used share of its data disk, in percent; 0: also unknown. */
  readonly diskUsedPercent: number;
  /** Components that its process has compiled or loaded, and those that it cannot run. */
  readonly components: readonly string[];
  readonly refused: readonly { readonly digest: string; readonly fault: string }[];
}

/** A member of a group as its leader sees it. */
export interface DescribedMember {
  readonly node: NodeId;
  readonly isVoter: boolean;
  /** `diverged`: it has another history than its group, and serves nothing. */
  readonly standing: MemberState | 'diverged';
  /** Entries of the log that it has not acknowledged. */
  readonly lag: number;
}

/** Origin of a recovered instance. */
export interface DescribedRecovery {
  /** The instance that had the name before. */
  readonly before: DatabaseId;
  /** The instance that its history started with. */
  readonly first: DatabaseId;
  /** Revision of the replica that it continues from. */
  readonly revision: Revision;
}

export interface DescribedDatabase {
  readonly name: string;
  readonly databaseId: DatabaseId;
  readonly group: GroupId;
  /** Replicas that it asks for; 0: as many as the setting of the cluster. */
  readonly copies: number;
  /** Nodes that should have a replica with a vote. */
  readonly nodes: readonly NodeId[];
  /** Nodes that have a replica which will be removed. */
  readonly leaving: readonly NodeId[];
  readonly isSettled: boolean;
  /** Undefined when no answering node leads it. */
  readonly leader: NodeId | undefined;
  readonly members: readonly DescribedMember[];
  /** Undefined for an instance that was created. */
  readonly recovery: DescribedRecovery | undefined;
  /**
   * Time by which its last recorded time is ahead of the clock of its leader; later ones repeat it. Absent: it is not
   * ahead.
   */
  readonly recordedAheadMs?: number;
}

/** A diverged replica. */
export interface DescribedDivergence {
  readonly node: NodeId;
  readonly group: GroupId;
  /** Name of the group, to be used after an article. */
  readonly title: string;
  readonly reason: string;
}

/** A node that receives connections from nodes of another cluster. */
interface DescribedOtherCluster {
  readonly node: NodeId;
  readonly reason: string;
}

export interface ClusterDescription {
  /** The reporting node. */
  readonly node: NodeId;
  readonly clusterId: string;
  readonly catalogLeader: NodeId | undefined;
  /** Index of the catalog that the description is based on. */
  readonly catalogIndex: LogIndex;
  /** True when a leader of the catalog has answered; otherwise the description may be out of date. */
  readonly isConfirmed: boolean;
  /** The feature level. */
  readonly level: number;
  readonly nodes: readonly DescribedNode[];
  readonly databases: readonly DescribedDatabase[];
  /** Reported by the answering nodes. */
  readonly diverged: readonly DescribedDivergence[];
  readonly otherClusters: readonly DescribedOtherCluster[];
}

/** The fields that the description of a core lacks; administration.ts adds them. */
export type CoreDescription = Omit<ClusterDescription, 'clusterId' | 'otherClusters'>;

export interface DescriptionPorts {
  readonly node: NodeId;
  readonly release?: string | undefined;
  readonly diskUsedPercent?: (() => number) | undefined;
  readonly catalog: () => CatalogMachine;
  readonly find: (id: GroupId) => Group | undefined;
  /** Returns whether a node, this one included, drains. */
  readonly isLeaving: (node: NodeId) => boolean;
  /** Groups that this node leads. */
  readonly led: () => Iterable<Group>;
  readonly clockStanding: () => Pick<ClockStanding, 'aheadMs'>;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  /** Committed entries that this node has not applied. */
  readonly unapplied: () => number;
  readonly diverged: () => readonly DescribedDivergence[];
  /** Fault of each component by digest; undefined when the process can run it. */
  readonly components: ReadonlyMap<string, string | undefined>;
}

/** Describes what the groups of this node know. */
export function describeHere(ports: DescriptionPorts): CoreDescription {
  const { node: self, find, isLeaving } = ports;
  const catalog = ports.catalog();
  const bindings = catalog.list();
  const now = { wallMs: ports.clock.nowMs(), nowMs: ports.monotonicMs() };
  const databases = bindings.map((binding) => describeDatabase(binding, find(binding.group), now));
  const group = find(CATALOG_GROUP);
  const copies = loadsOf(bindings);
  const clockAheadMs = Math.round(ports.clockStanding().aheadMs);
  const own = {
    movableLeads: [...ports.led()].filter(hasOthers).length,
    leads: databases.filter(({ leader }) => leader === self).length,
    own: describeOwn(ports),
    ...(clockAheadMs !== 0 && { clockAheadMs }),
  };
  const nodes = catalog.nodes().map((each) => ({
    ...each,
    answers: each.node === self,
    isDraining: isLeaving(each.node),
    movableLeads: 0,
    copies: each.isLearner && each.state !== 'removed' ? bindings.length : (copies.get(each.node) ?? 0),
    leads: 0,
    lag: 0,
    catalogRole: roleOf(each.node, group),
    ...(each.node === self && own),
  }));
  const leader = group?.leader;
  return {
    node: self,
    catalogLeader: leader && nodeOf(leader),
    catalogIndex: catalog.applied.index,
    isConfirmed: group?.isReady === true,
    level: catalog.level,
    nodes,
    databases,
    diverged: ports.diverged(),
  };
}

function describeOwn({
  release = '',
  diskUsedPercent,
  catalog,
  unapplied,
  components,
}: DescriptionPorts): OwnDescription {
  const digests = [...components.keys()].toSorted();
  return {
    release,
    catalogIndex: catalog().applied.index,
    unapplied: unapplied(),
    diskUsedPercent: diskUsedPercent?.() ?? 0,
    components: digests.filter((digest) => components.get(digest) === undefined),
    refused: digests.flatMap((digest) => {
      const fault = components.get(digest);
      return fault === undefined ? [] : [{ digest, fault }];
    }),
  };
}

/**
 * Merges descriptions: the catalog of its leader, or else the most recent one, because a node that was away or has just
 * joined may know little; with the report of each node about itself and its groups.
 */
export function together(own: ClusterDescription, others: readonly ClusterDescription[]): ClusterDescription {
  const all = [own, ...others];
  const [known = own] = all.toSorted((one, other) => rankOf(other) - rankOf(one));
  const byNode = new Map(all.map((each) => [each.node, each]));
  const led = new Map<GroupId, DescribedDatabase>();
  for (const { node, databases } of all) {
    for (const database of databases) if (database.leader === node) led.set(database.group, database);
  }
  const diverged = all.flatMap((each) => each.diverged);
  const databases = known.databases.map((database) => {
    const {
      leader,
      members: seen,
      recordedAheadMs,
    } = led.get(database.group) ?? {
      leader: soleHolder(database, byNode),
      members: [],
    };
    const members = marked(seen, database, diverged);
    return { ...database, leader, members, ...(recordedAheadMs !== undefined && { recordedAheadMs }) };
  });
  const lags = new Map<NodeId, number>();
  for (const { node, lag, standing } of databases.flatMap(({ members }) => members)) {
    if (standing !== 'diverged') lags.set(node, Math.max(lag, lags.get(node) ?? 0));
  }
  const nodes = known.nodes.map((node) => ({
    ...node,
    lag: lags.get(node.node) ?? 0,
    answers: byNode.has(node.node),
    isDraining: isDraining(byNode.get(node.node) ?? known, node.node),
    leads: databases.filter(({ leader }) => leader === node.node).length,
    ...ownWord(byNode.get(node.node), node.node),
  }));
  const catalogLeader = known.isConfirmed ? known.node : own.catalogLeader;
  const otherClusters = all.flatMap((each) => each.otherClusters);
  return { ...known, node: own.node, catalogLeader, nodes, databases, diverged, otherClusters };
}

/** The leader does not know which of its members left the group. */
function marked(
  members: readonly DescribedMember[],
  { group }: DescribedDatabase,
  diverged: readonly DescribedDivergence[],
): readonly DescribedMember[] {
  const nodes = diverged.filter((each) => each.group === group).map(({ node }) => node);
  return members.map((member) => (nodes.includes(member.node) ? { ...member, standing: 'diverged' } : member));
}

/**
 * If two nodes claim to lead, the one with the more recent catalog was elected later, or nothing has changed
 * since.
 */
function rankOf({ isConfirmed, catalogIndex }: ClusterDescription): number {
  return isConfirmed ? Number.MAX_SAFE_INTEGER / 2 + catalogIndex : catalogIndex;
}

function isDraining({ nodes }: ClusterDescription, number: NodeId): boolean {
  return nodes.some((each) => each.node === number && each.isDraining);
}

/** The report of a node about itself. */
function ownWord(
  said: ClusterDescription | undefined,
  number: NodeId,
): Pick<DescribedNode, 'clockAheadMs' | 'movableLeads' | 'own'> {
  const { clockAheadMs, movableLeads = 0, own } = said?.nodes.find(({ node }) => node === number) ?? {};
  return { movableLeads, ...(clockAheadMs !== undefined && { clockAheadMs }), ...(own !== undefined && { own }) };
}

/** A database with a single replica has no other possible leader, whether its group is open or not. */
function soleHolder({ nodes, leaving }: DescribedDatabase, heard: ReadonlyMap<NodeId, unknown>): NodeId | undefined {
  const [only, ...others] = [...nodes, ...leaving];
  return only !== undefined && others.length === 0 && heard.has(only) ? only : undefined;
}

function describeDatabase(
  binding: Binding,
  group: Group | undefined,
  { wallMs, nowMs }: { readonly wallMs: number; readonly nowMs: number },
): DescribedDatabase {
  const { name, databaseId, group: id, copies, replicas, isSettled, recovery: origin } = binding;
  const leaving = binding.leaving.map(nodeOf);
  const nodes = replicas.filter((replica) => !binding.leaving.includes(replica)).map(nodeOf);
  const leads = group?.leads === true;
  const members = leads ? everybody(group.raft.membership).map((each) => memberOf(group, each, nowMs)) : [];
  const leader = leads ? nodeOf(group.self) : undefined;
  const recovery = origin && { before: origin.databaseId, first: origin.rootId, revision: origin.revision };
  const aheadMs = leads ? group.machine.recordedTimeMs - wallMs : 0;
  const described = { name, databaseId, group: id, copies, nodes, leaving, isSettled, leader, members, recovery };
  return aheadMs > 0 ? { ...described, recordedAheadMs: aheadMs } : described;
}

function memberOf({ raft, self }: Group, member: ReplicaId, nowMs: number): DescribedMember {
  const match = raft.role.kind === 'leader' ? raft.role.peers.get(member)?.progress.match : undefined;
  const last = lastId(raft.log).index;
  return {
    node: nodeOf(member),
    isVoter: isVoter(raft.membership.voters, member),
    standing: memberStateOf(raft, member, nowMs),
    lag: member === self ? 0 : last - (match ?? 0),
  };
}

function roleOf(node: NodeId, group: Group | undefined): CatalogRole {
  const { voters, learners } = group?.raft.membership ?? { voters: undefined, learners: [] };
  const isOf = (replica: ReplicaId): boolean => nodeOf(replica) === node;
  if (voters !== undefined && (voters.incoming.some(isOf) || voters.outgoing.some(isOf))) return 'voter';
  return learners.some(isOf) ? 'learner' : 'none';
}
