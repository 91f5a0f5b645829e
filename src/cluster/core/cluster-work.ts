/**
 * Work of a node for its cluster besides client requests: it holds the replicas that the catalog assigns to it, and
 * moves groups that it leads to the membership that the catalog wants.
 */
import { CATALOG_GROUP, type GroupId, LEVELS, type NodeId, nodeOf } from '#base';
import { everybody, type Fact, type MembershipRefusal } from '#raft';
import { faultInLevel } from '../admin/levels.ts';
import type { ApplyTurn } from '../apply/apply-turn.ts';
import { CatalogFence } from '../catalog/catalog-fence.ts';
import { fenceView } from '../catalog/fence-view.ts';
import type { Freshness } from '../catalog/freshness.ts';
import type { Group } from '../group/group.ts';
import type { GroupPorts } from '../group/group-ports.ts';
import { LeaderBalance } from '../group/leader-balance.ts';
import { PeerClocks } from '../group/peer-clocks.ts';
import type { Replication } from '../group/remote-members.ts';
import type { CatalogChange } from '../node.ts';
import type { RegisteredNode } from '../outcome.ts';
import { peersOf } from '../peer/peers.ts';
import { Moves } from '../placement/moves.ts';
import { PlacementDriver } from '../placement/placement-driver.ts';
import { nodeRemoved } from '../refusals.ts';
import type { Reporter } from '../reporter.ts';
import type { CorePorts } from './core-ports.ts';
import { Departures } from './departures.ts';
import type { Lifecycle } from './group-lifecycle.ts';
import { Hosting } from './hosting.ts';
import type { LogFeed } from './log-feed.ts';
import type { Trash } from './trash.ts';
import type { Turns } from './turns.ts';
import { UnfitLeader } from './unfit-leader.ts';

export interface ClusterWorkPorts extends CorePorts, GroupPorts {
  readonly lifecycle: Lifecycle;
  readonly trash: Trash;
  readonly feed: LogFeed;
  readonly replication: Replication;
  readonly turns: Pick<Turns, 'run' | 'keep' | 'until' | 'fail'>;
}

export class ClusterWork {
  readonly #ports: ClusterWorkPorts;
  readonly #moves: Moves;
  readonly #placements: PlacementDriver;
  readonly #balance: LeaderBalance;
  readonly #unfit: UnfitLeader;
  /** Removed nodes, whose messages are ignored. */
  #removed: ReadonlySet<NodeId> = new Set();
  /** The other nodes of the cluster; undefined when the set must be computed again. */
  #known: ReadonlySet<NodeId> | undefined;
  /** The learners for which all groups were last reviewed. */
  #pool = '';
  /** New databases, whose groups get the learners. */
  #created: GroupId[] = [];
  #isOpen = true;
  #isFounded = false;
  #hasCompany = false;
  #onCompany: () => void = () => undefined;
  readonly hosting: Hosting;
  readonly fence: CatalogFence;
  readonly departures: Departures;
  readonly clocks: PeerClocks;

