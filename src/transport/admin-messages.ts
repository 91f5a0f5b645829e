/**
 * The messages of cairn.admin.v1 (proto/cairn/admin/v1/admin.proto). Their readers take any bytes; what makes no sense
 * is undefined.
 */
import {
  type ByteWriter,
  beginMessage,
  decodeUtf8,
  isDatabaseId,
  isGroupId,
  isLogIndex,
  isNodeId,
  isRevision,
  ByteWriter as Writer,
  writeTextField,
  writeVarintField,
} from '#base';
import type { AdminReply, AdminRequest, ClusterDescription, NodeOrder, RegisteredNode, UndrainOrder } from '#cluster';
import { nodeOrNone, readFields } from './admin-fields.ts';
import { readRecoveryOrder, writeRecoveryOrder } from './recovery-messages.ts';

/** The methods, and the order that each stands for. */
export const ADMIN_METHODS = {
  describe: '/cairn.admin.v1.ClusterAdmin/DescribeCluster',
  decommission: '/cairn.admin.v1.ClusterAdmin/DecommissionNode',
  replace: '/cairn.admin.v1.ClusterAdmin/ReplaceNode',
  drain: '/cairn.admin.v1.ClusterAdmin/DrainNode',
  undrain: '/cairn.admin.v1.ClusterAdmin/UndrainNode',
  recommission: '/cairn.admin.v1.ClusterAdmin/RecommissionNode',
  finalize: '/cairn.admin.v1.ClusterAdmin/FinalizeUpgrade',
  recover: '/cairn.admin.v1.ClusterAdmin/RecoverDatabase',
  copy: '/cairn.admin.v1.ClusterAdmin/DescribeCopy',
} as const;

export type AdminMethod = keyof typeof ADMIN_METHODS;

export function isAdminMethod(name: string): name is AdminMethod {
  return name in ADMIN_METHODS;
}

const COPY_OF = { NAME: 1 } as const;
const ORDER = { NODE: 1, BY: 2, IS_GRANTED: 2, STAYS: 3, IS_DRY_RUN: 4, IS_PASSED_ON: 15 } as const;
const CLUSTER = {
  CLUSTER_ID: 1,
  NODE: 2,
  CATALOG_LEADER: 3,
  NODES: 4,
  DATABASES: 5,
  LEVEL: 6,
  INDEX: 7,
  IS_CONFIRMED: 8,
  DIVERGED: 9,
  OTHER_CLUSTERS: 10,
} as const;
const STATES = ['active', 'leaving', 'removed'] as const;
const ROLES = ['none', 'voter', 'learner'] as const;
const STANDINGS = ['silent', 'behind', 'ready', 'diverged'] as const;

type DescribedNode = ClusterDescription['nodes'][number];
type DescribedDatabase = ClusterDescription['databases'][number];
type DescribedMember = DescribedDatabase['members'][number];

export function writeAdminRequest({ order, isPassedOn }: AdminRequest): Buffer {
  const writer = new Writer();
  if (order.kind === 'recover') writeRecoveryOrder(writer, order);
  else if (order.kind === 'copy') writeTextField(writer, COPY_OF.NAME, order.name);
  else if (order.kind !== 'describe' && order.kind !== 'finalize') writeVarintField(writer, ORDER.NODE, order.node);
  if (order.kind === 'replace' && order.by !== undefined) writeVarintField(writer, ORDER.BY, order.by);
  if (order.kind === 'drain') {
    if (order.isGranted) writeVarintField(writer, ORDER.IS_GRANTED, 1);
    if (order.stays) writeVarintField(writer, ORDER.STAYS, 1);
    if (order.isDryRun) writeVarintField(writer, ORDER.IS_DRY_RUN, 1);
  }
  if (isPassedOn) writeVarintField(writer, ORDER.IS_PASSED_ON, 1);
  return Buffer.from(writer.view());
}

