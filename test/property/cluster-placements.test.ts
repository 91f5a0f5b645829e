// Goal: a cluster reaches the wanted number of replicas and then stops moving them, without risking a database on the
// way. Method: random clusters whose nodes fail, return, leave and join between plans.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { nodeOf, toNodeId } from '#base';
import { type Binding, type NodeView, type Placing, planPlacements, spreadOver } from '#cluster';
import { loadsOf } from '../../src/cluster/placement/spread.ts';
import { mayVote } from '../../src/database/catalog-nodes.ts';
import { place, settle } from '../../src/database/catalog-placements.ts';
import { bindingOn, holdersOf, LIVENESS, nodesOf } from '../support/cluster/layouts.ts';
import { runs } from '../support/runs.ts';

const MOVES_MAX = 3;
const ROUNDS_MAX = 400;

const change = fc.record({
  node: fc.nat(8),
  liveness: fc.constantFrom(...LIVENESS),
  state: fc.constantFrom('active' as const, 'active' as const, 'leaving' as const),
  isVoter: fc.boolean(),
  isExpected: fc.boolean(),
  creates: fc.boolean(),
  asks: fc.integer({ min: 0, max: 5 }),
  settles: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
});
const cluster = fc.record({
  zones: fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 8 }),
  pool: fc.array(fc.constantFrom('a', 'b', 'e'), { maxLength: 2 }),
  held: fc.array(
    fc.record({
      on: fc.uniqueArray(fc.nat(7), { minLength: 1, maxLength: 5 }),
      asks: fc.constantFrom(0, 0, 1, 2, 3, 5),
    }),
    { maxLength: 6 },
  ),
  copies: fc.integer({ min: 1, max: 5 }),
  changes: fc.array(change, { maxLength: 20 }),
});

class World {
  nodes: readonly NodeView[];
  bindings: readonly Binding[];
  readonly copies: number;
  readonly faults: string[] = [];

  constructor({
    zones,
    pool,
    held,
    copies,
  }: {
    zones: readonly string[];
    pool: readonly string[];
    held: readonly { on: readonly number[]; asks: number }[];
    copies: number;
  }) {
    const learners = pool.map((_, at) => zones.length + at + 1);
    this.nodes = nodesOf({ zones: [...zones, ...pool].join(''), pool: learners });
    this.bindings = held.map(({ on, asks }, at) =>
      bindingOn(at + 1, [...new Set(on.map((node) => (node % zones.length) + 1))], asks),
    );
    this.copies = copies;
  }

  plan(): readonly Placing[] {
    const placings = planPlacements(this, { copies: this.copies, movesMax: MOVES_MAX });
    const before = this.bindings;
    for (const placing of placings) this.#check(placing);
    this.bindings = before.map((binding) => {
      const placing = placings.find(({ group }) => group === binding.group);
      if (placing === undefined) return binding;
      const next = place(binding, placing.placement, placing.nodes);
      if (next === undefined) throw new Error('What is planned is planned for the placement that it is at');
      return next;
    });
    const moving = (bindings: readonly Binding[]): number => bindings.filter(({ isSettled }) => !isSettled).length;
    if (moving(this.bindings) > Math.max(MOVES_MAX, moving(before))) this.faults.push('more move than may');
    return placings;
  }

  /** Number of replicas that the database should have. */
  copiesOf({ copies }: Pick<Binding, 'copies'>): number {
    return copies === 0 ? this.copies : copies;
  }

