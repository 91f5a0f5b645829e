/** Renders the output of `cairn cluster`. */
import { CATALOG_GROUP, formatAddress, toHex } from '#base';
import type { ClusterDescription, RecoveredDatabase, RegisteredNode } from '#cluster';
import { table } from '../command-line.ts';

type Database = ClusterDescription['databases'][number];

/** Maximum number of databases in the table; the rest is only counted. */
const DATABASES_MAX = 50;

export function renderCluster(cluster: ClusterDescription): string {
  const { clusterId, nodes, databases } = cluster;
  const moving = databases.filter(({ isSettled }) => !isSettled).length;
  const unled = databases.filter(({ leader: led }) => led === undefined).length;
  const diverged = databases.filter((database) => divergedNodes(database).length > 0).length;
  const alarm = diverged === 0 ? '' : `, ${diverged} with a diverged replica`;
  const noCatalog = cluster.diverged.filter(({ group }) => group === CATALOG_GROUP).map(({ node }) => node);
  const rows = nodes.map((node) => [
    String(node.node),
    node.name,
    `${node.state}${node.isLearner ? ', learner' : ''}${node.isDraining ? ', drains' : ''}${clockOf(node.clockAheadMs)}`,
    node.zone,
    node.answers ? 'yes' : 'no',
    noCatalog.includes(node.node) ? 'DIVERGED' : node.catalogRole,
    String(node.copies),
    String(node.leads),
    node.answers ? String(node.lag) : '-',
    node.own?.release || '-',
    node.peer.port === 0 ? '-' : formatAddress(node.peer),
    node.grpc === '' ? '-' : node.grpc,
  ]);
  const shown = databases.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, DATABASES_MAX);
  const more = databases.length - shown.length;
  return [
    `cluster ${clusterId}; ${leaderOf(cluster)}; reported by node ${cluster.node}`,
    ...levelLine(cluster),
    '',
    ...table([
      ['NODE', 'NAME', 'STATE', 'ZONE', 'ANSWERS', 'CATALOG', 'COPIES', 'LEADS', 'LAG', 'RELEASE', 'PEER', 'GRPC'],
      ...rows,
    ]),
    '',
    `${databases.length} databases, ${moving} moving, ${unled} without a known leader${alarm}`,
    ...(shown.length === 0 ? [] : ['', ...table([['DATABASE', 'ON', 'LEADER', 'LAG', 'STATE'], ...shown.map(rowOf)])]),
    ...(more === 0 ? [] : [`and ${more} more; --json shows all`]),
    ...originLines(shown),
    ...divergedLines(cluster),
    ...otherClusterLines(cluster),
    '',
  ].join('\n');
}

function leaderOf({ catalogLeader, isConfirmed }: ClusterDescription): string {
  if (catalogLeader === undefined) return 'its catalog has no leader';
  if (isConfirmed) return `node ${catalogLeader} leads its catalog`;
  return `node ${catalogLeader} leads its catalog but did not answer, so this may be out of date`;
}

export function renderDone({ node, state, isLearner }: RegisteredNode): string {
  switch (state) {
    case 'active':
      return `node ${node} is active\n`;
    case 'leaving':
      return isLearner
        ? `node ${node} is leaving: it is removed at once, because a learner has nothing that must move\n`
        : `node ${node} is leaving: its replicas move to other nodes, then it is removed\n`;
    case 'removed':
      return `node ${node} is removed; its data directory can be deleted\n`;
  }
}

export function renderDraining({ node }: RegisteredNode): string {
  return `node ${node} transfers its leaderships, then it exits\n`;
}

/** Renders the answer of a dry run. */
export function renderMovable({ node, isDraining, movableLeads }: ClusterDescription['nodes'][number]): string {
  const left = `${movableLeads} leaderships`;
  return isDraining
    ? `node ${node} drains, with ${left} left\n`
    : `node ${node} may drain; it would transfer ${left}\n`;
}

