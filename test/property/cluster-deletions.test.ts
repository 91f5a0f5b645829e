// Goal: whatever networks lose and processes forget, after an acknowledged deletion of an instance, or the acknowledged
// creation of the next one, nobody who asks any node is answered from it (decisions 6.4; C21, C26, C27). Method: random
// episodes, over three nodes in one thread: an instance is seen by a client of one node, then nodes are cut off, stand
// still, crash, or leave the group, while another one deletes it; against a list of what was acknowledged.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CATALOG_GROUP, replicaOf } from '#base';
import { ReplicaWorld, type WorldNode } from '../support/cluster/replica-world.ts';

const NAMES = ['shop', 'stock'];

type Disturbance =
  | { readonly kind: 'isolate' | 'keep-back' | 'stall' | 'leave' | 'crash' | 'start'; readonly at: number }
  | { readonly kind: 'heal' };

/** A name has an instance that is seen by a client of one node; something happens to nodes; another one deletes it. */
interface Episode {
  readonly name: number;
  readonly victim: number;
  readonly deleter: number;
  readonly isMadeAnew: boolean;
  readonly before: readonly Disturbance[];
  /** What happens between looks, with the time that passes before each. */
  readonly after: readonly { readonly ms: number; readonly disturbance: Disturbance | undefined }[];
}

const at = fc.nat(2);
const disturbance: fc.Arbitrary<Disturbance> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constantFrom('isolate' as const, 'keep-back' as const), at }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('stall' as const, 'leave' as const), at }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('crash' as const, 'start' as const), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('heal' as const) }) },
);
const episode: fc.Arbitrary<Episode> = fc.record({
  name: fc.nat(NAMES.length - 1),
  victim: at,
  deleter: at,
  isMadeAnew: fc.boolean(),
  before: fc.array(disturbance, { maxLength: 2 }),
  after: fc.array(
    fc.record({
      ms: fc.constantFrom(20, 200, 1000, 2000, 4000),
      disturbance: fc.option(disturbance, { nil: undefined, freq: 2 }),
    }),
    { minLength: 4, maxLength: 16, size: 'max' },
  ),
});

class Model {
  readonly world: ReplicaWorld;
  readonly faults: string[] = [];
  readonly counts = { deleted: 0, created: 0, answered: 0, refused: 0 };
  /** Everything that is invoked or acknowledged has a place in one order. */
  #clock = 0;
  /** When an instance was known to be gone. */
  readonly #gone = new Map<string, number>();
  readonly #created: { readonly name: string; readonly databaseId: string; readonly at: number }[] = [];

  constructor(world: ReplicaWorld) {
    this.world = world;
  }

