/**
 * Compares the feature level of the cluster with the levels that this release supports (ADR 0047), and raises it.
 *
 * ```
 *   every node supports 1        every node supports 1 and 2         raised: nodes use formats of level 2
 *   level 1               ──>    level 1; can go one release back    level 2; the previous release does not start
 * ```
 *   C23  A node runs only at a level that it supports, and with entries of such levels: otherwise it logs the reason
 *        and exits, before it reads or writes anything else. Levels of the catalog before this node was admitted do not
 *        matter: a node that joins applies them, and was admitted at a level that it supports (D20).
 */
import { type DatabaseError, formatLevels, type GroupId, hasLevel, LEVELS, type LevelRange, type NodeId } from '#base';
import type { KvReader } from '#kv';
import type { Entry } from '#raft';
import type { RecoveredLog } from '#storage';
import type { CatalogRequest, CatalogRequestsPorts, Passed } from '../catalog/catalog-requests.ts';
import type { CatalogMachine, Machines } from '../machine.ts';
import type { RegisteredNode } from '../outcome.ts';
import { entryNotKnown, levelNotKnown } from '../refusals.ts';
import type { OrderFault } from './decommission.ts';

export interface LevelPorts {
  readonly kv: KvReader;
  readonly machines: Machines;
  readonly node: NodeId;
  /** Default: the levels of this release. */
  readonly levels?: LevelRange;
}

/** @throws DatabaseError when the store was written by a release with a higher level, or one that is too old. */
export function checkLevels({ kv, machines, node, levels = LEVELS }: LevelPorts, log: RecoveredLog): void {
  const standing = { level: machines.storedLevel(kv), nodes: () => machines.storedNodes(kv) };
  const fault = faultInLevel(standing, { node, levels });
  if (fault !== undefined) throw fault;
  for (const { group, entries } of log.groups.values()) {
    const newer = entries.find(({ level }) => level > levels.max);
    if (newer !== undefined) throw entryNotKnown({ ...newer, group }, levels);
  }
}

/** The level of an entry that is to be written. Throws for an entry that this release cannot read. */
export function knownLevel({
  machines,
  levels = LEVELS,
}: Pick<LevelPorts, 'machines' | 'levels'>): (group: GroupId, entry: Entry) => number {
  return (group, { index, payload }) => {
    const level = machines.levelOf(payload);
    if (level > levels.max) throw entryNotKnown({ index, level, group }, levels);
    return level;
  };
}

/** Reason why a node with these levels cannot run with that catalog. */
export function faultInLevel(
  catalog: Pick<CatalogMachine, 'level' | 'nodes'>,
  { node: self, levels }: { readonly node: NodeId; readonly levels: LevelRange },
): DatabaseError | undefined {
  const { level } = catalog;
  if (hasLevel(levels, level)) return undefined;
  const isPast = level < levels.min && catalog.nodes().every(({ node }) => node !== self);
  return isPast ? undefined : levelNotKnown(level, levels);
}

/** Raises the cluster to the highest level that all of its nodes support. */
export interface FinalizeOrder {
  readonly kind: 'finalize';
}

type Finalized =
  /** The level is the highest possible. */
  { readonly kind: 'finalized'; readonly level: number } | ({ readonly kind: 'faulty' } & OrderFault);

export type FinalizeAnswer = Finalized | Passed;

export interface FinalizePorts extends Pick<CatalogRequestsPorts, 'catalog'> {
  readonly machines: Machines;
  readonly node: NodeId;
  readonly levels?: LevelRange;
}

export function finalizeRequest({
  catalog,
  machines,
  node,
  levels = LEVELS,
}: FinalizePorts): CatalogRequest<Finalized> {
  const goal = (): number => Math.max(levels.max, ...members(catalog()).map((each) => each.levels.max));
  return {
    answer: (isLatest) => {
      const { level } = catalog();
      return isLatest && level >= goal() ? { kind: 'finalized', level } : undefined;
    },
    fault: () => faultInRaise(goal(), catalog(), { node, levels }),
    waitsForLeader: true,
    encode: () => machines.encode({ kind: 'raise', level: goal() }),
  };
}

function faultInRaise(
  goal: number,
  catalog: CatalogMachine,
  self: Pick<RegisteredNode, 'node' | 'levels'>,
): Finalized | undefined {
  const others = members(catalog).filter(({ node }) => node !== self.node);
  const behind = [...others, self]
    .filter(({ levels }) => !hasLevel(levels, goal))
    .toSorted((one, other) => one.node - other.node);
  if (behind.length === 0) return undefined;
  const each = behind.map(({ node, levels }) => `node ${node} knows ${formatLevels(levels)}`).join(', ');
  const reason = `the cluster stays at level ${catalog.level}, for not every node knows level ${goal}: ${each}; start the new release there, or decommission it, and ask again`;
  return { kind: 'faulty', code: 'failed_precondition', reason };
}

function members(catalog: CatalogMachine): readonly RegisteredNode[] {
  return catalog.nodes().filter(({ state }) => state !== 'removed');
}
