/**
 * What must hold of a database on several nodes, whatever happens to them: nothing that was answered is lost, nothing
 * that was refused for good appears, every read sees what was answered before it, and in the end all replicas are the
 * same.
 */
import { CATALOG_GROUP, DatabaseError, type GroupId, type NodeId, nodeOf, type ReplicaId, replicaOf } from '#base';
import type { Binding, CoreLimits } from '#cluster';
import { isAt, type Target } from '#raft';
import type { MachineKit } from './machine-kit.ts';
import type { Action } from './replica-actions.ts';
import { ReplicaWorld, type WorldNode } from './replica-world.ts';

/** What came of a schedule. */
export type Counts = Record<'committed' | 'forwarded' | 'lost' | 'unknown' | 'read' | 'crashes' | 'moves', number>;

/** The log keeps everything: who was away for long needs no snapshot. */
const KEEPS_ALL: Partial<CoreLimits> = { checkpointIntervalMs: 1e9, checkpointBytes: 1e9 };

export class ReplicaModel {
  readonly world: ReplicaWorld;
  readonly group: GroupId;
  readonly faults: string[] = [];
  readonly counts: Counts = { committed: 0, forwarded: 0, lost: 0, unknown: 0, read: 0, crashes: 0, moves: 0 };
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

  static async started(
    count: number,
    kit: MachineKit,
    seed: number,
    limits: Partial<CoreLimits> = KEEPS_ALL,
  ): Promise<ReplicaModel> {
    const world = await ReplicaWorld.started(count, {
      kit,
      seed,
      limits: { writeEntries: 3, ...limits },
    });
    const catalog = await world.leader(CATALOG_GROUP);
    const { binding } = await world.answer(catalog.front.createDatabase('shop'));
    await world.leader(binding.group);
    await world.pass(200);
    return new ReplicaModel(world, binding.group);
  }

  async run(each: Action): Promise<void> {
    const { world } = this;
    if (each.kind === 'pass') await world.pass(each.ms);
    if (each.kind === 'heal') world.network.heal();
    if (each.kind === 'loss') world.network.lossPercent = each.percent;
    if (each.kind === 'place') this.#place(each.nodes);
    if (each.kind === 'want') this.#want(each.voters, each.learners);
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
    await world.leader(CATALOG_GROUP);
    await world.leader(group);
    await world.pass(8000);
    await world.until(() => this.#isPlaced(), 'a database that has moved', 60_000);
    await world.pass(2000);
    const placed = this.#binding;
    const wanted = placed === undefined ? this.wanted : { voters: placed.replicas, learners: [] };
    if (wanted !== undefined)
      await world.until(() => this.#isAt(wanted), `a group of ${JSON.stringify(wanted)}`, 60_000);
    const leader = await world.leader(group);
    await world.answer(leader.transact(group, 'the last'));
    await world.pass(2000);
    const histories = new Map<NodeId, readonly string[]>();
    const stored = new Map<NodeId, string>();
    const isWanted = ({ node }: WorldNode): boolean => everybodyOf(wanted).some((each) => nodeOf(each) === node);
    for (const member of wanted === undefined ? world.up : world.up.filter(isWanted)) {
      await world.answer(member.front.latest(group));
      histories.set(member.node, await member.history(group));
      stored.set(member.node, JSON.stringify(await world.kit.shared(member.kv, group)));
    }
    if (new Set(stored.values()).size > 1) this.faults.push(`rows differ: ${[...stored].flat().join('\n')}`);
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

  /** Who the members are to be in the end, if somebody else than at the beginning. */
  get wanted(): Target | undefined {
    return this.world.portsOf(this.#node(0).node).wanted(this.group);
  }

  #want(voters: readonly number[], learners: readonly number[]): void {
    const replicas = (places: readonly number[]): readonly ReplicaId[] =>
      places.map((at) => replicaOf(this.#node(at).node));
    this.counts.moves += 1;
    this.world.want(this.group, { voters: replicas(voters), learners: replicas(learners) });
  }

  /** Asks each of them, as clients would: whoever leads the catalog takes it in. */
  #place(nodes: readonly number[]): void {
    this.counts.moves += 1;
    for (const { core } of this.world.up)
      core.place(
        this.group,
        nodes.map((at) => this.#node(at).node),
      );
  }

  /** Where the database is, if it began to move. */
  get #binding(): Binding | undefined {
    const binding = this.world.leaderOf(CATALOG_GROUP)?.front.catalog.lookup('shop');
    return binding !== undefined && binding.placement > 0 ? binding : undefined;
  }

  #isPlaced(): boolean {
    const found = this.world.up.map(({ front }) => front.catalog.lookup('shop'));
    const [first] = found;
    return found.every((binding) => binding?.leaving.length === 0 && binding.placement === first?.placement);
  }

  #isAt(wanted: Target): boolean {
    const membership = this.world.leaderOf(this.group)?.core.membershipOf(this.group);
    return membership !== undefined && isAt(membership, wanted);
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
    const isForwarded = !node.leads(this.group);
    try {
      const { revision } = await node.transact(this.group, text);
      this.counts.committed += 1;
      if (isForwarded) this.counts.forwarded += 1;
      this.#committed.set(revision, text);
      this.#highest = Math.max(this.#highest, revision);
    } catch (error) {
      const reason = error instanceof DatabaseError ? error.details.reason : String(error);
      if (reason === 'OutcomeUnknown') this.counts.unknown += 1;
      else if (reason === 'NotReplica' || reason === 'NotLeader' || reason === 'NoLeader' || reason === 'NotCommitted')
        this.#refused.add(text);
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

function everybodyOf(target: Target | undefined): readonly ReplicaId[] {
  return target === undefined ? [] : [...target.voters, ...target.learners];
}