  async run({ name, victim, deleter, isMadeAnew, before, after }: Episode): Promise<void> {
    const { world } = this;
    const text = NAMES[name] ?? '';
    const node = this.#node(victim);
    await this.#mend();
    await world.answer(this.#create(this.#node(deleter), text));
    await world.answer(this.#look(node, text));
    for (const each of before) await this.#disturb(each);
    const asked = this.#node(deleter).isUp ? this.#node(deleter) : world.up[0];
    if (asked === undefined) return;
    const deleting = this.#delete(asked, text);
    if (isMadeAnew) void deleting.then(() => this.#create(asked, text));
    for (const { ms, disturbance: each } of after) {
      await world.pass(ms);
      if (node.isUp) void this.#look(node, text);
      if (each !== undefined) await this.#disturb(each);
    }
  }

  async #disturb(each: Disturbance): Promise<void> {
    const { world } = this;
    if (each.kind === 'heal') return this.#heal();
    const node = this.#node(each.at);
    if (each.kind === 'start' && !node.isUp) return node.start();
    if (!node.isUp) return;
    switch (each.kind) {
      case 'isolate':
        for (const other of world.nodes) world.network.cut(node.node, other);
        break;
      case 'keep-back':
        world.network.isHeld = (_from, to, { group, message }) =>
          to === node.node && group === CATALOG_GROUP && (message.kind === 'append' || message.kind === 'commit');
        break;
      case 'stall':
        node.stall();
        break;
      case 'leave':
        this.#want(world.nodes.filter((other) => other !== node.node));
        break;
      case 'crash':
        await node.crash();
        break;
      case 'start':
        break;
    }
  }

  /** In the end everybody is well, and every name can be deleted and made again. */
  async recover(): Promise<void> {
    const { world } = this;
    await this.#mend();
    await world.pass(15_000);
    const leader = await world.leader(CATALOG_GROUP);
    for (const each of NAMES) {
      await world.answer(this.#delete(leader, each));
      await world.answer(this.#create(leader, each));
      await Promise.all(world.up.map((node) => world.answer(this.#look(node, each))));
    }
    for (const { message } of world.failures) this.faults.push(message);
  }

  async #mend(): Promise<void> {
    const { world } = this;
    this.#heal();
    for (const node of world.nodes) if (!world.at(node).isUp) await world.at(node).start();
    await world.leader(CATALOG_GROUP);
    await world.pass(500);
  }

  #heal(): void {
    const { world } = this;
    world.network.heal();
    world.network.isHeld = () => false;
    for (const node of world.up) node.resume();
    this.#want(world.nodes);
  }

  #want(voters: ReplicaWorld['nodes']): void {
    this.world.want(CATALOG_GROUP, { voters: voters.map((node) => replicaOf(node)), learners: [] });
  }

  #tick(): number {
    this.#clock += 1;
    return this.#clock;
  }

  async #create({ front }: WorldNode, each: string): Promise<void> {
    const invoked = this.#tick();
    const outcome = await front.createDatabase(each).catch(() => undefined);
    if (outcome?.kind !== 'created') return;
    const { databaseId } = outcome.binding;
    const now = this.#tick();
    this.counts.created += 1;
    // Whoever was acknowledged before this one was asked for has no name any more.
    for (const other of this.#created) if (other.name === each && other.at < invoked) this.#end(other.databaseId, now);
    this.#created.push({ name: each, databaseId, at: now });
  }

  async #delete({ front }: WorldNode, each: string): Promise<void> {
    const outcome = await front.deleteDatabase(each).catch(() => undefined);
    if (outcome?.kind !== 'deleted') return;
    this.counts.deleted += 1;
    this.#end(outcome.binding.databaseId, this.#tick());
  }

  #end(databaseId: string, now: number): void {
    this.#gone.set(databaseId, Math.min(now, this.#gone.get(databaseId) ?? now));
  }

  /** What every operation on an instance begins with. */
  async #look({ front, node }: WorldNode, each: string): Promise<void> {
    const invoked = this.#tick();
    const waiting = front.currentCatalog();
    const isHeld = waiting === undefined || (await waiting.then(() => true).catch(() => false));
    if (!isHeld) {
      this.counts.refused += 1;
      return;
    }
    this.counts.answered += 1;
    const databaseId = front.catalog.lookup(each)?.databaseId;
    const gone = databaseId === undefined ? undefined : this.#gone.get(databaseId);
    if (gone !== undefined && gone < invoked)
      this.faults.push(`node ${node} answers from ${databaseId}, which is gone`);
  }

  #node(place: number): WorldNode {
    const node = this.world.nodes[place % this.world.nodes.length];
    if (node === undefined) throw new Error('There are nodes');
    return this.world.at(node);
  }
}

describe('names that are deleted and made again on three nodes', () => {
  it('mean no instance that is known to be gone, on any node (C21, C26, C27)', async () => {
    const counts = { deleted: 0, created: 0, answered: 0, refused: 0 };
    const schedules = fc.array(episode, { minLength: 2, maxLength: 5, size: 'max' });
    const property = fc.asyncProperty(schedules, fc.integer({ min: 1, max: 2 ** 31 }), async (schedule, seed) => {
      const model = new Model(await ReplicaWorld.started(3, { seed }));
      await model.world.leader(CATALOG_GROUP);
      for (const each of schedule) await model.run(each);
      await model.recover();
      if (model.faults.length > 0) throw new Error(model.faults.join('\n'));
      for (const key of Object.keys(counts) as (keyof typeof counts)[]) counts[key] += model.counts[key];
    });
    const numRuns = 40;
    await fc.assert(property, { numRuns });
    // The schedules were not in vain.
    expect(counts.deleted).toBeGreaterThan(numRuns);
    expect(counts.answered).toBeGreaterThan(2 * numRuns);
    expect(counts.refused).toBeGreaterThan(0);
  }, 120_000);
});
