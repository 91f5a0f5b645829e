/**
 * The admin API of a cluster (`cairn.admin.v1`), as far as the operator uses it. Any node answers: each address is
 * tried until one does.
 *
 * Orders are safe to repeat. One that the cluster refuses rejects with `CallError` FAILED_PRECONDITION and its reason.
 */
import {
  CatalogRole,
  ClusterAdminService,
  type DescribeClusterReply,
  type DrainNodeRequest,
  type Node as NodeMessage,
  NodeState,
  Standing,
} from '../../../proto/gen/cairn/admin/v1/admin.ts';
import { CallError, type CallOptions, Channel, type Endpoint, type Method } from './channel.ts';

export type NodeRole = 'voter' | 'learner' | 'none';

export interface ClusterNode {
  readonly id: number;
  /** The name of its pod. */
  readonly name: string;
  readonly zone: string;
  readonly state: 'active' | 'leaving' | 'removed';
  /** It never votes in any group. */
  readonly isLearner: boolean;
  /** It answered for this description. The fields below are 0 or absent if it did not. */
  readonly answers: boolean;
  /** Its role in the group of the catalog. */
  readonly role: NodeRole;
  readonly levelMax: number;
  readonly isDraining: boolean;
  readonly leads: number;
  /** Leaderships that other nodes could have. */
  readonly movableLeads: number;
  /** Entries that its most lagging replica has not acknowledged. */
  readonly lag: number;
  /** Share of the disk of its data that is not available. */
  readonly diskUsedPercent: number;
  readonly release?: string | undefined;
  /** Digests of components of active versions that it cannot run. */
  readonly refused: readonly string[];
}

export interface ClusterDatabase {
  readonly name: string;
  readonly nodes: readonly number[];
  readonly leader?: number | undefined;
  readonly members: readonly { readonly node: number; readonly isCaughtUp: boolean }[];
}

export interface ClusterDescription {
  readonly clusterID: string;
  /** True when the leader of the catalog answered. Without it the description may be outdated. */
  readonly isConfirmed: boolean;
  readonly level: number;
  readonly nodes: readonly ClusterNode[];
  readonly databases: readonly ClusterDatabase[];
}

export type NodeOrder = 'drain' | 'undrain' | 'decommission' | 'recommission';

/** A node asks the others for at most two seconds. */
const DEADLINE_MS = 5_000;

/** The messages of the others have some fields of the one of a drain. */
const ORDERS: Readonly<Record<NodeOrder, Method<DrainNodeRequest, unknown>>> = {
  drain: ClusterAdminService.drainNode,
  undrain: ClusterAdminService.undrainNode,
  decommission: ClusterAdminService.decommissionNode,
  recommission: ClusterAdminService.recommissionNode,
};

/** The public methods of the client. The simulation of test/operator has them, too. */
export type ClusterAdmin = Pick<GrpcClusterAdmin, keyof GrpcClusterAdmin>;

export class GrpcClusterAdmin {
  readonly #nodes: readonly Endpoint[];
  readonly #signal: AbortSignal | undefined;

  /** Nodes are tried in this order. */
  constructor(nodes: readonly Endpoint[], signal?: AbortSignal) {
    this.#nodes = nodes;
    this.#signal = signal;
  }

