/**
 * The messages of cairn.admin.v1 (proto/cairn/admin/v1/admin.proto) as the requests and replies of #cluster: the same
 * at the peer port and at the gRPC port. Readers take any bytes and return undefined for values that make no sense.
 */
import {
  COPIES_MAX,
  DatabaseError,
  isDatabaseId,
  isGroupId,
  isLogIndex,
  isNodeId,
  isReplicaId,
  isRevision,
  isTerm,
  type NodeId,
} from '#base';
import type { AdminReply, AdminRequest, ClusterDescription, HeldCopy, RegisteredNode } from '#cluster';
import { isDatabaseName } from '#model';
import {
  type Copy,
  type Database,
  DecommissionNodeRequest,
  DescribeClusterReply,
  DescribeClusterRequest,
  DescribeCopyReply,
  DescribeCopyRequest,
  DrainNodeRequest,
  FinalizeUpgradeReply,
  FinalizeUpgradeRequest,
  type Member,
  type MessageFns,
  type Node,
  NodeReply,
  RecommissionNodeRequest,
  RecoverDatabaseReply,
  RecoverDatabaseRequest,
  ReplaceNodeRequest,
  SetCopiesReply,
  SetCopiesRequest,
  UndrainNodeRequest,
} from '../../proto/gen/cairn/admin/v1/admin.ts';
import type { Requests } from '../../proto/gen/requests.ts';
import { decoded, reading } from './request-reader.ts';

/** The methods, with the admin request of each. */
export const ADMIN_METHODS = {
  describe: '/cairn.admin.v1.ClusterAdmin/DescribeCluster',
  decommission: '/cairn.admin.v1.ClusterAdmin/DecommissionNode',
  replace: '/cairn.admin.v1.ClusterAdmin/ReplaceNode',
  drain: '/cairn.admin.v1.ClusterAdmin/DrainNode',
  undrain: '/cairn.admin.v1.ClusterAdmin/UndrainNode',
  recommission: '/cairn.admin.v1.ClusterAdmin/RecommissionNode',
  finalize: '/cairn.admin.v1.ClusterAdmin/FinalizeUpgrade',
  recover: '/cairn.admin.v1.ClusterAdmin/RecoverDatabase',
  'set-copies': '/cairn.admin.v1.ClusterAdmin/SetCopies',
  copy: '/cairn.admin.v1.ClusterAdmin/DescribeCopy',
} as const;

export type AdminMethod = keyof typeof ADMIN_METHODS;
type Order = AdminRequest['order'];
type Refusal = Extract<AdminReply, { readonly reason: string }>;
type DescribedNode = ClusterDescription['nodes'][number];
type DescribedDatabase = ClusterDescription['databases'][number];
type DescribedMember = DescribedDatabase['members'][number];

/** The length of a chain hash: the hash becomes an entry of the catalog as it is. */
const HASH_BYTES = 32;
const STATES = { active: 1, leaving: 2, removed: 3 } as const;
const STATE_NAMES = [undefined, 'active', 'leaving', 'removed'] as const;
const ROLES = { none: 0, voter: 1, learner: 2 } as const;
const ROLE_NAMES = ['none', 'voter', 'learner'] as const;
const STANDINGS = { silent: 0, behind: 1, ready: 2, diverged: 3 } as const;
const STANDING_NAMES = ['silent', 'behind', 'ready', 'diverged'] as const;

export const ADMIN_METHOD_NAMES: readonly AdminMethod[] = Object.keys(ADMIN_METHODS).filter(
  (name): name is AdminMethod => name in ADMIN_METHODS,
);

/** An admin request has the fields of its message by their names, except those of a drain. */
const REQUESTS: Readonly<Record<AdminMethod, { encode(message: object): { finish(): Uint8Array } }>> = {
  describe: DescribeClusterRequest,
  decommission: DecommissionNodeRequest,
  replace: ReplaceNodeRequest,
  drain: DrainNodeRequest,
  undrain: UndrainNodeRequest,
  recommission: RecommissionNodeRequest,
  finalize: FinalizeUpgradeRequest,
  recover: RecoverDatabaseRequest,
  'set-copies': SetCopiesRequest,
  copy: DescribeCopyRequest,
};

export function writeAdminRequest({ order, isPassedOn }: AdminRequest): Buffer {
  const ofDrain = order.kind === 'drain' && { stay: order.stays, dryRun: order.isDryRun };
  const ofReplacement = order.kind === 'replace' && { by: order.by ?? 0 };
  const ofCopies = order.kind === 'set-copies' && { databaseId: order.databaseId ?? '' };
  const message = { ...order, ...ofDrain, ...ofReplacement, ...ofCopies, isPassedOn };
  return Buffer.from(REQUESTS[order.kind].encode(message).finish());
}

