/**
 * Plans which databases should move to other nodes: a pure function of the catalog and of the nodes that answer. The
 * leader of the catalog calls it periodically, so that lost proposals are planned again.
 *
 * A database gets the first kind of plan that applies, and earlier kinds come before later ones:
 *
 *   repair   a replica on a leaving or lost node moves to a free one; missing replicas are added
 *   zones    one of two replicas in the same zone moves to a free node in a zone without any
 *   load     a node has two replicas more than a free one: one of them moves there
 *
 *   C19  A database gets another placement only while most of its current nodes answer, and most of the new ones
 *        do; replicas are added only on active nodes that answer, and a replica on a node that stays and is not
 *        lost is removed only if another one replaces it, or if its database asks for fewer by itself. One on a leaving
 *        node is not removed either, as long as another node is expected that could take it and there would be too few
 *        replicas. A limited number of databases move at a time, and none gets another placement before the last one is
 *        settled, unless that waits for a node that leaves or is lost.
 */
import { copyOf, type GroupId, type NodeId, nodeOf } from '#base';
import type { Binding } from '../outcome.ts';
import type { NodeView, PlacementView } from './placement.ts';
import { answers, canTake, choose, comes, countFor, loadsOf } from './spread.ts';

export interface PlanOptions {
  /** Replicas of a database that asks for no number, if there are enough nodes. */
  readonly copies: number;
  /** Maximum number of databases that move at a time. */
  readonly movesMax: number;
}

/** The database should be placed on these nodes. */
export interface Placing {
  readonly group: GroupId;
  /** The placement that this was decided for. */
  readonly placement: number;
  readonly nodes: readonly NodeId[];
}

/**
 * State shared by all databases that ask for as many replicas and have the same ones: a decision for one of them is
 * right for each, as long as nothing else was planned in between. There may be thousands of them.
 */
interface Alike {
  /** Replicas that they should have. */
  readonly copies: number;
  /** Their nodes by the last placement. */
  readonly holders: readonly NodeView[];
  /** Number of those that stay. */
  readonly stayerCount: number;
  /** Per kind of check, the length of the plan when there was nothing to do for one of them. */
  readonly quietAt: Map<Look, number>;
}

/** State of a database. */
interface Held {
  readonly binding: Binding;
  readonly alike: Alike;
}

type Look = 'repair' | 'zones' | 'load';

export function planPlacements({ nodes, bindings }: PlacementView, options: PlanOptions): readonly Placing[] {
  const plan = new Plan(nodes, bindings, options);
  // Few may move at a time: the database with the fewest staying replicas is the most urgent.
  const byCopies = plan.held.toSorted((one, other) => one.alike.stayerCount - other.alike.stayerCount);
  for (const each of byCopies) plan.look('repair', each);
  for (const each of plan.held) plan.look('zones', each);
  for (const each of plan.held) plan.look('load', each);
  return plan.placings;
}

function stayersOf(holders: readonly NodeView[]): readonly NodeView[] {
  return holders.filter(({ state, liveness }) => state === 'active' && liveness !== 'lost');
}

/** The same for all databases that ask for as many replicas and have the same ones. */
function keyOf({ copies, replicas, leaving, isSettled, placement }: Binding): string {
  return `${copies} ${replicas.join()}${isSettled ? '' : ` ${leaving.join()} ${placement}`}`;
}

/** Undefined when nothing may be planned: too few of its nodes answer, or one of them is unknown. */
function alikeIn(binding: Binding, byNode: ReadonlyMap<NodeId, NodeView>, usual: number): Alike | undefined {
  const replicas = binding.replicas.map((replica) => ({ replica, view: byNode.get(nodeOf(replica)) }));
  const known = replicas.flatMap(({ view }) => (view === undefined ? [] : [view]));
  // Added nodes may not belong to the group yet. A node that is not registered is not known to answer.
  const { isSettled, placement } = binding;
  const voting = replicas.filter(({ replica }) => isSettled || copyOf(replica) < placement);
  const isUp = 2 * voting.filter(({ view }) => view && answers(view)).length > voting.length;
  if (known.length < replicas.length || !isUp) return undefined;
  const leaving = new Set(binding.leaving.map(nodeOf));
  const holders = known.filter(({ node }) => !leaving.has(node));
  return { copies: binding.copies || usual, holders, stayerCount: stayersOf(holders).length, quietAt: new Map() };
}

class Plan {
  readonly held: readonly Held[];
  readonly placings: Placing[] = [];
  readonly #options: PlanOptions;
  readonly #takers: readonly NodeView[];
  readonly #comers: readonly NodeView[];
  readonly #loads: Map<NodeId, number>;
  readonly #planned = new Set<GroupId>();
  #room: number;