  /** The description of a node that reaches the leader of the catalog, else of any node. */
  async describe(): Promise<ClusterDescription> {
    let unconfirmed: DescribeClusterReply | undefined;
    const ask = async (channel: Channel, options: CallOptions): Promise<DescribeClusterReply | undefined> => {
      const reply = await channel.call(ClusterAdminService.describeCluster, { isPassedOn: false }, options);
      if (reply.isConfirmed) return reply;
      unconfirmed ??= reply;
      return undefined;
    };
    const reply = await this.#first(ask).catch((error: unknown) => {
      if (unconfirmed === undefined) throw error;
      return unconfirmed;
    });
    return descriptionOf(reply);
  }

  /**
   * drain: the node transfers its leaderships and stays; undrain ends that. decommission: it begins to leave, so its
   * replicas move and then it is removed; recommission: it stays.
   */
  async order(order: NodeOrder, node: number): Promise<void> {
    await this.#request(ORDERS[order], { node, isGranted: false, stay: true, dryRun: false, isPassedOn: false });
  }

  /** Raises the feature level to the highest one that all nodes know. */
  async finalize(): Promise<void> {
    await this.#request(ClusterAdminService.finalizeUpgrade, { isPassedOn: false });
  }

  /** A database without a quorum continues with the replica of one node; what only other nodes have is lost. */
  async recover(name: string, node: number): Promise<void> {
    const { nodes } = await this.#request(ClusterAdminService.describeCluster, { isPassedOn: false });
    const { grpc: address = '' } = nodes.find((each) => each.node === node) ?? {};
    const { identity } = this.#nodes.find((each) => each.address === address) ?? this.#nodes[0] ?? { identity: {} };
    using channel = new Channel(address, identity);
    const options = { deadlineMs: DEADLINE_MS, signal: this.#signal };
    const { copy } = await channel.call(ClusterAdminService.describeCopy, { name, isPassedOn: false }, options);
    if (copy === undefined) throw new Error(`node ${node} has no replica of database ${name}`);
    const request = { name, from: node, acceptRevision: copy.revision, isPassedOn: false };
    await this.#request(ClusterAdminService.recoverDatabase, request);
  }

  #request<Request, Reply>(method: Method<Request, Reply>, request: Request): Promise<Reply> {
    return this.#first((channel, options) => channel.call(method, request, options));
  }

  /** The first answer: undefined and transient errors have the next address asked. */
  async #first<Reply>(ask: (channel: Channel, options: CallOptions) => Promise<Reply | undefined>): Promise<Reply> {
    let failure: unknown = new Error('no node answers');
    for (const { address, identity } of this.#nodes) {
      using channel = new Channel(address, identity);
      try {
        const reply = await ask(channel, { deadlineMs: DEADLINE_MS, signal: this.#signal });
        if (reply !== undefined) return reply;
      } catch (error) {
        if (!(error instanceof CallError) || !error.isTransient) throw error;
        failure = error;
      }
    }
    throw failure;
  }
}

const STATES: Readonly<Record<NodeState, ClusterNode['state']>> = {
  [NodeState.NODE_STATE_UNSPECIFIED]: 'active',
  [NodeState.NODE_STATE_ACTIVE]: 'active',
  [NodeState.NODE_STATE_LEAVING]: 'leaving',
  [NodeState.NODE_STATE_REMOVED]: 'removed',
};

const ROLES: Readonly<Record<CatalogRole, NodeRole>> = {
  [CatalogRole.CATALOG_ROLE_NONE]: 'none',
  [CatalogRole.CATALOG_ROLE_VOTER]: 'voter',
  [CatalogRole.CATALOG_ROLE_LEARNER]: 'learner',
};

/** Exported for tests. */
export function descriptionOf({
  clusterId,
  isConfirmed,
  level,
  nodes,
  databases,
}: DescribeClusterReply): ClusterDescription {
  return {
    clusterID: clusterId,
    isConfirmed,
    level,
    nodes: nodes.map(nodeOf),
    databases: databases.map(({ name, nodes: holders, leader, members }) => ({
      name,
      nodes: holders,
      // proto3 has no other sign of an absent number.
      leader: leader === 0 ? undefined : leader,
      members: members.map(({ node, standing }) => ({ node, isCaughtUp: standing === Standing.STANDING_READY })),
    })),
  };
}

function nodeOf({ node, own, state, catalogRole, ...rest }: NodeMessage): ClusterNode {
  const { name, zone, isLearner, answers, levelMax, isDraining, leads, movableLeads, lag } = rest;
  const { diskUsedPercent = 0, refused: faults = [] } = own ?? {};
  const measures = { isLearner, answers, isDraining, leads, movableLeads, lag, levelMax, diskUsedPercent };
  const refused = faults.map(({ digest }) => digest);
  const [stateName, role] = [STATES[state], ROLES[catalogRole]];
  return { id: node, name, zone, state: stateName, role, release: own?.release, refused, ...measures };
}