/** Returns the request, or the reason why it is refused. */
export function readAdminRequest(method: AdminMethod, bytes: Uint8Array): AdminRequest | string {
  try {
    return READERS[method](bytes);
  } catch (failure) {
    if (failure instanceof DatabaseError) return failure.message;
    throw failure;
  }
}

const READERS: Readonly<Record<AdminMethod, (bytes: Uint8Array) => AdminRequest | string>> = {
  describe: readerOf('cairn.admin.v1.DescribeClusterRequest', () => ({ kind: 'describe' })),
  finalize: readerOf('cairn.admin.v1.FinalizeUpgradeRequest', () => ({ kind: 'finalize' })),
  copy: readerOf('cairn.admin.v1.DescribeCopyRequest', ({ name }) => ({ kind: 'copy', name })),
  recover: readerOf('cairn.admin.v1.RecoverDatabaseRequest', recoveryIn),
  'set-copies': readerOf('cairn.admin.v1.SetCopiesRequest', copiesIn),
  replace: readerOf('cairn.admin.v1.ReplaceNodeRequest', ({ node, by }) =>
    isNodeId(node) ? { kind: 'replace', node, by: nodeOrNone(by) } : noNode(node),
  ),
  drain: readerOf('cairn.admin.v1.DrainNodeRequest', ({ node, isGranted, stay: stays, dryRun: isDryRun }) =>
    isNodeId(node) ? { kind: 'drain', node, isGranted, stays, isDryRun } : noNode(node),
  ),
  undrain: readerOf('cairn.admin.v1.UndrainNodeRequest', ({ node }) =>
    isNodeId(node) ? { kind: 'undrain', node } : noNode(node),
  ),
  decommission: readerOf('cairn.admin.v1.DecommissionNodeRequest', ({ node }) =>
    isNodeId(node) ? { kind: 'decommission', node } : noNode(node),
  ),
  recommission: readerOf('cairn.admin.v1.RecommissionNodeRequest', ({ node }) =>
    isNodeId(node) ? { kind: 'recommission', node } : noNode(node),
  ),
};

/** Every request says whether it was passed on; `orderIn` returns the reason of a refusal as text. */
function readerOf<Name extends AdminMessage>(
  name: Name,
  orderIn: (message: Requests[Name]) => Order | string,
): (bytes: Uint8Array) => AdminRequest | string {
  return (bytes) => {
    const message = reading(name)(bytes);
    const order = orderIn(message);
    return typeof order === 'string' ? order : { order, isPassedOn: message.isPassedOn };
  };
}

type AdminMessage = {
  [Name in keyof Requests]: Requests[Name] extends { readonly isPassedOn: boolean } ? Name : never;
}[keyof Requests];

export function writeAdminReply(reply: Exclude<AdminReply, Refusal>): Buffer {
  switch (reply.kind) {
    case 'done':
      return bytesOf(NodeReply, { node: nodeMessage(reply.node) });
    case 'copies-set':
      return bytesOf(SetCopiesReply, {});
    case 'finalized':
      return bytesOf(FinalizeUpgradeReply, { level: reply.level });
    case 'recovered': {
      const { before: previousDatabaseId, chainHash, ...database } = reply.database;
      return bytesOf(RecoverDatabaseReply, { ...database, previousDatabaseId, chainHash: Buffer.from(chainHash) });
    }
    case 'copy': {
      const { clusterId, node, copy } = reply;
      return bytesOf(DescribeCopyReply, { clusterId, node, copy: copy && copyMessage(copy) });
    }
    case 'described':
      return bytesOf(DescribeClusterReply, {
        ...reply.cluster,
        catalogLeader: reply.cluster.catalogLeader ?? 0,
        nodes: reply.cluster.nodes.map(nodeMessage),
        databases: reply.cluster.databases.map(databaseMessage),
      });
  }
}

export function readAdminReply(method: AdminMethod, bytes: Uint8Array): AdminReply | undefined {
  if (method === 'describe') {
    const cluster = clusterIn(decoded(DescribeClusterReply, bytes));
    return cluster && { kind: 'described', cluster };
  }
  if (method === 'copy') return copyReplyIn(decoded(DescribeCopyReply, bytes));
  if (method === 'recover') return recoveredIn(decoded(RecoverDatabaseReply, bytes));
  if (method === 'set-copies') return decoded(SetCopiesReply, bytes) === undefined ? undefined : { kind: 'copies-set' };
  if (method === 'finalize') {
    const level = decoded(FinalizeUpgradeReply, bytes)?.level ?? 0;
    return level === 0 ? undefined : { kind: 'finalized', level };
  }
  const message = decoded(NodeReply, bytes)?.node;
  const node = message && nodeIn(message);
  return node && { kind: 'done', node };
}