  create(asks: number): void {
    const nodes = spreadOver(this.copies, toNodeId(1))
      .replicas({ nodes: this.nodes, loads: loadsOf(this.bindings) }, asks)
      .map(nodeOf);
    this.bindings = [...this.bindings, bindingOn(this.bindings.length + 1, nodes, asks)];
    const copies = this.copiesOf({ copies: asks });
    const active = this.nodes.filter(mayVote);
    const ready = active.filter(({ liveness }) => liveness === 'ready').map(({ node }): number => node);
    const fault = (what: string): unknown => this.faults.push(`new on ${nodes.join()}: ${what}`);
    const voters = this.nodes.filter(({ isVoter }) => isVoter).map(({ node }): number => node);
    if (new Set(nodes).size !== nodes.length) fault('a node has two copies');
    if (nodes.length > copies) fault('it has more copies than wanted');
    // No other node is ready, and this node has the replica.
    if (ready.length === 0 && nodes.join() === '1') return;
    if (nodes.length === voters.length && nodes.every((node) => voters.includes(node))) {
      if (nodes.some((node) => this.#at(node)?.liveness === 'lost')) fault('a voter is lost');
      return;
    }
    if (ready.length === 0) fault('nobody can take it, and it is not here');
    const taking = nodes.filter((node) => ready.includes(node));
    if (2 * taking.length <= nodes.length) fault('too few of them can take it');
    if (taking.length < Math.min(ready.length, nodes.length)) fault('one that could take it is left out');
    for (const { node, liveness, isVoter } of this.nodes.filter((each) => nodes.includes(each.node))) {
      if (!active.some((each) => each.node === node)) fault(`node ${node} leaves`);
      if (liveness === 'lost' || (liveness !== 'ready' && !isVoter)) fault(`node ${node} may never come`);
    }
    const late = active.filter(({ liveness, isVoter }) => liveness !== 'ready' && liveness !== 'lost' && isVoter);
    const isEnough = ready.length + late.length >= copies && 2 * ready.length > copies;
    if (isEnough && nodes.length !== copies) fault('it has not as many copies as wanted');
  }

  /** A group may settle when all future nodes of the database answer, and enough of the earlier ones. */
  settle(may: (at: number) => boolean): void {
    this.bindings = this.bindings.map((binding, at) => {
      const holders = holdersOf(binding);
      const isReady = holders.every((node) => this.#isUp(node)) && this.#hasQuorum(this.#before(binding));
      return may(at) && isReady ? (settle(binding, binding.placement) ?? binding) : binding;
    });
  }

  #check({ group, nodes }: Placing): void {
    const binding = this.bindings.find((each) => each.group === group);
    if (binding === undefined) throw new Error('What is planned is there');
    const before = holdersOf(binding);
    const fault = (what: string): unknown => this.faults.push(`${before.join()} to ${nodes.join()}: ${what}`);
    if (new Set(nodes).size !== nodes.length) fault('a node has two copies');
    if (!this.#hasQuorum(this.#before(binding))) fault('too few of those who hold it answer');
    if (!this.#hasQuorum(nodes)) fault('too few of those who are to hold it answer');
    for (const node of nodes) {
      const { state, liveness, isLearner } = this.#at(node) ?? {};
      if (isLearner === true) fault(`node ${node} is a learner`);
      if (state !== 'active') fault(`node ${node} is ${state}`);
      if (!before.includes(node) && liveness !== 'ready') fault(`node ${node} is ${liveness}`);
    }
    // Remaining nodes must not lose their replica without a reason.
    const isStaying = ({ state, liveness }: NodeView): boolean => state === 'active' && liveness !== 'lost';
    const stayers = before.filter((node) => this.nodes.some((each) => each.node === node && isStaying(each)));
    const isAsked = binding.copies > 0 && nodes.length === binding.copies;
    if (nodes.length < stayers.length && !isAsked) fault('who stays is sent away');
    const late = this.nodes.filter((each) => mayVote(each) && each.isExpected && each.liveness !== 'ready');
    const isShort = nodes.length < Math.min(this.copiesOf(binding), before.length);
    if (isShort && late.some(({ node }) => !before.includes(node))) fault('somebody was to be waited for');
  }

  /** Nodes with a replica before the last placement, including leaving ones. */
  #before({ replicas, placement, isSettled }: Binding): readonly number[] {
    return replicas.filter((replica) => isSettled || replica % 2 ** 20 !== placement).map(nodeOf);
  }

  #hasQuorum(nodes: readonly number[]): boolean {
    return 2 * nodes.filter((node) => this.#isUp(node)).length > nodes.length;
  }

  #isUp(node: number): boolean {
    const { liveness } = this.#at(node) ?? {};
    return liveness === 'ready' || liveness === 'behind';
  }

  #at(node: number): NodeView | undefined {
    return this.nodes.find((each) => each.node === node);
  }
}

function changed(node: NodeView, now: Partial<NodeView>): NodeView {
  return { ...node, ...now, ...(node.isLearner && { isVoter: false }) };
}

it('a cluster whose nodes fail and return never plans a move that costs a database its quorum, and ends with every replica in its place (C19, C22)', () => {
  let moves = 0;
  let created = 0;
  const property = fc.property(cluster, (drawn) => {
    const world = new World(drawn);
    for (const { node, creates, asks, settles, ...now } of drawn.changes) {
      const at = (node % world.nodes.length) + 1;
      const isExpected = now.isExpected && now.liveness !== 'lost';
      world.nodes = world.nodes.map((each) => (each.node === at ? changed(each, { ...now, isExpected }) : each));
      if (creates) {
        world.create(asks);
        created += 1;
      }
      moves += world.plan().length;
      world.settle((binding) => settles[binding] ?? true);
    }
    // All nodes return; some leave for good, if any stay.
    const staying = world.nodes.filter(mayVote);
    world.nodes = world.nodes.map((each) => ({
      ...each,
      liveness: 'ready',
      ...(staying.length === 0 && { state: 'active' }),
    }));
    let rounds = 0;
    for (let isBusy = true; isBusy; rounds += 1) {
      if (rounds > ROUNDS_MAX) throw new Error('It does not come to rest');
      const planned = world.plan().length;
      isBusy = planned > 0 || world.bindings.some(({ isSettled }) => !isSettled);
      world.settle(() => true);
    }
    expect(world.faults).toEqual([]);
    const active = world.nodes.filter(mayVote);
    const odd = active.length - ((active.length + 1) % 2);
    const zones = new Set(active.map(({ zone }) => zone));
    for (const binding of world.bindings) {
      const holders = holdersOf(binding);
      expect(binding.isSettled).toBe(true);
      for (const holder of holders) expect(active.map(({ node }): number => node)).toContain(holder);
      const copies = world.copiesOf(binding);
      expect(holders.length).toBeGreaterThanOrEqual(active.length >= copies ? copies : odd);
      expect(holders.length).toBeLessThanOrEqual(binding.copies > 0 ? copies : active.length);
      const held = new Set(holders.map((holder) => world.nodes[holder - 1]?.zone));
      expect(held.size).toBe(Math.min(holders.length, zones.size));
    }
  });
  const numRuns = runs(500);
  fc.assert(property, { numRuns });
  expect(moves).toBeGreaterThan(numRuns);
  expect(created).toBeGreaterThan(numRuns);
});
