/** Registers nodes in the catalog on request (peer/join.ts). */
import { formatAddress, formatLevels, hasLevel, type LevelRange, type NodeId, nodeOf } from '#base';
import { faultInRegistration, isSame } from '#database';
import { everybody, memberStateOf } from '#raft';
import type { Group } from '../group/group.ts';
import type { CatalogMachine, Machines } from '../machine.ts';
import type { NodeRegistration, RegisteredNode } from '../outcome.ts';
import { type CatalogRequest, type CatalogRequestsPorts, later, type Passed } from './catalog-requests.ts';

export interface AskedRegistration {
  readonly registration: NodeRegistration;
  /** This node registers itself. */
  readonly isOwn: boolean;
}

type Registered =
  | { readonly kind: 'registered'; readonly node: RegisteredNode }
  /** It can never be registered like this. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The node of the store was removed. */
  | { readonly kind: 'removed'; readonly node: NodeId };

export type Registration = Registered | Passed;

export interface RegistrarPorts extends Pick<CatalogRequestsPorts, 'catalog' | 'monotonicMs'> {
  readonly node: NodeId;
  readonly machines: Machines;
}

export type Registrar = (asked: AskedRegistration) => CatalogRequest<Registered>;

/** A new node is expected to answer by then; until then its name is reserved. */
const JOINING_MS = 10_000;

export function registrar(ports: RegistrarPorts): Registrar {
  const { node: self, machines, catalog } = ports;
  /**
   * Registrations that this node has proposed recently, by name. A store at the same address has replaced the one
   * before.
   */
  const joining = new Map<string, { readonly asked: NodeRegistration; readonly endMs: number }>();
  const joiningBeside = ({ name, storeId, peer }: NodeRegistration): string | undefined => {
    const other = joining.get(name);
    if (name === '' || other === undefined || ports.monotonicMs() >= other.endMs) return undefined;
    if (other.asked.storeId === storeId || formatAddress(other.asked.peer) === formatAddress(peer)) return undefined;
    return `another node joins with the name ${name}; start this one with another --node-name`;
  };
  return ({ registration, isOwn }) => ({
    answer: () => answerBy(catalog(), registration),
    fault: (group) => {
      const { level } = catalog();
      const reason =
        refusedAt(level, registration.levels) ??
        otherKind(registration, catalog()) ??
        namesake(registration, catalog(), group, ports.monotonicMs()) ??
        joiningBeside(registration);
      if (reason !== undefined) return { kind: 'refused', reason };
      // The founder is node 1, and registers first.
      const isEarly =
        !isOwn &&
        catalog()
          .nodes()
          .every(({ node }) => node !== self);
      return isEarly ? later('the node has not registered itself yet') : undefined;
    },
    encode: () => {
      joining.set(registration.name, { asked: registration, endMs: ports.monotonicMs() + JOINING_MS });
      return machines.encode({ kind: 'register', registration });
    },
  });
}

/**
 * Reason why a store cannot have the name: a node that answers has it, at another address. If the address is the same,
 * the store has taken over its port, and the old node has ended.
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

/** Uses the catalog group, to which every node belongs and which this node leads. */
function answersTo({ raft }: Group, node: NodeId, nowMs: number): boolean {
  const replica = everybody(raft.membership).find((each) => nodeOf(each) === node);
  return replica !== undefined && memberStateOf(raft, replica, nowMs) !== 'silent';
}

function answerBy(catalog: CatalogMachine, registration: NodeRegistration): Registered | undefined {
  const reason = faultInRegistration(registration);
  if (reason !== undefined) return { kind: 'refused', reason };
  const known = catalog.nodes().find(({ storeId }) => storeId === registration.storeId);
  // Also valid for a stale catalog: a node is removed for good (D17), and an unknown node is not this case.
  if (known?.state === 'removed') return { kind: 'removed', node: known.node };
  return known !== undefined && isSame(known, registration) ? { kind: 'registered', node: known } : undefined;
}

/** Reason why a store cannot become, or cease to be, a learner: its replicas are what it joined as. */
function otherKind({ storeId, isLearner }: NodeRegistration, catalog: CatalogMachine): string | undefined {
  const known = catalog.nodes().find((node) => node.storeId === storeId);
  if (known === undefined || known.isLearner === isLearner) return undefined;
  return `its store is node ${known.node}, which joined with --learner ${known.isLearner}; start it so`;
}

/** Reason why a node with these levels cannot belong to a cluster at that level, as a message for the operator. */
function refusedAt(level: number, levels: LevelRange): string | undefined {
  if (hasLevel(levels, level)) return undefined;
  const release = level > levels.max ? 'a later release' : 'an earlier release, and finalize the upgrade to it';
  return `it knows ${formatLevels(levels)}, and the cluster is at level ${level}; start ${release} there`;
}