/** The status of gRPC, by its name. */
export function statusOfRefusal(reply: Refusal): 'UNAVAILABLE' | 'NOT_FOUND' | 'FAILED_PRECONDITION' {
  // Another node cannot be reached, or does not accept requests of this one.
  if (reply.kind === 'later' || reply.code === 'refused') return 'UNAVAILABLE';
  return reply.code === 'not_found' ? 'NOT_FOUND' : 'FAILED_PRECONDITION';
}

function bytesOf<Message>(type: MessageFns<Message>, message: Message): Buffer {
  return Buffer.from(type.encode(message).finish());
}

function recoveryIn(sent: Requests['cairn.admin.v1.RecoverDatabaseRequest']): Order | string {
  const { name, from, acceptRevision } = sent;
  if (!isNodeId(from)) return noNode(from);
  if (typeof acceptRevision === 'bigint') return `${acceptRevision} is no revision; the largest is 2^53 - 1`;
  return isDatabaseName(name) ? { kind: 'recover', name, from, acceptRevision } : NO_DATABASE;
}

/** Omits the name: a reason is part of the trailers and the audit log. */
const NO_DATABASE = 'the name is no name of a database; DescribeCluster lists them';

function copiesIn({ name, databaseId: id, copies }: Requests['cairn.admin.v1.SetCopiesRequest']): Order | string {
  if (!isDatabaseName(name)) return NO_DATABASE;
  if (copies > COPIES_MAX) return `${copies} copies are more than ${COPIES_MAX}; 0 means the setting of the cluster`;
  if (id === '') return { kind: 'set-copies', name, databaseId: undefined, copies };
  return isDatabaseId(id) ? { kind: 'set-copies', name, databaseId: id, copies } : 'the database_id is no UUIDv7';
}

function noNode(value: number): string {
  return `${value} is no number of a node; DescribeCluster lists them`;
}

/** Undefined for 0, the value of an absent field. */
function nodeOrNone(value: number): NodeId | undefined {
  return isNodeId(value) ? value : undefined;
}

function clusterIn(message: DescribeClusterReply | undefined): ClusterDescription | undefined {
  if (message === undefined) return undefined;
  const { node, catalogIndex } = message;
  if (!isNodeId(node) || !isLogIndex(catalogIndex)) return undefined;
  const nodes = message.nodes.map(nodeIn).filter((each) => each !== undefined);
  const databases = message.databases.map(databaseIn).filter((each) => each !== undefined);
  if (nodes.length < message.nodes.length || databases.length < message.databases.length) return undefined;
  const catalogLeader = nodeOrNone(message.catalogLeader);
  const diverged = message.diverged.flatMap(({ group, ...each }) => (isGroupId(group) ? [{ ...each, group }] : []));
  const known = { node, catalogIndex, catalogLeader, nodes, databases, diverged: diverged.filter(isOfNode) };
  return { ...message, ...known, otherClusters: message.otherClusters.filter(isOfNode) };
}

function isOfNode<Message extends { readonly node: number }>(
  message: Message,
): message is Message & { readonly node: NodeId } {
  return isNodeId(message.node);
}

function nodeMessage(node: RegisteredNode | DescribedNode): Node {
  const { peer, levels, state, mcp = '', ...registered } = node;
  const described = 'answers' in node ? describedFields(node) : NOT_DESCRIBED;
  const ends = { host: peer.host, port: peer.port, levelMin: levels.min, levelMax: levels.max };
  return { ...registered, ...described, ...ends, mcp, state: STATES[state] };
}

/** Reply to a request that describes nothing. */
const NOT_DESCRIBED = {
  answers: false,
  isDraining: false,
  copies: 0,
  leads: 0,
  movableLeads: 0,
  lag: 0,
  catalogRole: 0,
  clockAheadMs: 0,
  clockBehindMs: 0,
  own: undefined,
} as const;

function describedFields({
  catalogRole,
  clockAheadMs = 0,
  own,
  ...node
}: DescribedNode): Pick<Node, keyof typeof NOT_DESCRIBED> {
  const clock = { clockAheadMs: Math.max(0, clockAheadMs), clockBehindMs: Math.max(0, -clockAheadMs) };
  return { ...node, ...clock, own, catalogRole: ROLES[catalogRole] };
}

