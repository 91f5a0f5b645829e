/**
 * The wanted members of the groups of databases, and the report to the catalog when those of a placement are reached
 * (D15). Voters are the replicas that the catalog names; every learner of the cluster is a learner of each group.
 *
 * A proposal names its placement, and may be lost, repeated or reordered without harm, so nothing waits for an answer:
 * it is proposed again until the catalog shows it.
 */
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf, type ReplicaId, replicaOf } from '#base';
import type { CatalogEntry } from '#database';
import type { Input, Target } from '#raft';
import { Freshness } from '../catalog/freshness.ts';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { CatalogMachine, Machines } from '../machine.ts';
import type { Binding, RegisteredNode } from '../outcome.ts';
import { MembershipDriver } from './membership-driver.ts';

export interface MovesPorts {
  readonly machines: Machines;
  readonly limits: CoreLimits;
  readonly monotonicMs: () => number;
  readonly catalog: () => Pick<CatalogMachine, 'bindingOf' | 'nodes'>;
  /** Returns whether a learner has been unreachable for so long that leaders on this node release it. */
  readonly isLost: (node: NodeId) => boolean;
  /** The wanted members of the group of the catalog; undefined when they should not change. */
  readonly catalogTarget: () => Target | undefined;
  readonly find: (id: GroupId) => Group | undefined;
  readonly step: (group: Group, input: Input) => void;
  /** Forwards a payload to the leader of the group, without an answer. */
  readonly tell: (to: NodeId, group: GroupId, payload: Uint8Array) => void;
}

/** Time after which a placement seems to wait for a replica that is damaged here. */
const SETTLED_MS = 10_000;

export class Moves {
  readonly #ports: MovesPorts;
  /** Placements of databases with a damaged replica here, and the time since which this node waits for them. */
  readonly #awaited = new Map<GroupId, { readonly placement: number; readonly sinceMs: number }>();
  readonly freshness: Freshness;
  readonly driver: MembershipDriver;

  constructor(ports: MovesPorts) {
    this.#ports = ports;
    this.freshness = new Freshness(ports);
    this.driver = new MembershipDriver({
      ...ports,
      wanted: (group) => this.#wanted(group),
      unsettled: (group) => this.#unsettled(group),
      settle: (group, placement) => this.#settle(group, placement),
      freshness: this.freshness,
    });
  }

  /** Proposes a placement of the database on these nodes; the catalog will show the result. */
  place({ group, placement }: Binding, nodes: readonly NodeId[]): void {
    this.#propose({ kind: 'place', group, placement, nodes });
  }

  /**
   * Proposes a placement without a damaged replica (C46), but not while another one is being settled, unless that takes
   * so long that it seems to wait for this replica. Lost nodes get no part in it: the group would wait for them, and
   * the planner would take the damaged replica back instead.
   */
  placeWithout(binding: Binding, damaged: ReplicaId): void {
    const { replicas, leaving } = binding;
    const others = replicas.filter((each) => each !== damaged && !this.#ports.isLost(nodeOf(each)));
    const isGoing = !replicas.includes(damaged) || leaving.includes(damaged);
    if (isGoing || 2 * others.length <= replicas.length || this.#isUnderWay(binding)) return;
    this.place(binding, others.map(nodeOf));
  }

  /** The learners of every group: those of the cluster that are not removed, and not unreachable for long. */
  get pool(): readonly ReplicaId[] {
    const { catalog, isLost } = this.#ports;
    const learners = catalog().nodes().filter(isLearner);
    return learners
      .filter(({ node, state }) => state !== 'removed' && !isLost(node))
      .map(({ node }) => replicaOf(node));
  }

  /** The wanted members of the group; undefined when it has its first members, and there never was a learner. */
  #wanted(group: GroupId): Target | undefined {
    const { catalog, catalogTarget } = this.#ports;
    if (group === CATALOG_GROUP) return catalogTarget();
    const binding = catalog().bindingOf(group);
    if (binding === undefined || (binding.placement === 0 && !catalog().nodes().some(isLearner))) return undefined;
    return { voters: binding.replicas.filter((replica) => !binding.leaving.includes(replica)), learners: this.pool };
  }

  /** Returns whether the placement may still be settled, although a replica is damaged. */
  #isUnderWay({ group, placement, isSettled }: Binding): boolean {
    const nowMs = this.#ports.monotonicMs();
    const known = this.#awaited.get(group);
    const sinceMs = known?.placement === placement ? known.sinceMs : nowMs;
    if (isSettled) this.#awaited.delete(group);
    else this.#awaited.set(group, { placement, sinceMs });
    return !isSettled && nowMs < sinceMs + SETTLED_MS;
  }

  /** The placement that the catalog waits to see settled for the group; undefined if there is none. */
  #unsettled(group: GroupId): number | undefined {
    const binding = this.#ports.catalog().bindingOf(group);
    return binding === undefined || binding.isSettled ? undefined : binding.placement;
  }

  /** Reports to the catalog that the group has reached this placement for good. */
  #settle(group: GroupId, placement: number): void {
    this.#propose({ kind: 'placed', group, placement });
  }

  #propose(entry: CatalogEntry): void {
    const payload = this.#ports.machines.encode(entry);
    const catalog = this.#ports.find(CATALOG_GROUP);
    if (catalog?.isReady === true) {
      this.#ports.step(catalog, { kind: 'propose', payloads: [payload] });
    } else if (catalog?.leader !== undefined && !catalog.leads) {
      this.#ports.tell(nodeOf(catalog.leader), CATALOG_GROUP, payload);
    }
  }
}

function isLearner(node: RegisteredNode): boolean {
  return node.isLearner;
}