/** The request, or what is wrong with it. */
export function readAdminRequest(method: AdminMethod, message: Uint8Array): AdminRequest | string {
  const fields = readFields(message);
  if (fields === undefined) return 'the request is malformed';
  const isPassedOn = fields.number(ORDER.IS_PASSED_ON) === 1;
  if (method === 'describe' || method === 'finalize') return { order: { kind: method }, isPassedOn };
  if (method === 'copy') return { order: { kind: 'copy', name: fields.text(COPY_OF.NAME) }, isPassedOn };
  if (method === 'recover') {
    const recovery = readRecoveryOrder(message);
    return typeof recovery === 'string' ? recovery : { order: recovery, isPassedOn };
  }
  const [node, by] = [fields.number(ORDER.NODE), fields.number(ORDER.BY)];
  if (!isNodeId(node)) return `${node} is no number of a node; DescribeCluster lists them`;
  if (method === 'drain') {
    const [stays, isDryRun] = [fields.number(ORDER.STAYS) === 1, fields.number(ORDER.IS_DRY_RUN) === 1];
    return { order: { kind: 'drain', node, isGranted: by === 1, stays, isDryRun }, isPassedOn };
  }
  const order: NodeOrder | UndrainOrder =
    method === 'replace' ? { kind: 'replace', node, by: nodeOrNone(by) } : { kind: method, node };
  return { order, isPassedOn };
}

export function writeDone(node: RegisteredNode | DescribedNode): Buffer {
  const writer = new Writer();
  writeMessage(writer, 1, () => {
    if ('answers' in node) writeNode(writer, node);
    else writeRegistered(writer, node);
  });
  return Buffer.from(writer.view());
}

export function readDone(message: Uint8Array): AdminReply | undefined {
  const [bytes] = readFields(message)?.messages(1) ?? [];
  const node = bytes && readNode(bytes);
  return node && { kind: 'done', node };
}

export function writeFinalized(level: number): Buffer {
  const writer = new Writer();
  writeVarintField(writer, 1, level);
  return Buffer.from(writer.view());
}

export function readFinalized(message: Uint8Array): AdminReply | undefined {
  const level = readFields(message)?.number(1) ?? 0;
  return level === 0 ? undefined : { kind: 'finalized', level };
}

export function writeDescription(cluster: ClusterDescription): Buffer {
  const writer = new Writer();
  writeTextField(writer, CLUSTER.CLUSTER_ID, cluster.clusterId);
  writeVarintField(writer, CLUSTER.NODE, cluster.node);
  if (cluster.catalogLeader !== undefined) writeVarintField(writer, CLUSTER.CATALOG_LEADER, cluster.catalogLeader);
  for (const node of cluster.nodes) writeMessage(writer, CLUSTER.NODES, () => writeNode(writer, node));
  writeVarintField(writer, CLUSTER.LEVEL, cluster.level);
  writeVarintField(writer, CLUSTER.INDEX, cluster.catalogIndex);
  writeVarintField(writer, CLUSTER.IS_CONFIRMED, cluster.isConfirmed ? 1 : 0);
  for (const each of cluster.databases) writeMessage(writer, CLUSTER.DATABASES, () => writeDatabase(writer, each));
  for (const { node, group, title, reason } of cluster.diverged) {
    writeMessage(writer, CLUSTER.DIVERGED, () => {
      writeVarintField(writer, 1, node);
      writeVarintField(writer, 2, group);
      writeTextField(writer, 3, title);
      writeTextField(writer, 4, reason);
    });
  }
  for (const { node, reason } of cluster.otherClusters) {
    writeMessage(writer, CLUSTER.OTHER_CLUSTERS, () => {
      writeVarintField(writer, 1, node);
      writeTextField(writer, 2, reason);
    });
  }
  return Buffer.from(writer.view());
}

export function readDescription(message: Uint8Array): ClusterDescription | undefined {
  const fields = readFields(message);
  const node = fields?.number(CLUSTER.NODE) ?? 0;
  const catalogIndex = fields?.number(CLUSTER.INDEX) ?? 0;
  if (fields === undefined || !isNodeId(node) || !isLogIndex(catalogIndex)) return undefined;
  const nodes = fields.messages(CLUSTER.NODES).map(readNode);
  const databases = fields.messages(CLUSTER.DATABASES).map(readDatabase);
  const known = { nodes: nodes.filter(isThere), databases: databases.filter(isThere) };
  if (known.nodes.length < nodes.length || known.databases.length < databases.length) return undefined;
  const catalogLeader = nodeOrNone(fields.number(CLUSTER.CATALOG_LEADER));
  return {
    clusterId: fields.text(CLUSTER.CLUSTER_ID),
    node,
    catalogLeader,
    catalogIndex,
    isConfirmed: fields.number(CLUSTER.IS_CONFIRMED) === 1,
    level: fields.number(CLUSTER.LEVEL),
    diverged: fields.messages(CLUSTER.DIVERGED).map(readDivergence).filter(isThere),
    otherClusters: fields.messages(CLUSTER.OTHER_CLUSTERS).map(readOtherCluster).filter(isThere),
    ...known,
  };
}

