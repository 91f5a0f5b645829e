// Goal: whatever networks lose and processes forget, nothing that was answered is lost, nothing that was refused for good
// appears, every read sees what was answered before it, and in the end all replicas are the same. Method: random
// schedules of writes, reads, losses, cuts, crashes with torn logs and stores with holes, and clocks that stand still,
// over three and five nodes, against a model of what was answered.

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, DatabaseError, type GroupId, type NodeId } from '#base';
import { databaseKit, type MachineKit, toyKit } from '../support/cluster/machine-kit.ts';
import { ReplicaWorld, type WorldNode } from '../support/cluster/replica-world.ts';

const index = fc.nat(4);
const action = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      at: index,
      isAtLeader: fc.boolean(),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read' as const), at: index }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 60 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 500, max: 4000 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cut' as const), at: index, from: index }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('isolate' as const), at: index }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('heal' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('loss' as const), percent: fc.constantFrom(0, 5, 30) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('disk' as const), at: index, isHeld: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('crash' as const),
      at: index,
      torn: fc.nat(2),
      survives: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('start' as const), at: index }) },
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

class Model {
  readonly world: ReplicaWorld;
  readonly group: GroupId;
  readonly faults: string[] = [];
  readonly counts = { committed: 0, lost: 0, unknown: 0, read: 0, crashes: 0 };
  /** What was answered as committed, by revision. */
  readonly #committed = new Map<number, string>();
  /** What was said not to be committed. */
  readonly #refused = new Set<string>();
  #highest = 0;
  #last = 0;

  private constructor(world: ReplicaWorld, group: GroupId) {
    this.world = world;
    this.group = group;
  }

  static async started(count: number, kit: MachineKit, seed: number): Promise<Model> {
    const world = await ReplicaWorld.started(count, {
      kit,
      seed,
      // The log keeps everything: who was away for long needs no snapshot.
      limits: { checkpointIntervalMs: 1e9, checkpointBytes: 1e9, writeEntries: 3 },
    });
    const catalog = await world.leader(CATALOG_GROUP);
    const { binding } = await world.answer(catalog.front.createDatabase('shop'));
    await world.leader(binding.group);
    await world.pass(200);
    return new Model(world, binding.group);
  }

  async run(each: Action): Promise<void> {
    const { world } = this;
    if (each.kind === 'pass') await world.pass(each.ms);
    if (each.kind === 'heal') world.network.heal();
    if (each.kind === 'loss') world.network.lossPercent = each.percent;
    if (!('at' in each)) return;
    const node = this.#node(each.at);
    if (each.kind === 'start' && !node.isUp) await node.start();
    if (!node.isUp) return;
    if (each.kind === 'write') {
      const asked = each.isAtLeader ? (world.up.find((member) => member.leads(this.group)) ?? node) : node;
      for (let time = 0; time < each.count; time += 1) void this.#write(asked);
    }
    if (each.kind === 'read') void this.#read(node);
    if (each.kind === 'cut') world.network.cut(node.node, this.#node(each.from).node);
    if (each.kind === 'isolate') for (const other of world.nodes) world.network.cut(node.node, other);
    if (each.kind === 'disk') node.holdDisk(each.isHeld);
    if (each.kind === 'crash') {
      this.counts.crashes += 1;
      await node.crash({ torn: each.torn, survives: (unsynced) => each.survives[unsynced] ?? true });
    }
  }

  /** Everything that was hurt is whole again; the group must recover, and all replicas be the same. */
  async recover(): Promise<void> {
    const { world, group } = this;
    world.network.heal();
    world.network.lossPercent = 0;
    for (const node of world.nodes) {
      const member = world.at(node);
      if (member.isUp) member.holdDisk(false);
      else await member.start();
    }
    await world.leader(group);
    await world.pass(8000);
    const leader = await world.leader(group);
    await world.answer(leader.transact(group, 'the last'));
    await world.pass(2000);
    const histories = new Map<NodeId, readonly string[]>();
    for (const member of world.up) {
      await world.answer(member.front.latest(group));
      histories.set(member.node, await member.history(group));
    }
    const [first = []] = histories.values();
    for (const [node, history] of histories) {
      if (history.join() !== first.join()) this.faults.push(`node ${node} has ${history.join()}, not ${first.join()}`);
    }
    if (new Set(first).size !== first.length) this.faults.push(`a text is there twice: ${first.join()}`);
    for (const [revision, text] of this.#committed) {
      if (first[revision - 1] !== text) this.faults.push(`${text} was answered at ${revision} and is not there`);
    }
    for (const text of first) if (this.#refused.has(text)) this.faults.push(`${text} was refused and is there`);
    for (const { message } of world.failures) this.faults.push(message);
  }

  #node(at: number): WorldNode {
    const { nodes } = this.world;
    const node = nodes[at % nodes.length];
    if (node === undefined) throw new Error('There are nodes');
    return this.world.at(node);
  }

  async #write(node: WorldNode): Promise<void> {
    this.#last += 1;
    const text = `text ${this.#last}`;
    try {
      const { revision } = await node.transact(this.group, text);
      this.counts.committed += 1;
      this.#committed.set(revision, text);
      this.#highest = Math.max(this.#highest, revision);
    } catch (error) {
      const reason = error instanceof DatabaseError ? error.details.reason : String(error);
      if (reason === 'OutcomeUnknown') this.counts.unknown += 1;
      else if (reason === 'NotLeader' || reason === 'NoLeader' || reason === 'NotCommitted') this.#refused.add(text);
      else this.faults.push(`${text}: ${reason}`);
      if (reason === 'NotCommitted') this.counts.lost += 1;
    }
  }

  async #read(node: WorldNode): Promise<void> {
    const floor = this.#highest;
    const revision = await node.front.latest(this.group).catch(() => undefined);
    if (revision === undefined) return;
    this.counts.read += 1;
    if (revision < floor) this.faults.push(`node ${node.node} reads ${revision} after ${floor} was answered`);
  }
}

describe('several replicas', () => {
  it.each([
    ['3 nodes, with the small machines', { nodeCount: 3, kit: toyKit, numRuns: 50, doubtMin: 0 }],
    ['5 nodes, with the small machines', { nodeCount: 5, kit: toyKit, numRuns: 20, doubtMin: -1 }],
    ['3 nodes, with the real machines', { nodeCount: 3, kit: databaseKit, numRuns: 20, doubtMin: -1 }],
  ])(
    'of %s lose nothing that was answered (C2, C5, C11, C12)',
    async (_name, { nodeCount, kit, numRuns, doubtMin }) => {
      const counts = { committed: 0, lost: 0, unknown: 0, read: 0, crashes: 0 };
      await fc.assert(
        fc.asyncProperty(
          fc.array(action, { minLength: 30, maxLength: 70, size: 'max' }),
          fc.integer({ min: 1, max: 2 ** 31 }),
          async (actions, seed) => {
            const model = await Model.started(nodeCount, kit, seed);
            for (const each of actions) await model.run(each);
            await model.recover();
            expect(model.faults).toEqual([]);
            for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += model.counts[name];
          },
        ),
        { numRuns },
      );
      // The schedules were not in vain.
      expect(counts.committed).toBeGreaterThan(numRuns);
      expect(counts.read).toBeGreaterThan(numRuns / 2);
      expect(counts.lost + counts.unknown).toBeGreaterThan(doubtMin);
    },
    120_000,
  );
});
