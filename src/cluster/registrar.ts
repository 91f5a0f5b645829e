/**
 * Registers nodes in the catalog, on behalf of whoever asks (peer/join.ts): proposes the entry when this node leads the
 * catalog, and otherwise says who does.
 *
 * Nobody is answered by what became of an entry, but by the catalog as it is applied: when it says of the store what is to
 * be said, the store is registered, whoever proposed that and whenever. So it is safe to repeat and to lose.
 */
import { type Address, CATALOG_GROUP, type NodeId, nodeOf } from '#base';
import { faultInRegistration, isSame } from '#database';
import type { Input } from '#raft';
import { ANEW } from './decommission.ts';
import type { Group } from './group.ts';
import type { CoreLimits } from './limits.ts';
import type { CatalogMachine, Machines } from './machine.ts';
import type { NodeRegistration, RegisteredNode } from './outcome.ts';

export type Registration =
  | { readonly kind: 'registered'; readonly node: RegisteredNode }
  /** That one leads the catalog. */
  | { readonly kind: 'elsewhere'; readonly leader: Address }
  | { readonly kind: 'later'; readonly reason: string }
  /** It cannot be registered so, ever. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface RegistrarPorts {
  readonly node: NodeId;
  readonly machines: Machines;
  readonly catalog: () => CatalogMachine;
  readonly find: (id: Group['id']) => Group | undefined;
  readonly limits: CoreLimits;
  readonly monotonicMs: () => number;
  readonly step: (group: Group, input: Input) => void;
}

interface Waiting {
  readonly registration: NodeRegistration;
  /** It is this node that wants to be registered. */
  readonly isOwn: boolean;
  readonly endMs: number;
  readonly resolve: (answer: Registration) => void;
  /** In which it was proposed. */
  term: number;
}

export class Registrar {
  readonly #ports: RegistrarPorts;
  #waiting: readonly Waiting[] = [];

  constructor(ports: RegistrarPorts) {
    this.#ports = ports;
  }

  /** Answered by a later call of `settle`. */
  register(registration: NodeRegistration, isOwn: boolean): Promise<Registration> {
    const reason = faultInRegistration(registration);
    if (reason !== undefined) return Promise.resolve({ kind: 'refused', reason });
    const endMs = this.#ports.monotonicMs() + this.#ports.limits.leaderWaitMs;
    return new Promise((resolve) => {
      this.#waiting = [...this.#waiting, { registration, isOwn, endMs, resolve, term: -1 }];
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

  #answer(waiting: Waiting): Registration | undefined {
    const { find, monotonicMs, node: self } = this.#ports;
    const nodes = this.#ports.catalog().nodes();
    const known = nodes.find(({ storeId }) => storeId === waiting.registration.storeId);
    if (known?.state === 'removed') return { kind: 'refused', reason: `node ${known.node} was removed; ${ANEW}` };
    const node = nodes.find((each) => isSame(each, waiting.registration));
    if (node !== undefined) return { kind: 'registered', node };
    const isLate = monotonicMs() >= waiting.endMs;
    const group = find(CATALOG_GROUP);
    if (group === undefined || isLate) return later('the catalog has not taken it in yet');
    if (group.isOpening) return undefined;
    if (!group.isReady) return leaderOf(group, nodes);
    // Whoever founded the cluster is its node 1, and says so first.
    const isFirst = !waiting.isOwn && !nodes.some((each) => each.node === self);
    if (isFirst) return later('the node has not registered itself yet');
    this.#propose(group, waiting);
    return undefined;
  }

  #propose(group: Group, waiting: Waiting): void {
    const { term } = group.raft.hardState;
    if (waiting.term === term) return;
    waiting.term = term;
    const payload = this.#ports.machines.encodeRegister(waiting.registration);
    // Nobody waits for this entry itself.
    group.proposals.offer([]);
    this.#ports.step(group, { kind: 'propose', payloads: [payload] });
  }
}

/** Who is to be asked instead. */
export function leaderOf(
  group: Group,
  nodes: readonly RegisteredNode[],
): Extract<Registration, { readonly kind: 'elsewhere' | 'later' }> {
  const { leader } = group;
  if (leader === undefined) return later('the catalog has no leader');
  const { peer } = nodes.find(({ node }) => node === nodeOf(leader)) ?? {};
  if (peer === undefined || peer.port === 0)
    return later(`node ${nodeOf(leader)} leads the catalog, and has not said where it is`);
  return { kind: 'elsewhere', leader: peer };
}

function later(reason: string): { readonly kind: 'later'; readonly reason: string } {
  return { kind: 'later', reason };
}