function writeNode(writer: ByteWriter, node: DescribedNode): void {
  writeRegistered(writer, node);
  writeVarintField(writer, 10, node.answers ? 1 : 0);
  writeVarintField(writer, 11, node.copies);
  writeVarintField(writer, 12, node.leads);
  writeVarintField(writer, 13, ROLES.indexOf(node.catalogRole));
  writeVarintField(writer, 16, node.isDraining ? 1 : 0);
  if (node.clockAheadMs !== undefined) {
    writeVarintField(writer, 18, Math.max(0, node.clockAheadMs));
    writeVarintField(writer, 19, Math.max(0, -node.clockAheadMs));
  }
  writeVarintField(writer, 20, node.movableLeads);
  writeVarintField(writer, 21, node.lag);
  const { own } = node;
  if (own === undefined) return;
  writeMessage(writer, 22, () => {
    writeTextField(writer, 1, own.release);
    writeVarintField(writer, 2, own.catalogIndex);
    writeVarintField(writer, 3, own.unapplied);
    for (const digest of own.components) writeTextField(writer, 4, digest);
    for (const { digest, fault } of own.refused) {
      writeMessage(writer, 5, () => {
        writeTextField(writer, 1, digest);
        writeTextField(writer, 2, fault);
      });
    }
  });
}

function writeRegistered(writer: ByteWriter, node: RegisteredNode): void {
  writeVarintField(writer, 1, node.node);
  writeTextField(writer, 2, node.name);
  writeTextField(writer, 3, node.zone);
  writeVarintField(writer, 4, STATES.indexOf(node.state) + 1);
  writeTextField(writer, 5, node.storeId);
  writeTextField(writer, 6, node.peer.host);
  writeVarintField(writer, 7, node.peer.port);
  writeTextField(writer, 8, node.grpc);
  writeTextField(writer, 9, node.http);
  writeVarintField(writer, 14, node.levels.min);
  writeVarintField(writer, 15, node.levels.max);
  if (node.mcp !== undefined) writeTextField(writer, 17, node.mcp);
}

function readNode(bytes: Uint8Array): DescribedNode | undefined {
  const fields = readFields(bytes);
  if (fields === undefined) return undefined;
  const node = fields.number(1);
  const state = STATES[fields.number(4) - 1];
  const catalogRole = ROLES[fields.number(13)];
  if (!isNodeId(node) || state === undefined || catalogRole === undefined) return undefined;
  const mcp = fields.text(17);
  const clockAheadMs = fields.number(18) - fields.number(19);
  return {
    node,
    name: fields.text(2),
    zone: fields.text(3),
    state,
    storeId: fields.text(5),
    peer: { host: fields.text(6), port: fields.number(7) },
    grpc: fields.text(8),
    http: fields.text(9),
    ...(mcp !== '' && { mcp }),
    levels: { min: fields.number(14), max: fields.number(15) },
    answers: fields.number(10) === 1,
    isDraining: fields.number(16) === 1,
    copies: fields.number(11),
    leads: fields.number(12),
    movableLeads: fields.number(20),
    lag: fields.number(21),
    catalogRole,
    ...(clockAheadMs !== 0 && { clockAheadMs }),
    ...ownIn(fields.messages(22)),
  };
}

function ownIn([bytes]: readonly Uint8Array[]): Pick<DescribedNode, 'own'> {
  const fields = bytes && readFields(bytes);
  const catalogIndex = fields?.number(2) ?? 0;
  if (fields === undefined || !isLogIndex(catalogIndex)) return {};
  const components = fields.messages(4).map((digest) => decodeUtf8(digest) ?? '');
  const refused = fields.messages(5).map((each) => {
    const component = readFields(each);
    return { digest: component?.text(1) ?? '', fault: component?.text(2) ?? '' };
  });
  return { own: { release: fields.text(1), catalogIndex, unapplied: fields.number(3), components, refused } };
}

