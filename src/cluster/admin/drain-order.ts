/**
 * Decides whether a node may drain: a pure function of the description of the cluster. A drain with `--stay` has the
 * same rule, because the orchestrator stops the node next.
 *
 *   C36  A drain is accepted only while the leader of the catalog answers, and the catalog and every database
 *        that the node votes in have a majority without it: voters that answer, also to their leader, have not
 *        diverged, and do not drain themselves.
 */
import { CATALOG_GROUP, type NodeId } from '#base';
import { failed, type OrderFault } from './decommission.ts';
import type { ClusterDescription, DescribedDatabase } from './describe.ts';

export interface DrainOrder {
  readonly kind: 'drain';
  readonly node: NodeId;
  /** The leader of the catalog has checked the request, and sends it to the node itself. */
  readonly isGranted: boolean;
  /** The process does not exit: it runs without leaderships until `undrain` or a restart. */
  readonly stays: boolean;
  /** Nothing happens: only whether the node may drain is answered. */
  readonly isDryRun: boolean;
}

/** Ends a drain with `--stay`. */
export interface UndrainOrder {
  readonly kind: 'undrain';
  readonly node: NodeId;
}

/** The answer is unknown now; the request may be repeated. */
interface Later {
  readonly kind: 'later';
  readonly reason: string;
}

export type DrainFault = ({ readonly kind: 'faulty' } & OrderFault) | Later;

/** Members that count as voters: a silent one may be down, and a diverged one left its group. */
const COUNTED: readonly string[] = ['behind', 'ready'];
/** Maximum number of databases named in a refusal. */
const NAMED_MAX = 3;

/** Reason why the node must not drain now, or undefined. A node that drains already may continue. */
export function faultInDraining(number: NodeId, cluster: ClusterDescription): DrainFault | undefined {
  const { nodes, isConfirmed } = cluster;
  if (!isConfirmed) return later('the leader of the catalog did not answer');
  const node = nodes.find((each) => each.node === number);
  if (node === undefined) {
    const known = nodes.map((each) => each.node).join(', ');
    return { kind: 'faulty', code: 'not_found', reason: `there is no node ${number}; the cluster has ${known}` };
  }
  if (node.state === 'removed') {
    return { kind: 'faulty', code: 'not_found', reason: `node ${number} was removed permanently` };
  }
  if (!node.answers) return later(`node ${number} does not answer: it has ended, or cannot be reached`);
  if (node.isDraining) return undefined;
  const staying = new Set(nodes.filter((each) => each.answers && !each.isDraining).map((each) => each.node));
  staying.delete(number);
  const voters = nodes.filter(({ catalogRole }) => catalogRole === 'voter').map((each) => each.node);
  const diverged = cluster.diverged.filter(({ group }) => group === CATALOG_GROUP).map((each) => each.node);
  const counted = voters.filter((voter) => staying.has(voter) && !diverged.includes(voter));
  const up = `without node ${number} these stay: ${[...staying].join(', ') || 'none'}`;
  if (voters.includes(number) && !isMajority(counted.length, voters.length)) {
    return faulty(`the catalog, in which ${voters.join(', ')} vote, would have no quorum; ${up}`);
  }
  const stuck = cluster.databases.filter((database) => !goesOnWithout(number, database, staying));
  if (stuck.length === 0) return undefined;
  const named = stuck.slice(0, NAMED_MAX).map(({ name, nodes: holders }) => `${name} (on ${holders.join(', ')})`);
  const more = stuck.length > NAMED_MAX ? `, and ${stuck.length - NAMED_MAX} more` : '';
  return faulty(`there would be no quorum of ${named.join(', ')}${more}; ${up}`);
}

function goesOnWithout(number: NodeId, database: DescribedDatabase, staying: ReadonlySet<NodeId>): boolean {
  const { members, nodes, leaving } = database;
  const voters = members.filter(({ isVoter }) => isVoter);
  // One without a known leader may have any members.
  if (voters.length === 0) return ![...nodes, ...leaving].includes(number);
  if (voters.every(({ node }) => node !== number)) return true;
  const left = voters.filter(({ node, standing }) => staying.has(node) && COUNTED.includes(standing));
  return isMajority(left.length, voters.length);
}

function isMajority(count: number, of: number): boolean {
  return 2 * count > of;
}

function faulty(reason: string): DrainFault {
  return { kind: 'faulty', ...failed(reason) };
}

function later(reason: string): Later {
  return { kind: 'later', reason };
}
