/**
 * Admin requests, which any node accepts. A change is forwarded to the leader of the catalog; a description is merged
 * from the replies of all nodes. A forwarded request is not forwarded again.
 */
import type { Address, NodeId } from '#base';
import type { DialledAddress } from '../peer/join.ts';
import type { AdminRequests } from './admin-requests.ts';
import type { CopiesAnswer, CopiesOrder } from './copies-order.ts';
import type { NodeOrder } from './decommission.ts';
import { type ClusterDescription, type DescribedNode, together } from './describe.ts';
import { type DrainOrder, faultInDraining, type UndrainOrder } from './drain-order.ts';
import type { FinalizeAnswer, FinalizeOrder } from './levels.ts';
import type { OrderAnswer } from './node-requests.ts';
import type { HeldCopy, RecoveryAnswer, RecoveryOrder } from './recover-order.ts';

export interface AdminRequest {
  readonly order:
    | NodeOrder
    | FinalizeOrder
    | CopiesOrder
    | RecoveryOrder
    | DrainOrder
    | UndrainOrder
    | { readonly kind: 'describe' }
    /** The replica of a database on the node that receives this. */
    | { readonly kind: 'copy'; readonly name: string };
  /** Forwarded by another node: only the receiver answers it. */
  readonly isPassedOn: boolean;
  /** Aborts when the caller at the peer port has gone. */
  readonly signal?: AbortSignal;
}

export type AdminReply =
  | Exclude<OrderAnswer | FinalizeAnswer | CopiesAnswer | RecoveryAnswer, { readonly kind: 'elsewhere' }>
  /** That node does not accept requests of this one. */
  | { readonly kind: 'faulty'; readonly code: 'refused'; readonly reason: string }
  /** Answer to a drain, with the current state of the node. */
  | { readonly kind: 'done'; readonly node: DescribedNode }
  | { readonly kind: 'described'; readonly cluster: ClusterDescription }
  | {
      readonly kind: 'copy';
      readonly clusterId: string;
      readonly node: NodeId;
      readonly copy: HeldCopy | undefined;
    };

/** Sends a request to one node. The reply is `later` when it cannot be reached or does not answer in time. */
export type AskAdmin = (address: DialledAddress, request: AdminRequest, timeoutMs: number) => Promise<AdminReply>;

/** A node, as admin requests see it. */
export interface Administers {
  /** Answers as the peer port does, and leaves the audit record to the caller. Undefined: there is no peer port. */
  readonly administer: ((order: AdminRequest['order']) => Promise<AdminReply>) | undefined;
}

export interface AdministrationPorts {
  /** The core of this node; undefined while it starts. */
  readonly core: () => AdministeredCore | undefined;
  readonly ask: AskAdmin;
  /** A sentence that says how this node and another cluster contradict each other. */
  readonly otherCluster?: (() => string | undefined) | undefined;
}

/** The part of a core that admin requests need. */
export interface AdministeredCore {
  readonly admin: Pick<AdminRequests, 'order' | 'copyOf' | 'recover' | 'describe'>;
  /** Stops the node after it has transferred its leaderships. */
  requestStop(): void;
  /** Transfers the leaderships of the node, and keeps it without any. */
  drainInPlace(): void;
  /** Cancels a drain. False: the node is about to end. */
  undrain(): boolean;
}

/** Longer than the leader of the catalog takes to report that it has no quorum. */
const ORDER_TIMEOUT_MS = 10_000;
/** Short, because a node that is down does not answer. */
const DESCRIBE_TIMEOUT_MS = 2_000;
const STARTING: AdminReply = { kind: 'later', reason: 'the node is starting' };

export function administration(ports: AdministrationPorts, clusterId: string) {
  const { core, ask } = ports;
  /** Drains are decided one after the other: each sees that the last has begun. */
  let drained: Promise<unknown> = Promise.resolve();
  const drain = (order: DrainOrder, isPassedOn: boolean): Promise<AdminReply> => {
    const answer = drained.then(() => drainNode(ports, order, { clusterId, isPassedOn }));
    drained = answer.catch(() => undefined);
    return answer;
  };
  return async ({ order, isPassedOn, signal }: AdminRequest): Promise<AdminReply> => {
    const administered = core();
    if (administered === undefined) return STARTING;
    if (order.kind === 'describe') {
      const own = described(administered, ports, clusterId);
      return { kind: 'described', cluster: isPassedOn ? own : await fromAll(own, ask) };
    }
    if (order.kind === 'copy') {
      const { node } = administered.admin.describe();
      return { kind: 'copy', clusterId, node, copy: administered.admin.copyOf(order.name) };
    }
    if (order.kind === 'undrain') return undrainNode(administered, order, { ask, isPassedOn });
    if (order.kind === 'drain') return order.isGranted ? drainHere(administered, order) : drain(order, isPassedOn);
    const answer =
      order.kind === 'recover'
        ? await recover(administered, order, { ask, clusterId, signal })
        : await administered.admin.order(order, signal);
    if (answer.kind !== 'elsewhere') return answer;
    if (isPassedOn) return { kind: 'later', reason: 'another node leads the catalog by now' };
    return ask(answer.leader, { order, isPassedOn: true }, ORDER_TIMEOUT_MS);
  };
}

function described(core: AdministeredCore, ports: AdministrationPorts, clusterId: string): ClusterDescription {
  const known = core.admin.describe();
  const reason = ports.otherCluster?.();
  return { ...known, clusterId, otherClusters: reason === undefined ? [] : [{ node: known.node, reason }] };
}

