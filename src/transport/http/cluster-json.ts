/** The cluster as JSON: its nodes, and its databases with leader and replication lag. */
import type { ClusterDescription } from '#cluster';
import {
  type JsonMembers,
  type JsonText,
  jsonArray,
  jsonInteger,
  jsonObject,
  jsonString,
  jsonStringIfPresent,
} from './json-text.ts';

type Database = ClusterDescription['databases'][number];

/** At most this many databases; those that need attention come first. */
export function clusterMembers(cluster: ClusterDescription, databasesMax: number): JsonMembers {
  const { clusterId, node, catalogLeader, isConfirmed, level, nodes, databases } = cluster;
  const shown = databases.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, databasesMax);
  return {
    cluster_id: jsonString(clusterId),
    node: jsonInteger(node),
    catalog_leader: catalogLeader === undefined ? undefined : jsonInteger(catalogLeader),
    confirmed: String(isConfirmed),
    feature_level: jsonInteger(level),
    nodes: jsonArray(nodes.map(nodeJson)),
    database_count: jsonInteger(databases.length),
    databases: jsonArray(shown.map(databaseJson)),
    diverged: cluster.diverged.length === 0 ? undefined : jsonArray(cluster.diverged.map(divergenceJson)),
    other_clusters:
      cluster.otherClusters.length === 0 ? undefined : jsonArray(cluster.otherClusters.map(otherClusterJson)),
  };
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

function nodeJson(node: ClusterDescription['nodes'][number]): JsonText {
  return jsonObject({
    node: jsonInteger(node.node),
    name: jsonString(node.name),
    state: jsonString(node.isDraining ? `${node.state}, drains` : node.state),
    zone: jsonString(node.zone),
    answers: String(node.answers),
    catalog: jsonString(node.catalogRole),
    copies: jsonInteger(node.copies),
    leads: jsonInteger(node.leads),
    lag: jsonInteger(node.lag),
    release: jsonStringIfPresent(node.own?.release || undefined),
    catalog_index: node.own && jsonInteger(node.own.catalogIndex),
    unapplied: node.own && jsonInteger(node.own.unapplied),
    grpc: jsonStringIfPresent(node.grpc === '' ? undefined : node.grpc),
    http: jsonStringIfPresent(node.http === '' ? undefined : node.http),
    mcp: jsonStringIfPresent(node.mcp),
    clock_ahead_ms: node.clockAheadMs === undefined ? undefined : jsonInteger(node.clockAheadMs),
  });
}

function databaseJson(database: Database): JsonText {
  const { name, databaseId, nodes, leaving, leader, members } = database;
  return jsonObject({
    name: jsonString(name),
    database_id: jsonString(databaseId),
    nodes: jsonString(nodes.join(' ')),
    leaving: jsonStringIfPresent(leaving.length === 0 ? undefined : leaving.join(' ')),
    leader: leader === undefined ? undefined : jsonInteger(leader),
    lag: members.length === 0 ? undefined : jsonInteger(lagOf(members)),
    state: jsonString(stateOf(database)),
  });
}

function divergenceJson({ node, title, reason }: ClusterDescription['diverged'][number]): JsonText {
  return jsonObject({ node: jsonInteger(node), of: jsonString(title), reason: jsonString(reason) });
}

function otherClusterJson({ node, reason }: ClusterDescription['otherClusters'][number]): JsonText {
  return jsonObject({ node: jsonInteger(node), reason: jsonString(reason) });
}
