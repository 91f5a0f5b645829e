/** The cluster as JSON: its nodes, and its databases with leader and replication lag. */
import type { ClusterDescription } from '#cluster';
import type { Json } from './json-text.ts';

type Database = ClusterDescription['databases'][number];

/** At most this many databases; those that need attention come first. */
export function clusterMembers(cluster: ClusterDescription, databasesMax: number): Readonly<Record<string, Json>> {
  const { clusterId, node, catalogLeader, isConfirmed, level, nodes, databases } = cluster;
  const shown = databases.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, databasesMax);
  return {
    cluster_id: clusterId,
    node,
    catalog_leader: catalogLeader,
    confirmed: isConfirmed,
    feature_level: level,
    nodes: nodes.map(nodeMembers),
    database_count: databases.length,
    databases: shown.map(databaseMembers),
    diverged: ifAny(cluster.diverged.map(({ node: at, title, reason }) => ({ node: at, of: title, reason }))),
    other_clusters: ifAny(cluster.otherClusters.map(({ node: at, reason }) => ({ node: at, reason }))),
  };
}

function ifAny<Item>(items: readonly Item[]): readonly Item[] | undefined {
  return items.length === 0 ? undefined : items;
}

function rankOf({ leader, isSettled, members }: Database): number {
  if (leader === undefined || hasDiverged(members)) return 0;
  if (!isSettled) return 1;
  return lagOf(members) > 0 ? 2 : 3;
}

/** Log entries that the slowest member has not acknowledged. */
function lagOf(members: Database['members']): number {
  return Math.max(0, ...members.filter(({ standing }) => standing !== 'diverged').map(({ lag }) => lag));
}

function hasDiverged(members: Database['members']): boolean {
  return members.some(({ standing }) => standing === 'diverged');
}

function stateOf({ members, isSettled }: Database): string {
  if (hasDiverged(members)) return 'diverged';
  return isSettled ? 'settled' : 'moving';
}

function nodeMembers(described: ClusterDescription['nodes'][number]): Json {
  const { node, name, zone, answers, copies, leads, lag, own, mcp } = described;
  return {
    node,
    name,
    state: [described.state, described.isLearner && 'learner', described.isDraining && 'drains']
      .filter(Boolean)
      .join(', '),
    zone,
    answers,
    catalog: described.catalogRole,
    copies,
    leads,
    lag,
    release: own?.release || undefined,
    catalog_index: own?.catalogIndex,
    unapplied: own?.unapplied,
    grpc: described.grpc || undefined,
    http: described.http || undefined,
    mcp,
    clock_ahead_ms: described.clockAheadMs,
  };
}

function databaseMembers(database: Database): Json {
  const { name, databaseId, nodes, leaving, leader, members } = database;
  return {
    name,
    database_id: databaseId,
    nodes: nodes.join(' '),
    leaving: leaving.join(' ') || undefined,
    leader,
    lag: members.length === 0 ? undefined : lagOf(members),
    state: stateOf(database),
  };
}