  constructor(ports: ClusterWorkPorts) {
    this.#ports = ports;
    const others = (): Iterable<NodeId> => this.#others();
    this.clocks = new PeerClocks({ ...ports, others });
    const refusesWrites = (): boolean => ports.disk() !== 'open' || this.clocks.farMs !== undefined;
    this.departures = new Departures({ ...ports, others, refusesWrites });
    const reviewCatalog = (): void => this.#review(CATALOG_GROUP);
    this.#placements = new PlacementDriver({ ...ports, reviewCatalog });
    const isLost = (node: NodeId): boolean => this.#isLost(node);
    this.#moves = new Moves({ ...ports, isLost, catalogTarget: () => this.#placements.catalogTarget });
    const isUnfit = (node: NodeId): boolean => this.departures.isUnfit(node);
    this.#balance = new LeaderBalance({ ...ports, isUnfit });
    const damaged = (): readonly Group[] =>
      [...this.hosting.rebuilds.givenUp].flatMap((group) => ports.find(group) ?? []);
    this.#unfit = new UnfitLeader({ ...ports, isUnfit, refusesWrites, damaged });
    this.hosting = new Hosting({ ...ports, moves: this.#moves });
    const tell: Reporter['settle'] = (settlements) => ports.reporter.settle(settlements);
    this.fence = new CatalogFence({ ...ports, view: fenceView(ports), tell });
  }

  /** Next time to call `tick`; undefined when nothing waits for time to pass. */
  get deadlineMs(): number | undefined {
    const all = [this.#moves.driver.deadlineMs, this.#placements.deadlineMs, this.fence.deadlineMs];
    const known = all.filter((deadlineMs) => deadlineMs !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  /** Required state of the catalog before a group that this node leads is changed. */
  get freshness(): Freshness {
    return this.#moves.freshness;
  }

  /** True when this process has never known another node (C32). */
  get isAlone(): boolean {
    return !this.#hasCompany;
  }

  /** True when the catalog has decided nothing yet, not even the feature level of a new cluster. */
  get isFounding(): boolean {
    const { catalog, levels = LEVELS } = this.#ports;
    const { level, applied } = catalog();
    return applied.revision === 0 && level < levels.max;
  }

  /** Calls the listener once, before the first message is sent to or accepted from another node. */
  onCompany(listener: () => void): void {
    this.#onCompany = listener;
  }

  tick(nowMs: number): void {
    this.clocks.tick(nowMs);
    this.#placements.drive(nowMs);
    this.#reviewPool();
    this.#moves.driver.drive(nowMs);
    if (this.#ports.upkeep !== undefined && this.#isOpen) this.#balance.drive(nowMs);
    if (this.#isOpen) this.#unfit.drive(nowMs);
    this.departures.tick(nowMs);
    this.hosting.advance();
  }

  /** Continues work that waited for an event. Called between steps. */
  settle(): void {
    this.fence.advance();
    this.#found();
  }

  /** Starts transferring the leaderships of this node. */
  leave(): void {
    this.#isOpen = false;
    this.departures.leave();
    this.#placements.close();
    this.#moves.driver.close();
  }

  /** Lets the node be a leader again. */
  stay(): void {
    this.#isOpen = true;
    this.departures.stay();
    this.#placements.open();
    this.#moves.driver.open();
    this.#balance.reviewAll();
    for (const group of this.#ports.led()) this.#moves.driver.review(group);
  }

  /** Stops all work. */
  close(): void {
    this.leave();
    this.fence.closeFront();
    this.hosting.close();
  }

  /** After `close`, resolves when nothing is written any more. */
  async settled(): Promise<void> {
    await this.hosting.settled();
  }

  /** Records an event of a step. */
  note(group: Group, fact: Fact): void {
    this.#moves.driver.note(group, fact);
    this.#balance.note(group, fact);
    if (group.id !== CATALOG_GROUP || fact.kind !== 'membership-changed') return;
    this.#known = undefined;
    this.lookForCompany();
    if (this.#ports.catalog().nodes().some(isGone)) this.#placesChanged();
  }

  /** Handles a refused change of membership. */
  refused(refusal: MembershipRefusal): void {
    this.#moves.driver.onRefused(refusal);
  }

  forget(group: Group): void {
    this.#moves.driver.forget(group);
    this.#balance.forget(group);
    this.#unfit.forget(group);
  }

  /** Adds the effects of a catalog change to the turn that applies it. */
  change(change: CatalogChange, turn: ApplyTurn): void {
    const { catalog, monotonicMs } = this.#ports;
    this.#known = undefined;
    if (change.kind === 'registered') this.lookForCompany();
    this.fence.note(change, { index: catalog().applied.index, atMs: monotonicMs() });
    this.hosting.change(change, turn);
  }

  /** The batch of the turn is in the store. */
  written(turn: ApplyTurn): void {
    this.hosting.written(turn);
    for (const change of turn.changes) {
      if (change.kind === 'moved') this.#review(change.binding.group);
      else if (change.kind === 'registered') this.#placesChanged();
      else if (change.kind === 'created' && this.#pool !== '') this.#created.push(change.binding.group);
      else if (change.kind === 'raised') this.#raised();
    }
    if (turn.changes.some(({ kind }) => kind !== 'created')) this.#placements.review(this.#ports.monotonicMs());
    else if (turn.changes.length > 0) this.#placements.created();
  }

  /** Checks whether the group needs another membership. */
  #review(id: GroupId): void {
    const group = this.#ports.lifecycle.touch(id);
    if (group === undefined) return;
    this.#moves.driver.review(group);
    this.#balance.review(group);
  }

  /** Every group gets a learner as a member, or loses it. Not before the start has repaired all databases. */
  #reviewPool(): void {
    const pool = this.#moves.pool.join();
    const isSame = pool === this.#pool;
    const groups = isSame
      ? this.#created
      : this.#ports
          .catalog()
          .list()
          .map(({ group }) => group);
    this.#pool = pool;
    this.#created = [];
    for (const group of groups) this.#review(group);
  }

  #isLost(node: NodeId): boolean {
    const { upkeep, replication, monotonicMs } = this.#ports;
    const [nowMs, { replaceAfterMs = Number.POSITIVE_INFINITY } = {}] = [monotonicMs(), upkeep];
    return nowMs >= (replication.awaySince(node, nowMs) ?? nowMs) + replaceAfterMs;
  }

  /** Proposes a placement of the database on these nodes; the catalog will show the result. */
  place(id: GroupId, nodes: readonly NodeId[]): void {
    const binding = this.#ports.catalog().bindingOf(id);
    if (binding !== undefined) this.#moves.place(binding, nodes);
  }

  /** Returns whether the node was removed; its messages are ignored. */
  isRemoved(node: NodeId): boolean {
    return this.#removed.has(node);
  }

  /** Returns whether it is another node of the cluster: registered in the local catalog, or a member of its group. */
  isKnown(node: NodeId): boolean {
    this.#known ??= this.#others();
    return this.#known.has(node);
  }

  /** Determines the other nodes, before any message is accepted. */
  begin(): void {
    const { catalog } = this.#ports;
    const members = this.#members();
    const gone = catalog()
      .nodes()
      .filter((each) => isGone(each) && !members.includes(each.node));
    this.#removed = new Set(gone.map(({ node }) => node));
    this.#known = undefined;
  }

  /** Another node is one in the catalog, even a removed one, or a member of the catalog group. */
  lookForCompany(): void {
    const { node: self, catalog, find } = this.#ports;
    const isThere = catalog()
      .nodes()
      .some(({ node }) => node !== self);
    if (this.#hasCompany || (!isThere && find(CATALOG_GROUP)?.isAlone !== false)) return;
    this.#hasCompany = true;
    this.#onCompany();
  }

  /** The catalog has advanced without its entries, so deletions on the way are unknown. */
  skipped(): void {
    this.lookForCompany();
    const { catalog, monotonicMs, node: self } = this.#ports;
    const others = catalog()
      .nodes()
      .filter(({ node }) => node !== self);
    const start = { index: catalog().applied.index, atMs: monotonicMs() };
    this.fence.skipped(
      start,
      others.map(({ node }) => node),
    );
  }

  #others(): ReadonlySet<NodeId> {
    const { catalog, node: self } = this.#ports;
    const registered = catalog()
      .nodes()
      .filter((each) => !isGone(each))
      .map(({ node }) => node);
    const others = new Set([...registered, ...this.#members()]);
    others.delete(self);
    return others;
  }

  /** Members of the catalog group; empty while it is not open. */
  #members(): readonly NodeId[] {
    const group = this.#ports.find(CATALOG_GROUP);
    return group === undefined ? [] : everybody(group.raft.membership).map(nodeOf);
  }

  /** Raises a new cluster to the highest level of this release: no older node has to read it. */
  #found(): void {
    const { find, machines, levels = LEVELS, step } = this.#ports;
    const group = this.#isFounded ? undefined : find(CATALOG_GROUP);
    if (group?.isReady !== true) return;
    this.#isFounded = true;
    if (!this.isFounding) return;
    // The founder waits for this entry at its start; if its process ends before, the next one proposes it again.
    step(group, { kind: 'propose', payloads: [machines.encode({ kind: 'raise', level: levels.max })] });
  }

  #raised(): void {
    const { catalog, node, levels = LEVELS } = this.#ports;
    const fault = faultInLevel(catalog(), { node, levels });
    if (fault !== undefined) this.#ports.turns.fail(fault);
  }

  #placesChanged(): void {
    const nodes = this.#ports.catalog().nodes();
    this.begin();
    this.#balance.reviewAll();
    this.#setPeers();
    this.#review(CATALOG_GROUP);
    if (nodes.some((each) => isGone(each) && each.node === this.#ports.node)) {
      this.#ports.turns.fail(nodeRemoved(this.#ports.node));
    }
  }

  #setPeers(): void {
    this.#ports.peers.setPeers(peersOf(this.#ports.catalog().nodes(), (node) => this.isRemoved(node)));
  }
}

function isGone({ state }: RegisteredNode): boolean {
  return state === 'removed';
}
