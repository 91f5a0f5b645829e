/**
 * Databases that are held by others than they began with: who their groups should consist of, and the word to the
 * catalog when they do (D15).
 *
 * What is proposed is proposed for a placement, and may be lost, doubled or overtaken without harm; so nobody waits for
 * an answer. Whoever does not see in the catalog what it wanted says it again.
 */
import { CATALOG_GROUP, type GroupId, type NodeId, nodeOf } from '#base';
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
  /** What somebody else wants a group to be, if anything: it goes before what the catalog says. */
  readonly wanted: (group: GroupId) => Target | undefined;
  readonly find: (id: GroupId) => Group | undefined;
  readonly step: (group: Group, input: Input) => void;
  /** Hands a payload to the node that leads the group, and expects no answer. */
  readonly tell: (to: NodeId, group: GroupId, payload: Uint8Array) => void;
}

export class Moves {
  readonly #ports: MovesPorts;
  /** Databases that are not, or not any more, where they began. */
  readonly #moved = new Map<GroupId, Binding>();
  readonly freshness: Freshness;
  readonly driver: MembershipDriver;

  constructor(ports: MovesPorts) {
    const { limits, find, step, monotonicMs, wanted } = ports;
    this.#ports = ports;
    this.freshness = new Freshness({
      catalog: () => find(CATALOG_GROUP),
      step,
      monotonicMs,
      waitMs: limits.leaderWaitMs,
    });
    this.driver = new MembershipDriver({
      limits,
      wanted: (group) => wanted(group) ?? this.#wanted(group),
      unsettled: (group) => this.#unsettled(group),
      settle: (group, placement) => this.#settle(group, placement),
      freshness: this.freshness,
      step,
    });
  }

  /** Takes note of a database of the catalog. */
  note(binding: Binding): void {
    if (binding.placement > 0) this.#moved.set(binding.group, binding);
  }

  change(change: CatalogChange): void {
    if (change.kind === 'deleted') this.#moved.delete(change.binding.group);
    // Whoever gets the state of the catalog may hear of a database only after it has been created and moved.
    else if (change.kind === 'created' || change.kind === 'moved') this.note(change.binding);
  }

  /** Asks the catalog to have these nodes hold the database; what becomes of it, the catalog will show. */
  place({ group, placement }: Binding, nodes: readonly NodeId[]): void {
    this.#propose(this.#ports.machines.encodePlace({ group, placement, nodes }));
  }

  /** Who the group should consist of; undefined when it is what it began with. */
  #wanted(group: GroupId): Target | undefined {
    const binding = this.#moved.get(group);
    if (binding === undefined) return undefined;
    return { voters: binding.replicas.filter((replica) => !binding.leaving.includes(replica)), learners: [] };
  }

  /**
   * The placement for which the catalog waits for the word that the group is what it should be; undefined if for none.
   */
  #unsettled(group: GroupId): number | undefined {
    const binding = this.#moved.get(group);
    return binding === undefined || binding.isSettled ? undefined : binding.placement;
  }

  /** Says to the catalog that the group is what this placement wants it to be, for good. */
  #settle(group: GroupId, placement: number): void {
    this.#propose(this.#ports.machines.encodePlaced({ group, placement }));
  }

  #propose(payload: Uint8Array): void {
    const catalog = this.#ports.find(CATALOG_GROUP);
    if (catalog?.isReady === true) {
      // Nobody waits for this entry itself.
      catalog.proposals.offer([]);
      this.#ports.step(catalog, { kind: 'propose', payloads: [payload] });
    } else if (catalog?.leader !== undefined && !catalog.leads) {
      this.#ports.tell(nodeOf(catalog.leader), CATALOG_GROUP, payload);
    }
  }
}