function nodeIn(message: Node): DescribedNode | undefined {
  const { host, port, levelMin, levelMax, clockAheadMs, clockBehindMs, mcp, own, node, ...same } = message;
  const [state, catalogRole] = [STATE_NAMES[message.state], ROLE_NAMES[message.catalogRole]];
  if (!isNodeId(node) || state === undefined || catalogRole === undefined) return undefined;
  const aheadMs = clockAheadMs - clockBehindMs;
  const catalogIndex = own?.catalogIndex ?? 0;
  return {
    ...same,
    node,
    state,
    catalogRole,
    peer: { host, port },
    ...(mcp !== '' && { mcp }),
    levels: { min: levelMin, max: levelMax },
    ...(aheadMs !== 0 && { clockAheadMs: aheadMs }),
    ...(own !== undefined && isLogIndex(catalogIndex) && { own: { ...own, catalogIndex } }),
  };
}

function databaseMessage({ leader, recovery, recordedAheadMs, members, ...database }: DescribedDatabase): Database {
  return {
    ...database,
    leader: leader ?? 0,
    members: members.map(({ standing, ...member }) => ({ ...member, standing: STANDINGS[standing] })),
    recovery: recovery && {
      previousDatabaseId: recovery.before,
      firstDatabaseId: recovery.first,
      revision: recovery.revision,
    },
    recordedAheadMs: recordedAheadMs ?? 0,
  };
}

function databaseIn(message: Database): DescribedDatabase | undefined {
  const { databaseId, group, recovery, recordedAheadMs, ...same } = message;
  if (!isDatabaseId(databaseId) || !isGroupId(group)) return undefined;
  return {
    ...same,
    databaseId,
    group,
    nodes: message.nodes.filter(isNodeId),
    leaving: message.leaving.filter(isNodeId),
    leader: nodeOrNone(message.leader),
    members: message.members.map(memberIn).filter((each) => each !== undefined),
    recovery: recovery && originIn(recovery),
    ...(recordedAheadMs > 0 && { recordedAheadMs }),
  };
}

function originIn(recovery: NonNullable<Database['recovery']>): DescribedDatabase['recovery'] {
  const { previousDatabaseId: before, firstDatabaseId: first, revision } = recovery;
  return isDatabaseId(before) && isDatabaseId(first) && isRevision(revision) ? { before, first, revision } : undefined;
}

function memberIn({ node, ...member }: Member): DescribedMember | undefined {
  const standing = STANDING_NAMES[member.standing];
  return isNodeId(node) && standing !== undefined ? { ...member, node, standing } : undefined;
}

function recoveredIn(message: RecoverDatabaseReply | undefined): AdminReply | undefined {
  if (message === undefined) return undefined;
  const { name, databaseId, previousDatabaseId: before, node, revision } = message;
  if (!isDatabaseId(databaseId) || !isDatabaseId(before) || !isNodeId(node) || !isRevision(revision)) return undefined;
  const chainHash = Uint8Array.from(message.chainHash);
  return { kind: 'recovered', database: { name, databaseId, before, node, revision, chainHash } };
}

function copyReplyIn(message: DescribeCopyReply | undefined): AdminReply | undefined {
  if (message === undefined || !isNodeId(message.node)) return undefined;
  const { clusterId, node, copy } = message;
  const held = copy && copyIn(copy);
  return copy !== undefined && held === undefined ? undefined : { kind: 'copy', clusterId, node, copy: held };
}

function copyMessage({ last, voters, chainHash, leader, ...copy }: HeldCopy): Copy {
  return {
    ...copy,
    chainHash: Buffer.from(chainHash),
    lastIndex: last.index,
    lastTerm: last.term,
    voters: [...voters.incoming],
    outgoingVoters: [...voters.outgoing],
    leader: leader ?? 0,
  };
}

function copyIn(message: Copy): HeldCopy | undefined {
  const { replica, group, revision, lastIndex: index, lastTerm: term, unapplied } = message;
  if (!isReplicaId(replica) || !isGroupId(group) || !isRevision(revision)) return undefined;
  if (!isLogIndex(index) || !isTerm(term) || message.chainHash.length !== HASH_BYTES) return undefined;
  return {
    replica,
    group,
    revision,
    unapplied,
    chainHash: Uint8Array.from(message.chainHash),
    last: { index, term },
    voters: {
      incoming: message.voters.filter(isReplicaId),
      outgoing: message.outgoingVoters.filter(isReplicaId),
    },
    leader: nodeOrNone(message.leader),
  };
}
