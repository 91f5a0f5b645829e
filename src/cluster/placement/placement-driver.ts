/**
 * Keeps replicas and votes placed as wanted, while this node leads the catalog: it runs the planners periodically and
 * proposes their results. Nothing waits for the entries; lost ones are planned again.
 *
 * A node that leaves is removed when no database names it and it does not vote for the catalog (D17).
 */
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf } from '#base';
import { type EntryId, type Input, lastId, members, ORIGIN, type Target } from '#raft';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { CatalogMachine, Machines } from '../machine.ts';
import { catalogTarget } from './catalog-voters.ts';
import type { NodeView, Upkeep } from './placement.ts';
import { planPlacements } from './placement-plan.ts';
import { nodeViews } from './spread.ts';

export interface PlacementDriverPorts {
  readonly upkeep?: Upkeep;
  readonly machines: Machines;
  readonly limits: CoreLimits;
  readonly catalog: () => CatalogMachine;
  readonly find: (id: GroupId) => Group | undefined;
  readonly monotonicMs: () => number;
  readonly step: (group: Group, input: Input) => void;
  readonly isLeaving: (node: NodeId) => boolean;
  /** The catalog group may need another membership. */
  readonly reviewCatalog: () => void;
}

export class PlacementDriver {
  readonly #ports: PlacementDriverPorts;
  #lookMs = 0;
  /** Index of the last proposed entry. */
  #proposed: EntryId = ORIGIN;
  /** Signature of the last input without anything to do. */
  #settled = '';
  #isOpen = true;

  constructor(ports: PlacementDriverPorts) {
    this.#ports = ports;
  }

  /** Next time to call `drive`; undefined when another node leads the catalog. */
  get deadlineMs(): number | undefined {
    return this.#group === undefined ? undefined : this.#lookMs;
  }

  /** The wanted membership of the catalog group; undefined when it should not change, or is unknown here. */
  get catalogTarget(): Target | undefined {
    const group = this.#group;
    return group === undefined ? undefined : catalogTarget(this.#nodes(), group.raft.membership);
  }

  /** The catalog has changed: there may be more to do. */
  review(nowMs: number): void {
    this.#settled = '';
    this.#lookMs = Math.min(this.#lookMs, nowMs + this.#ports.limits.membershipLookMs);
  }

  /** Databases were created, each well placed at that moment, so the next check is not urgent. */
  created(): void {
    this.#settled = '';
  }

  /** The node drains: other leaders continue. */
  close(): void {
    this.#isOpen = false;
  }

  open(): void {
    this.#isOpen = true;
  }

  drive(nowMs: number): void {
    const group = this.#group;
    if (group === undefined || nowMs < this.#lookMs) return;
    this.#lookMs = nowMs + this.#ports.limits.placementLookMs;
    if (this.#isUnderWay(group)) return;
    const nodes = this.#nodes();
    const seen = signatureOf(nodes, group);
    if (seen === this.#settled) return;
    this.#ports.reviewCatalog();
    const payloads = this.#plan(nodes, group);
    this.#settled = payloads.length === 0 ? seen : '';
    if (payloads.length === 0) return;
    this.#ports.step(group, { kind: 'propose', payloads });
    this.#proposed = lastId(group.raft.log);
  }

  /**
   * Returns whether the catalog does not show the last proposals yet. Planning without them could choose other
   * databases, so that more would move at a time than allowed (C19).
   */
  #isUnderWay({ raft }: Group): boolean {
    const { index, term } = this.#proposed;
    return term === raft.hardState.term && this.#ports.catalog().applied.index < index;
  }

  /** The catalog group, if this node leads it and placement is enabled. */
  get #group(): Group | undefined {
    const { upkeep, find, catalog } = this.#ports;
    if (upkeep === undefined || !this.#isOpen) return undefined;
    const group = find(CATALOG_GROUP);
    return group?.isReady === true && catalog().nodes().length > 0 ? group : undefined;
  }

  #plan(nodes: readonly NodeView[], { raft }: Group): Uint8Array[] {
    const { upkeep, limits, machines, catalog } = this.#ports;
    const { copies = 1 } = upkeep ?? {};
    const { copies: held } = catalog();
    const placings = planPlacements({ nodes, bindings: catalog().list() }, { copies, movesMax: limits.movesMax });
    // A node that still votes for the catalog would reduce its quorum.
    const voting = new Set(members(raft.membership.voters).map(nodeOf));
    const isFree = (node: NodeId): boolean => (held.get(node) ?? 0) === 0 && !voting.has(node);
    const left = nodes.filter(({ node, state }) => state === 'leaving' && isFree(node));
    return [
      ...placings.map((placing) => machines.encode({ kind: 'place', ...placing })),
      ...left.map(({ node }) => machines.encode({ kind: 'mark', node, state: 'removed' })),
    ];
  }

  #nodes(): readonly NodeView[] {
    const { upkeep, catalog, find, monotonicMs, isLeaving } = this.#ports;
    const time = { nowMs: monotonicMs(), replaceAfterMs: upkeep?.replaceAfterMs, isLeaving };
    return nodeViews(catalog(), find(CATALOG_GROUP), time);
  }
}

/** Equal as long as there is nothing new to decide. */
function signatureOf(nodes: readonly NodeView[], { raft }: Group): string {
  const parts = nodes.map((each) => `${each.node} ${each.state} ${each.liveness} ${each.isExpected}`);
  return `${raft.hardState.term} ${JSON.stringify(raft.membership)} ${parts.join()}`;
}