/** The leader of the catalog decides, from the descriptions of all nodes that answer. */
async function recover(
  administered: AdministeredCore,
  order: RecoveryOrder,
  { ask, clusterId, signal }: Pick<AdministrationPorts, 'ask'> & { clusterId: string; signal: AbortSignal | undefined },
): Promise<RecoveryAnswer> {
  const { admin } = administered;
  const { node, catalogLeader, nodes } = admin.describe();
  if (catalogLeader !== node) return admin.recover({ ...order, copies: [] }, signal);
  const others = nodes.filter((each) => each.node !== node && each.state !== 'removed' && each.peer.port !== 0);
  const request = { order: { kind: 'copy', name: order.name }, isPassedOn: true } as const;
  const heard = await Promise.all(
    others.map(async (other) => {
      const reply = await ask(other.peer, request, DESCRIBE_TIMEOUT_MS);
      const isIt = reply.kind === 'copy' && reply.node === other.node && reply.clusterId === clusterId;
      return isIt ? reply.copy : undefined;
    }),
  );
  const copies = [admin.copyOf(order.name), ...heard].filter((copy) => copy !== undefined);
  return admin.recover({ ...order, copies }, signal);
}

/** The leader of the catalog decides, and sends the drain to the node. */
async function drainNode(
  ports: AdministrationPorts,
  order: DrainOrder,
  { clusterId, isPassedOn }: { readonly clusterId: string; readonly isPassedOn: boolean },
): Promise<AdminReply> {
  const { core, ask } = ports;
  const administered = core();
  if (administered === undefined) return STARTING;
  const cluster = await fromAll(described(administered, ports, clusterId), ask);
  const addressOf = (number: NodeId | undefined): Address | undefined =>
    cluster.nodes.find(({ node }) => node === number)?.peer;
  const { node: self, catalogLeader } = cluster;
  if (catalogLeader !== self) {
    const leader = addressOf(catalogLeader);
    if (isPassedOn || leader === undefined) return { kind: 'later', reason: 'it is not known who leads the catalog' };
    return ask(leader, { order, isPassedOn: true }, ORDER_TIMEOUT_MS);
  }
  const fault = faultInDraining(order.node, cluster);
  if (fault !== undefined) return fault;
  const node = cluster.nodes.find((each) => each.node === order.node);
  if (order.isDryRun && node !== undefined) return { kind: 'done', node };
  if (order.node === self) return drainHere(administered, order);
  const address = addressOf(order.node);
  if (address === undefined) return { kind: 'later', reason: `node ${order.node} is gone` };
  return ask(address, { order: { ...order, isGranted: true }, isPassedOn: true }, DESCRIBE_TIMEOUT_MS);
}

function drainHere(administered: AdministeredCore, { node, stays }: DrainOrder): AdminReply {
  return ownIf(administered, node, () => {
    if (stays) administered.drainInPlace();
    else administered.requestStop();
    return undefined;
  });
}

/** No check is needed: it affects no other node. */
async function undrainNode(
  administered: AdministeredCore,
  order: UndrainOrder,
  { ask, isPassedOn }: { readonly ask: AskAdmin; readonly isPassedOn: boolean },
): Promise<AdminReply> {
  const { node: self, nodes } = administered.admin.describe();
  const { node } = order;
  if (node === self || isPassedOn) {
    return ownIf(administered, node, () =>
      administered.undrain() ? undefined : failed(`node ${node} is about to end; start it again`),
    );
  }
  const found = nodes.find((each) => each.node === node);
  if (found === undefined) return { kind: 'faulty', code: 'not_found', reason: `there is no node ${node}` };
  if (found.state === 'removed') return failed(`node ${node} was removed permanently`);
  return ask(found.peer, { order, isPassedOn: true }, DESCRIBE_TIMEOUT_MS);
}

/** Carries out a request for this node, and returns the node as it is then, or the fault. */
function ownIf(administered: AdministeredCore, number: NodeId, carryOut: () => AdminReply | undefined): AdminReply {
  const { node } = administered.admin.describe();
  const elsewhere: AdminReply = { kind: 'later', reason: `node ${node} is there, not node ${number}` };
  if (node !== number) return elsewhere;
  const fault = carryOut();
  if (fault !== undefined) return fault;
  const own = administered.admin.describe().nodes.find((each) => each.node === node);
  return own === undefined ? elsewhere : { kind: 'done', node: own };
}

function failed(reason: string): AdminReply {
  return { kind: 'faulty', code: 'failed_precondition', reason };
}

/** The nodes that answered may know others that this one does not: these are asked, too. */
async function fromAll(own: ClusterDescription, ask: AskAdmin): Promise<ClusterDescription> {
  const asked = new Set([own.node]);
  const heard: ClusterDescription[] = [];
  for (;;) {
    const cluster = together(own, heard);
    const next = cluster.nodes.filter(
      ({ node, state, peer }) => !asked.has(node) && state !== 'removed' && peer.port !== 0,
    );
    if (next.length === 0) return cluster;
    for (const { node } of next) asked.add(node);
    const replies = await Promise.all(next.map(({ node, peer }) => describedBy(node, peer, ask)));
    heard.push(...replies.flatMap((each) => (each?.clusterId === own.clusterId ? [each] : [])));
  }
}

/** Undefined unless that node answers. */
async function describedBy(node: NodeId, peer: Address, ask: AskAdmin): Promise<ClusterDescription | undefined> {
  const reply = await ask(peer, { order: { kind: 'describe' }, isPassedOn: true }, DESCRIBE_TIMEOUT_MS);
  return reply.kind === 'described' && reply.cluster.node === node ? reply.cluster : undefined;
}