  constructor(nodes: readonly NodeView[], bindings: readonly Binding[], options: PlanOptions) {
    const byNode = new Map(nodes.map((view) => [view.node, view]));
    this.#options = options;
    this.#takers = nodes.filter(canTake);
    this.#comers = nodes.filter(comes);
    this.#loads = loadsOf(bindings);
    this.#room = options.movesMax - bindings.filter(({ isSettled }) => !isSettled).length;
    const seen = new Map<string, Alike | undefined>();
    const held: Held[] = [];
    for (const binding of bindings) {
      const key = keyOf(binding);
      if (!seen.has(key)) seen.set(key, alikeIn(binding, byNode, options.copies));
      const alike = seen.get(key);
      if (alike !== undefined) held.push({ binding, alike });
    }
    this.held = held;
  }

  /** Plans what a database needs; usually nothing, and then nothing for databases with the same replicas. */
  look(look: Look, { binding, alike }: Held): void {
    const { placings } = this;
    if (alike.quietAt.get(look) === placings.length || (look !== 'repair' && this.#planned.has(binding.group))) return;
    const planned = placings.length;
    if (look === 'repair') this.#repair(binding, alike);
    else if (look === 'zones') this.#spreadZones(binding, alike);
    else this.#evenLoad(binding, alike);
    if (placings.length === planned) alike.quietAt.set(look, planned);
  }

  #repair(binding: Binding, { copies, holders }: Alike): void {
    const active = holders.filter(({ state }) => state === 'active');
    const staying = stayersOf(holders);
    const kept = binding.copies === 0 ? staying : choose(staying, [], copies, this.#loads);
    const free = this.#takers.filter((each) => !active.includes(each));
    const lost = active.filter((each) => !staying.includes(each));
    const count = countFor(copies, { kept: kept.length, free: free.length + lost.length });
    // An unsettled placement is changed only if it waits for a node that will not come.
    if (!binding.isSettled && staying.length === holders.length) return;
    const added = choose(free, kept, count - kept.length, this.#loads);
    const next = [...kept, ...added, ...lost].slice(0, count);
    const isShort = next.length < Math.min(copies, holders.length);
    if (isShort && this.#comers.some((each) => !active.includes(each))) return;
    this.#place(binding, holders, next);
  }

  #spreadZones(binding: Binding, { holders }: Alike): void {
    if (!this.#mayRearrange(binding, holders)) return;
    const crowded = holders.filter(({ zone }) => holders.filter((each) => each.zone === zone).length > 1);
    const elsewhere = this.#takers.filter(({ zone }) => holders.every((each) => each.zone !== zone));
    const from = this.#fullest(crowded);
    const staying = holders.filter((each) => each !== from);
    const [to] = choose(elsewhere, staying, 1, this.#loads);
    if (from !== undefined && to !== undefined) this.#place(binding, holders, [...staying, to]);
  }

  #evenLoad(binding: Binding, { copies, holders }: Alike): void {
    // Not urgent: one at a time, when everything else is done.
    if (this.#room < this.#options.movesMax || holders.length < copies || !this.#mayRearrange(binding, holders)) return;
    const free = this.#takers
      .filter((each) => !holders.includes(each))
      .toSorted((one, other) => this.#byLoad(one, other));
    for (const from of holders.toSorted((one, other) => this.#byLoad(other, one))) {
      const staying = holders.filter((each) => each !== from);
      const isAlike = ({ zone }: NodeView): boolean =>
        zone === from.zone || staying.every((each) => each.zone !== zone);
      const to = free.find(isAlike);
      if (to === undefined || this.#load(from) < this.#load(to) + 2) continue;
      this.#place(binding, holders, [...staying, to]);
      return;
    }
  }

  /** Returns whether the database is healthy; only then it is moved for balance. */
  #mayRearrange(binding: Binding, holders: readonly NodeView[]): boolean {
    if (this.#room <= 0 || !binding.isSettled) return false;
    return holders.length === binding.replicas.length && holders.every(canTake);
  }

  #place(binding: Binding, holders: readonly NodeView[], next: readonly NodeView[]): void {
    const { group, placement, isSettled } = binding;
    const isThere = next.length === holders.length && next.every((each) => holders.includes(each));
    if (isThere || (isSettled && this.#room <= 0)) return;
    if (2 * next.filter(answers).length <= next.length) return;
    if (isSettled) this.#room -= 1;
    for (const { node } of next) if (!holders.some((each) => each.node === node)) this.#move(node, 1);
    for (const { node } of holders) if (!next.some((each) => each.node === node)) this.#move(node, -1);
    this.#planned.add(group);
    this.placings.push({ group, placement, nodes: next.map(({ node }) => node) });
  }

  #move(node: NodeId, by: number): void {
    this.#loads.set(node, (this.#loads.get(node) ?? 0) + by);
  }

  #load({ node }: NodeView): number {
    return this.#loads.get(node) ?? 0;
  }

  #byLoad(one: NodeView, other: NodeView): number {
    return this.#load(one) - this.#load(other) || one.node - other.node;
  }

  #fullest(nodes: readonly NodeView[]): NodeView | undefined {
    return nodes.toSorted((one, other) => this.#byLoad(other, one))[0];
  }
}
