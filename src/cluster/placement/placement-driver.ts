/**
 * Keeps the cluster at what it is to be, as long as this node leads the catalog: looks at it again and again, and
 * proposes what the planners say. Nobody waits for an entry; what was lost or overtaken is planned once more.
 *
 * A node that leaves, that no database names any more and that does not vote for the catalog is removed (D17).
 */
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf } from '#base';
import { type EntryId, type Input, lastId, members, ORIGIN, type Target } from '#raft';
import { catalogTarget } from '../catalog/catalog-voters.ts';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { CatalogMachine, Machines } from '../machine.ts';
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
  /** The catalog's group may have to be another one. */
  readonly reviewCatalog: () => void;
}

export class PlacementDriver {
  readonly #ports: PlacementDriverPorts;
  #lookMs = 0;
  /** Where the last of what was proposed stands. */
  #proposed: EntryId = ORIGIN;
  /** What was looked at last, if there was nothing to do. */
  #settled = '';
  #isOpen = true;

  constructor(ports: PlacementDriverPorts) {
    this.#ports = ports;
  }

  /** When `drive` is next worth calling; undefined when somebody else leads the catalog. */
  get deadlineMs(): number | undefined {
    return this.#group === undefined ? undefined : this.#lookMs;
  }

  /** What the catalog's group should be; undefined when it should stay as it is, or nobody here knows. */
  get catalogTarget(): Target | undefined {
    const group = this.#group;
    return group === undefined ? undefined : catalogTarget(this.#nodes(), group.raft.membership);
  }

  /** The catalog has changed: there may be more to do. */
  review(nowMs: number): void {
    this.#settled = '';
    this.#lookMs = Math.min(this.#lookMs, nowMs + this.#ports.limits.membershipLookMs);
  }

  /** Databases were created, each where it should be as of that moment: a look at all of them hurries not. */
  created(): void {
    this.#settled = '';
  }

  /** The node drains: others go on. */
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
    // Nobody waits for these entries themselves.
    group.proposals.offer([]);
    this.#ports.step(group, { kind: 'propose', payloads });
    this.#proposed = lastId(group.raft.log);
  }

  /**
   * Whether the catalog does not show yet what was proposed. Whoever plans without it, as other nodes answer by now,
   * may plan for other databases, and more would move at a time than may (C19).
   */
  #isUnderWay({ raft }: Group): boolean {
    const { index, term } = this.#proposed;
    return term === raft.hardState.term && this.#ports.catalog().applied.index < index;
  }

  /** The group of the catalog, if this node leads it and there is something to keep. */
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
    // Whoever still votes for the catalog would take its quorum along.
    const voting = new Set(members(raft.membership.voters).map(nodeOf));
    const isFree = (node: NodeId): boolean => (held.get(node) ?? 0) === 0 && !voting.has(node);
    const left = nodes.filter(({ node, state }) => state === 'leaving' && isFree(node));
    return [
      ...placings.map((placing) => machines.encodePlace(placing)),
      ...left.map(({ node }) => machines.encodeMark({ node, state: 'removed' })),
    ];
  }

  #nodes(): readonly NodeView[] {
    const { upkeep, catalog, find, monotonicMs, isLeaving } = this.#ports;
    const time = { nowMs: monotonicMs(), replaceAfterMs: upkeep?.replaceAfterMs, isLeaving };
    return nodeViews(catalog(), find(CATALOG_GROUP), time);
  }
}

/** The same as long as there is nothing new to decide by. */
function signatureOf(nodes: readonly NodeView[], { raft }: Group): string {
  const parts = nodes.map((each) => `${each.node} ${each.state} ${each.liveness} ${each.isExpected}`);
  return `${raft.hardState.term} ${JSON.stringify(raft.membership)} ${parts.join()}`;
}
