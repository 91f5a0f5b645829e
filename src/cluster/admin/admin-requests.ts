/**
 * Requests of operators and of joining nodes to the core. Changes go through the catalog; each request is answered by
 * the applied state of the catalog.
 */
import { assert, type Clock, type GroupId, type Random, toDatabaseId, uuidv7 } from '#base';
import type { KvReader } from '#kv';
import { type CatalogRequest, CatalogRequests, type CatalogRequestsPorts } from '../catalog/catalog-requests.ts';
import { type Registrar, type RegistrarPorts, type Registration, registrar } from '../catalog/registrar.ts';
import type { Group } from '../group/group.ts';
import type { Binding, NodeRegistration } from '../outcome.ts';
import { clockFault } from '../refusals.ts';
import { type CopiesAnswer, type CopiesOrder, copiesRequest } from './copies-order.ts';
import type { NodeOrder } from './decommission.ts';
import { type CoreDescription, type DescriptionPorts, describeHere } from './describe.ts';
import { type FinalizeAnswer, type FinalizeOrder, type FinalizePorts, finalizeRequest } from './levels.ts';
import { type NodeRequestPorts, nodeRequest, type OrderAnswer } from './node-requests.ts';
import {
  type AskedRecovery,
  chosenOf,
  faultInRecovery,
  type HeldCopy,
  heldCopy,
  type Recovered,
  type RecoveryAnswer,
  recoveredBy,
} from './recover-order.ts';

export interface AdminRequestsPorts
  extends CatalogRequestsPorts,
    RegistrarPorts,
    NodeRequestPorts,
    FinalizePorts,
    Omit<DescriptionPorts, 'components'> {
  readonly kv: KvReader;
  readonly touch: (id: GroupId) => Group | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Returns whether no client of any node can be answered from an earlier instance with the name (C26). */
  readonly isPast: (name: string) => boolean;
}

const NOT_PAST = 'it is recovered, but a node may still answer from the instance before, for some seconds more';
/** Maximum number of components in a description. */
const COMPONENTS_MAX = 1_000;

export class AdminRequests {
  readonly #ports: AdminRequestsPorts;
  readonly #requests: CatalogRequests;
  readonly #registrar: Registrar;
  /** Fault of each component by digest; undefined when the process can run it. */
  readonly #components = new Map<string, string | undefined>();

  constructor(ports: AdminRequestsPorts) {
    this.#ports = ports;
    this.#requests = new CatalogRequests(ports);
    this.#registrar = registrar(ports);
  }

  /** Processes waiting requests. Called between steps. */
  settle(): void {
    this.#requests.settle();
  }

  /** Registers a store as a node, or new addresses of a node. */
  register(registration: NodeRegistration, isOwn: boolean, signal?: AbortSignal): Promise<Registration> {
    return this.#requests.ask(this.#registrar({ registration, isOwn }), signal);
  }

  /** A request about a node, about all nodes, or about the copies of a database. */
  order(
    order: NodeOrder | FinalizeOrder | CopiesOrder,
    signal?: AbortSignal,
  ): Promise<OrderAnswer | FinalizeAnswer | CopiesAnswer> {
    if (order.kind === 'finalize') return this.#requests.ask(finalizeRequest(this.#ports), signal);
    if (order.kind === 'set-copies') return this.#requests.ask(copiesRequest(this.#ports, order), signal);
    return this.#requests.ask(nodeRequest(this.#ports, order), signal);
  }

  /** The replica of a database on this node; undefined when there is none, or no such database. */
  copyOf(name: string): HeldCopy | undefined {
    const { catalog, touch, kv, machines, turns } = this.#ports;
    let copy: HeldCopy | undefined;
    turns.run(() => {
      const binding = catalog().lookup(name);
      const group = binding && touch(binding.group);
      const standing = group && machines.standingOf(kv, group.id);
      copy = group && standing && heldCopy(group, standing);
    });
    return copy;
  }

  /** A request to recover a database that has lost its quorum. */
  recover(order: AskedRecovery, signal?: AbortSignal): Promise<RecoveryAnswer> {
    return this.#requests.ask(this.#recovery(order), signal);
  }

  /** Describes the cluster from the view of this node. */
  describe(): CoreDescription {
    return describeHere({ ...this.#ports, components: this.#components });
  }

  /** The process can run the component, or cannot. Keeps the most recent ones: a longer list would not be useful. */
  runs(digest: string, fault?: string): void {
    this.#components.delete(digest);
    this.#components.set(digest, fault);
    for (const oldest of this.#components.keys()) {
      if (this.#components.size <= COMPONENTS_MAX) break;
      this.#components.delete(oldest);
    }
  }

  #recovery(order: AskedRecovery): CatalogRequest<Recovered> {
    const { clock, isPast } = this.#ports;
    const bound = (): Binding | undefined => this.#ports.catalog().lookup(order.name);
    const isDone = (): boolean => recoveredBy(bound(), order) !== undefined;
    return {
      answer: (isLatest) => {
        const database = isLatest ? recoveredBy(bound(), order) : undefined;
        return database && isPast(database.name) ? { kind: 'recovered', database } : undefined;
      },
      fault: () => {
        const reason = clockFault(clock.nowMs())?.message ?? (isDone() ? NOT_PAST : undefined);
        if (reason !== undefined) return { kind: 'later', reason };
        const fault = faultInRecovery(bound(), order);
        return fault && { kind: 'faulty', ...fault };
      },
      encode: () => this.#encodeRecovery(order),
      late: () => (isDone() ? NOT_PAST : undefined),
    };
  }

  #encodeRecovery(order: AskedRecovery): Uint8Array {
    const { machines, clock, random } = this.#ports;
    const chosen = chosenOf(order);
    assert(chosen !== undefined, 'The recovered replica has answered', order.from);
    const { group, revision, chainHash } = chosen;
    const databaseId = toDatabaseId(uuidv7(clock.nowMs(), random));
    return machines.encode({ kind: 'recover', group, databaseId, node: order.from, revision, chainHash });
  }
}