export function renderFinalized(level: number): string {
  return `the cluster is at level ${level}, the highest that its nodes support\n`;
}

/** Line that is shown during an upgrade. */
function levelLine({ level, nodes }: ClusterDescription): readonly string[] {
  const levels = nodes.filter(({ state }) => state !== 'removed').map((node) => node.levels.max);
  const [lowest, highest] = [Math.min(...levels), Math.max(...levels)];
  if (levels.length === 0 || highest === level) return [];
  const next =
    lowest < highest ? `some nodes support level ${highest}, others ${lowest}` : 'cairn cluster finalize raises it';
  return [`level ${level}; ${next}`];
}

export function renderRecovered({ name, databaseId, before, node, revision, chainHash }: RecoveredDatabase): string {
  return [
    `${name} is recovered: its name now means ${databaseId}, which continues from revision ${revision} of node ${node}`,
    `its chain hash is ${toHex(chainHash)}; the previous instance ${before} is discarded`,
    '',
  ].join('\n');
}

function originLines(databases: readonly Database[]): readonly string[] {
  const lines = databases.flatMap(({ name, recovery }) => {
    if (recovery === undefined) return [];
    const { before, first, revision } = recovery;
    const since = first === before ? '' : `; its history began as ${first}`;
    return [`${name} was recovered from ${before} at revision ${revision}${since}`];
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Smallest difference of clocks that is shown. */
const SHOWN_MS = 500;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function clockOf(aheadMs = 0): string {
  if (Math.abs(aheadMs) < SHOWN_MS) return '';
  return `, clock ${spanOf(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'behind'}`;
}

function spanOf(ms: number): string {
  if (ms < HOUR_MS) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 2 * DAY_MS ? `${(ms / HOUR_MS).toFixed(1)} h` : `${Math.round(ms / DAY_MS)} days`;
}

/** Diverged replicas, and what to do about them. */
function divergedLines({ diverged }: ClusterDescription): readonly string[] {
  if (diverged.length === 0) return [];
  const lines = diverged.map(
    ({ node, title, reason }) =>
      `DIVERGED: node ${node} has another history of the ${title}, and does not serve it: ${reason}`,
  );
  return ['', ...lines, 'keep a copy of the data directory, then replace the node (docs/operations/recovery.md)'];
}

function otherClusterLines({ otherClusters }: ClusterDescription): readonly string[] {
  if (otherClusters.length === 0) return [];
  return ['', ...otherClusters.map(({ node, reason }) => `OTHER CLUSTER: node ${node} says: ${reason}`)];
}

/** Sort key: databases that need attention come first. */
function rankOf(database: Database): number {
  if (database.leader === undefined || divergedNodes(database).length > 0) return 0;
  return database.isSettled ? 2 : 1;
}

function divergedNodes({ members }: Database): readonly number[] {
  return members.filter(({ standing }) => standing === 'diverged').map(({ node }) => node);
}

function rowOf(database: Database): readonly string[] {
  const { name, copies, nodes, leaving, leader, members, isSettled, recordedAheadMs = 0 } = database;
  const diverged = divergedNodes(database);
  const lag = Math.max(0, ...members.filter(({ node }) => !diverged.includes(node)).map((member) => member.lag));
  const from = leaving.length === 0 ? '' : ` (leaves ${leaving.join(' ')})`;
  const ahead = recordedAheadMs < SHOWN_MS ? '' : `, recorded time ${spanOf(recordedAheadMs)} ahead`;
  const settled = `${isSettled ? 'settled' : 'moving'}${copies === 0 ? '' : `, asks for ${copies}`}`;
  const state = `${diverged.length === 0 ? settled : `DIVERGED on ${diverged.join(' ')}`}${ahead}`;
  return [name, `${nodes.join(' ')}${from}`, String(leader ?? '-'), members.length === 0 ? '-' : String(lag), state];
}
