/**
 * Databases that have moved from their first nodes: the wanted members of their groups, and the report to the catalog
 * when they are reached (D15).
 *
 * A proposal names its placement, and may be lost, repeated or reordered without harm, so nothing waits for an answer:
 * it is proposed again until the catalog shows it.
 */
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf } from '#base';
import type { CatalogEntry } from '#database';
import type { Input, Target } from '#raft';
import { Freshness } from '../catalog/freshness.ts';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { Machines } from '../machine.ts';
import type { CatalogChange } from '../node.ts';
import type { Binding } from '../outcome.ts';
import { MembershipDriver } from './membership-driver.ts';

export interface MovesPorts {
  readonly machines: Machines;
  readonly limits: CoreLimits;
  readonly monotonicMs: () => number;
  /** The wanted members of the group of the catalog; undefined when they should not change. */
  readonly catalogTarget: () => Target | undefined;
  readonly find: (id: GroupId) => Group | undefined;
  readonly step: (group: Group, input: Input) => void;
  /** Forwards a payload to the leader of the group, without an answer. */
  readonly tell: (to: NodeId, group: GroupId, payload: Uint8Array) => void;
}

export class Moves {
  readonly #ports: MovesPorts;
  /** Databases that are not at their first placement. */
  readonly #moved = new Map<GroupId, Binding>();
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

  /** Records a database of the catalog. */
  note(binding: Binding): void {
    if (binding.placement > 0) this.#moved.set(binding.group, binding);
  }

  change(change: CatalogChange): void {
    if (change.kind === 'deleted') this.#moved.delete(change.binding.group);
    // A node that installs a snapshot of the catalog may learn of a database only after it was created and moved.
    else if (change.kind === 'created' || change.kind === 'moved') this.note(change.binding);
  }

  /** Proposes a placement of the database on these nodes; the catalog will show the result. */
  place({ group, placement }: Binding, nodes: readonly NodeId[]): void {
    this.#propose({ kind: 'place', group, placement, nodes });
  }

  /** The wanted members of the group; undefined when it has its first members. */
  #wanted(group: GroupId): Target | undefined {
    if (group === CATALOG_GROUP) return this.#ports.catalogTarget();
    const binding = this.#moved.get(group);
    if (binding === undefined) return undefined;
    return { voters: binding.replicas.filter((replica) => !binding.leaving.includes(replica)), learners: [] };
  }

  /** The placement that the catalog waits to see settled for the group; undefined if there is none. */
  #unsettled(group: GroupId): number | undefined {
    const binding = this.#moved.get(group);
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
