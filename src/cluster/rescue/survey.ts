/**
 * Facts that an operator must know before a new cluster is founded from the data of one node whose catalog has lost its
 * quorum for good: pure functions of that data (stopped-node.ts).
 */
import { type DatabaseId, type NodeId, nodeOf, type Revision, replicaOf, toHex } from '#base';
import { type EntryId, isVoter, type Membership, members } from '#raft';
import { keptLog } from '../core/group-lifecycle.ts';
import { entriesBehind } from '../core/recovered-copies.ts';
import type { RegisteredNode } from '../outcome.ts';
import type { ClusterBefore } from '../store/node-rows.ts';
import { nativeSha256 } from '../system-ports.ts';
import type { StoppedCopy, StoppedNode } from './stopped-node.ts';

/** A database with a replica on the node. */
export interface SurveyedDatabase {
  readonly name: string;
  readonly databaseId: DatabaseId;
  readonly revision: Revision;
  readonly chainHash: Uint8Array;
  /** Recorded time of that revision; at revision 0 the creation time of the database. */
  readonly recordedTimeMs: number;
  /** The last entry of its log, and the number of entries after that revision. */
  readonly last: EntryId;
  readonly unapplied: number;
  /** Other nodes that had a replica. */
  readonly others: readonly NodeId[];
}

/** A database without data on the node. */
export interface LostDatabase {
  readonly name: string;
  readonly databaseId: DatabaseId;
  readonly nodes: readonly NodeId[];
}

export interface SurveyedNode extends Pick<RegisteredNode, 'node' | 'name' | 'zone' | 'state' | 'peer' | 'storeId'> {
  /** True when it votes for the catalog. */
  readonly isVoter: boolean;
}

export interface Survey {
  readonly node: NodeId;
  readonly clusterId: string;
  readonly storeId: string;
  readonly before: ClusterBefore | undefined;
  readonly catalog: {
    /** The last entry of its log, and the number of entries that are not known to be committed. */
    readonly last: EntryId;
    readonly unapplied: number;
    /** Databases that those entries delete. */
    readonly deleted: readonly string[];
  };
  readonly nodes: readonly SurveyedNode[];
  /** Sorted by name. */
  readonly databases: readonly SurveyedDatabase[];
  readonly lost: readonly LostDatabase[];
}

export function surveyOf(node: StoppedNode): Survey {
  const { identity, before, catalog, members: membership, written, namedBefore, copies } = node;
  const named = catalog.list().toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const { index, term } = catalog.applied;
  const ids = new Set(named.flatMap(({ databaseId, recovery }) => [databaseId, recovery?.databaseId]));
  const deleted = namedBefore.filter(({ databaseId }) => !ids.has(databaseId)).map(({ name }) => name);
  const databases = named.flatMap(({ group }) => {
    const copy = copies.get(group);
    return copy === undefined ? [] : [surveyed(copy, identity.node)];
  });
  const lost = named
    .filter(({ group }) => !copies.has(group))
    .map(({ name, databaseId, replicas }) => ({ name, databaseId, nodes: replicas.map(nodeOf) }));
  return {
    ...identity,
    before,
    catalog: { last: { index, term }, unapplied: index - written.index, deleted },
    nodes: catalog.nodes().map((each) => surveyedNode(each, membership)),
    databases,
    lost,
  };
}

export interface RefoundingFault {
  readonly reason: string;
  /** It was done before. */
  readonly isDone: boolean;
}

/** Reason why the data of the node must not be used to found a cluster, or undefined. */
export function faultInRefounding(stopped: StoppedNode): RefoundingFault | undefined {
  const { catalog, identity, members: membership, before } = stopped;
  const { node, clusterId } = identity;
  const own = catalog.nodes().find((each) => each.node === node);
  const refused = (reason: string): RefoundingFault => ({ reason, isDone: false });
  if (own === undefined)
    return refused(`the catalog does not know node ${node} yet: it holds nothing of the cluster ${clusterId}`);
  if (own.state === 'removed')
    return refused(`node ${node} was removed from the cluster ${clusterId}, and holds nothing of it`);
  if (own.isLearner) return refused(`node ${node} is a learner and cannot vote; use the data of a node that votes`);
  const voters = members(membership.voters);
  if (voters.length !== 1 || voters[0] !== replicaOf(node)) return undefined;
  const since = before === undefined ? '' : `, which began with what it held of the cluster ${before.clusterId}`;
  const reason = `node ${node} alone votes for the catalog of the cluster ${clusterId}${since}: there is nothing to recover. Start it`;
  return { reason, isDone: before !== undefined };
}

/** The code with which the operator accepts the loss. It changes with everything in the survey. */
export function acceptanceOf({ storeId, catalog, databases, lost }: Survey): string {
  const shown = [storeId, catalog, databases.map((each) => ({ ...each, chainHash: toHex(each.chainHash) })), lost];
  return toHex(nativeSha256([Buffer.from(JSON.stringify(shown))])).slice(0, ACCEPTANCE_LETTERS);
}

const ACCEPTANCE_LETTERS = 8;

function surveyed({ binding, applied, log }: StoppedCopy, self: NodeId): SurveyedDatabase {
  const { name, databaseId, replicas } = binding;
  const { revision, chainHash, recordedTimeMs, index, term } = applied;
  const left = entriesBehind(applied, log && keptLog(log));
  const { index: lastIndex, term: lastTerm } = left.at(-1) ?? { index, term };
  const others = replicas.map(nodeOf).filter((node) => node !== self);
  const last = { index: lastIndex, term: lastTerm };
  return { name, databaseId, revision, chainHash, recordedTimeMs, last, unapplied: left.length, others };
}

function surveyedNode(
  { node, name, zone, state, peer, storeId }: RegisteredNode,
  { voters }: Membership,
): SurveyedNode {
  return { node, name, zone, state, peer, storeId, isVoter: isVoter(voters, replicaOf(node)) };
}