function writeDatabase(writer: ByteWriter, database: DescribedDatabase): void {
  const { name, databaseId, group, nodes, leaving, isSettled, leader, members, recovery, recordedAheadMs } = database;
  writeTextField(writer, 1, name);
  writeTextField(writer, 2, databaseId);
  writeVarintField(writer, 3, group);
  for (const node of nodes) writeVarintField(writer, 4, node);
  for (const node of leaving) writeVarintField(writer, 5, node);
  writeVarintField(writer, 6, isSettled ? 1 : 0);
  if (leader !== undefined) writeVarintField(writer, 7, leader);
  for (const member of members) {
    writeMessage(writer, 8, () => {
      writeVarintField(writer, 1, member.node);
      writeVarintField(writer, 2, member.isVoter ? 1 : 0);
      writeVarintField(writer, 3, STANDINGS.indexOf(member.standing));
      writeVarintField(writer, 4, member.lag);
    });
  }
  if (recordedAheadMs !== undefined) writeVarintField(writer, 10, recordedAheadMs);
  if (recovery === undefined) return;
  writeMessage(writer, 9, () => {
    writeTextField(writer, 1, recovery.before);
    writeTextField(writer, 2, recovery.first);
    writeVarintField(writer, 3, recovery.revision);
  });
}

function readDatabase(bytes: Uint8Array): DescribedDatabase | undefined {
  const fields = readFields(bytes);
  const databaseId = fields?.text(2) ?? '';
  const group = fields?.number(3) ?? 0;
  if (fields === undefined || !isDatabaseId(databaseId) || !isGroupId(group)) return undefined;
  const [recovery] = fields.messages(9);
  const recordedAheadMs = fields.number(10);
  return {
    name: fields.text(1),
    databaseId,
    group,
    nodes: fields.numbers(4).filter(isNodeId),
    leaving: fields.numbers(5).filter(isNodeId),
    isSettled: fields.number(6) === 1,
    leader: nodeOrNone(fields.number(7)),
    members: fields.messages(8).map(readMember).filter(isThere),
    recovery: recovery && readOrigin(recovery),
    ...(recordedAheadMs > 0 && { recordedAheadMs }),
  };
}

function readDivergence(bytes: Uint8Array): ClusterDescription['diverged'][number] | undefined {
  const fields = readFields(bytes);
  const [node = 0, group = 0] = [fields?.number(1), fields?.number(2)];
  if (fields === undefined || !isNodeId(node) || !isGroupId(group)) return undefined;
  return { node, group, title: fields.text(3), reason: fields.text(4) };
}

function readOtherCluster(bytes: Uint8Array): ClusterDescription['otherClusters'][number] | undefined {
  const fields = readFields(bytes);
  const node = fields?.number(1) ?? 0;
  return fields !== undefined && isNodeId(node) ? { node, reason: fields.text(2) } : undefined;
}

function readOrigin(bytes: Uint8Array): DescribedDatabase['recovery'] {
  const fields = readFields(bytes);
  const [before = '', first = ''] = [fields?.text(1), fields?.text(2)];
  const revision = fields?.number(3) ?? 0;
  return isDatabaseId(before) && isDatabaseId(first) && isRevision(revision) ? { before, first, revision } : undefined;
}

function readMember(bytes: Uint8Array): DescribedMember | undefined {
  const fields = readFields(bytes);
  const node = fields?.number(1) ?? 0;
  const standing = STANDINGS[fields?.number(3) ?? 0];
  if (fields === undefined || !isNodeId(node) || standing === undefined) return undefined;
  return { node, isVoter: fields.number(2) === 1, standing, lag: fields.number(4) };
}

function writeMessage(writer: ByteWriter, field: number, write: () => void): void {
  const mark = beginMessage(writer, field);
  write();
  writer.endLength(mark);
}

function isThere<Value>(value: Value | undefined): value is Value {
  return value !== undefined;
}
