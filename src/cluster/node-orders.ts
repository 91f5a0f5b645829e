/**
 * Carries out what operators ask of nodes: proposes the entry when this node leads the catalog, and otherwise says who does.
 *
 * Like a registration, an order is answered by the catalog as it is applied and not by what became of an entry; so it may be
 * repeated, lost and overtaken.
 */
import { type Address, CATALOG_GROUP, type GroupId } from '#base';
import type { Input } from '#raft';
import { faultInOrder, goalOf, type NodeOrder, type OrderFault } from './decommission.ts';
import type { Group } from './group.ts';
import type { CoreLimits } from './limits.ts';
import type { CatalogMachine, Machines } from './machine.ts';
import type { RegisteredNode } from './outcome.ts';
import type { Upkeep } from './placement.ts';
import { leaderOf } from './registrar.ts';
import { placementView } from './spread.ts';

export type OrderAnswer =
  /** The node is in the state that was asked for, or beyond it. */
  | { readonly kind: 'done'; readonly node: RegisteredNode }
  /** That one leads the catalog. */
  | { readonly kind: 'elsewhere'; readonly leader: Address }
  | { readonly kind: 'later'; readonly reason: string }
  | ({ readonly kind: 'faulty' } & OrderFault);

export interface NodeOrdersPorts {
  readonly upkeep?: Upkeep;
  readonly machines: Machines;
  readonly catalog: () => CatalogMachine;
  readonly find: (id: GroupId) => Group | undefined;
  readonly limits: CoreLimits;
  readonly monotonicMs: () => number;
  readonly step: (group: Group, input: Input) => void;
}

interface Waiting {
  readonly order: NodeOrder;
  readonly endMs: number;
  readonly resolve: (answer: OrderAnswer) => void;
  /** In which it was proposed. */
  term: number;
}

export class NodeOrders {
  readonly #ports: NodeOrdersPorts;
  #waiting: readonly Waiting[] = [];

  constructor(ports: NodeOrdersPorts) {
    this.#ports = ports;
  }

  /** Answered by a later call of `settle`. */
  order(order: NodeOrder): Promise<OrderAnswer> {
    const endMs = this.#ports.monotonicMs() + this.#ports.limits.leaderWaitMs;
    return new Promise((resolve) => {
      this.#waiting = [...this.#waiting, { order, endMs, resolve, term: -1 }];
    });
  }

  /** Goes on with whoever waits. Called when no step is under way. */
  settle(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    const left = waiting.filter((each) => {
      const answer = this.#answer(each);
      if (answer !== undefined) each.resolve(answer);
      return answer === undefined;
    });
    this.#waiting = [...left, ...this.#waiting];
  }

  #answer(waiting: Waiting): OrderAnswer | undefined {
    const { find, monotonicMs, catalog } = this.#ports;
    const { order } = waiting;
    const group = find(CATALOG_GROUP);
    const isLate = monotonicMs() >= waiting.endMs;
    if (group === undefined || isLate) return { kind: 'later', reason: 'the catalog has not taken it in yet' };
    if (group.isOpening) return undefined;
    const nodes = catalog().nodes();
    if (!group.isReady) return leaderOf(group, nodes);
    const node = nodes.find((each) => each.node === order.node);
    const isThere = node?.state === goalOf(order) || (node?.state === 'removed' && order.kind !== 'recommission');
    if (node !== undefined && isThere) return { kind: 'done', node };
    const fault = waiting.term < 0 ? this.#fault(order, group) : undefined;
    if (fault !== undefined) return { kind: 'faulty', ...fault };
    this.#propose(group, waiting);
    return undefined;
  }

  #fault(order: NodeOrder, group: Group): OrderFault | undefined {
    const { upkeep, catalog, monotonicMs } = this.#ports;
    const { copies = 1, replaceAfterMs } = upkeep ?? {};
    const view = placementView(catalog(), group, { nowMs: monotonicMs(), replaceAfterMs });
    return faultInOrder(order, { ...view, copies, membership: group.raft.membership });
  }

  #propose(group: Group, waiting: Waiting): void {
    const { term } = group.raft.hardState;
    if (waiting.term === term) return;
    waiting.term = term;
    const { node } = waiting.order;
    const payload = this.#ports.machines.encodeMark({ node, state: goalOf(waiting.order) });
    // Nobody waits for this entry itself.
    group.proposals.offer([]);
    this.#ports.step(group, { kind: 'propose', payloads: [payload] });
  }
}
