/** Registers nodes in the catalog, on behalf of whoever asks (peer/join.ts). */
import { formatAddress, type NodeId, nodeOf } from '#base';
import { faultInRegistration, isSame, sayableAt } from '#database';
import { everybody, standingOf } from '#raft';
import type { Group } from '../group/group.ts';
import type { CatalogMachine, Machines } from '../machine.ts';
import type { NodeRegistration, RegisteredNode } from '../outcome.ts';
import { CatalogAsks, type CatalogAsksPorts, later, type Passed } from './catalog-asks.ts';
import { refusedAt } from './levels.ts';

export interface AskedRegistration {
  readonly registration: NodeRegistration;
  /** It is this node that wants to be registered. */
  readonly isOwn: boolean;
}

type Registered =
  | { readonly kind: 'registered'; readonly node: RegisteredNode }
  /** It cannot be registered so, ever. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The store was this node, and is none any more. */
  | { readonly kind: 'removed'; readonly node: NodeId };

export type Registration = Registered | Passed;

export interface RegistrarPorts extends CatalogAsksPorts {
  readonly node: NodeId;
  readonly machines: Machines;
}

export type Registrar = CatalogAsks<AskedRegistration, Registered>;

/** A store that is to have a name is a node that answers by then. */
const JOINING_MS = 10_000;

export function registrar(ports: RegistrarPorts): Registrar {
  const { node: self, machines, catalog } = ports;
  /** What this node has proposed lately, by name. A store at the same address has the port of the one before. */
  const joining = new Map<string, { readonly asked: NodeRegistration; readonly endMs: number }>();
  const joiningBeside = ({ name, storeId, peer }: NodeRegistration): string | undefined => {
    const other = joining.get(name);
    if (name === '' || other === undefined || ports.monotonicMs() >= other.endMs) return undefined;
    if (other.asked.storeId === storeId || formatAddress(other.asked.peer) === formatAddress(peer)) return undefined;
    return `another node joins with the name ${name}; start this one with another --node-name`;
  };
  return new CatalogAsks<AskedRegistration, Registered>(ports, {
    answer: ({ registration }) => answerBy(catalog(), registration),
    fault: ({ registration, isOwn }, group) => {
      const { level } = catalog();
      const reason =
        refusedAt(level, registration.levels) ??
        namesake(registration, catalog(), group, ports.monotonicMs()) ??
        joiningBeside(registration);
      if (reason !== undefined) return { kind: 'refused', reason };
      // Whoever founded the cluster is its node 1, and says so first.
      const isEarly =
        !isOwn &&
        catalog()
          .nodes()
          .every(({ node }) => node !== self);
      return isEarly ? later('the node has not registered itself yet') : undefined;
    },
    encode: ({ registration }) => {
      joining.set(registration.name, { asked: registration, endMs: ports.monotonicMs() + JOINING_MS });
      return machines.encodeRegister(sayableAt(catalog().level, registration));
    },
  });
}

/**
 * Why a store cannot have the name: a node that answers has it, at another address. What was at the same address has
 * ended: this store's node has its port.
 */
function namesake(asked: NodeRegistration, catalog: CatalogMachine, group: Group, nowMs: number): string | undefined {
  const nodes = catalog.nodes();
  const { name, storeId, peer } = asked;
  if (name === '' || nodes.some((node) => node.storeId === storeId && node.name === name)) return undefined;
  const other = nodes.find(
    (node) =>
      node.name === name &&
      node.storeId !== storeId &&
      node.state !== 'removed' &&
      formatAddress(node.peer) !== formatAddress(peer) &&
      answersTo(group, node.node, nowMs),
  );
  return (
    other &&
    `node ${other.node} at ${formatAddress(other.peer)} has the name ${name}; start this one with another --node-name`
  );
}

/** By the catalog's group, to which every node belongs, and which this one leads. */
function answersTo({ raft }: Group, node: NodeId, nowMs: number): boolean {
  const replica = everybody(raft.membership).find((each) => nodeOf(each) === node);
  return replica !== undefined && standingOf(raft, replica, nowMs) !== 'silent';
}

function answerBy(catalog: CatalogMachine, asked: NodeRegistration): Registered | undefined {
  const registration = sayableAt(catalog.level, asked);
  const reason = faultInRegistration(registration);
  if (reason !== undefined) return { kind: 'refused', reason };
  const known = catalog.nodes().find(({ storeId }) => storeId === registration.storeId);
  // Also of a catalog that is behind: a node is removed for good (D17), and one that it does not name yet is not here.
  if (known?.state === 'removed') return { kind: 'removed', node: known.node };
  return known !== undefined && isSame(known, registration) ? { kind: 'registered', node: known } : undefined;
}
