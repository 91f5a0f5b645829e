// A run in which the volume of a member is restored to an earlier copy, so that the member forgets acknowledged entries
// and its votes, and nothing else happens. There are two stories.
//
//   alive    the others run, and have elected a leader that the member followed: nothing is lost. The member gets its
//            entries again and counts as a voter: another node ends, and writes continue.
//   parted   a member acknowledges entries that only one other node has. It is restored while that node is down, and
//            elects a leader with a third node that also lacks them. When the other node returns, its replicas of
//            databases with new writes have another history than their groups. Within bounded time it must detect
//            that and serve nothing of them; no database may have two served histories, and no other replica may
//            leave its group.
//
// Acknowledged data is lost in the second story, so only properties that must hold regardless are checked.
import type { GroupId } from '#base';
import { nativeSha256 } from '#cluster';
import { DatabaseReader } from '#database';
import type { SimCluster } from '../cluster.ts';
import type { Rng } from '../engine/random.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { SimNode } from '../node/sim-node.ts';
import type { Connection } from '../workload/connection.ts';
import { Sketches } from '../workload/sketches.ts';
import type { Swarm } from './swarm.ts';

export interface PutBackParts {
  readonly simulator: Simulator;
  readonly cluster: SimCluster;
  readonly writer: Connection;
  readonly story: Story;
  readonly onProblem: (what: string) => void;
}

export type Story = 'alive' | 'parted';

type Trio = readonly [first: SimNode, second: SimNode, third: SimNode];

const SECOND_US = 1_000_000;
const NAMES = ['alpha', 'beta'] as const;
const LOOK_US = 50_000;
/** Time for elections and the requests that wait for them. */
const WRITTEN_US_MAX = 30 * SECOND_US;
/** A snapshot is sent in parts, and requested again after a loss. */
const CAUGHT_UP_US_MAX = 30 * SECOND_US;
/** One query per second, and the time for its answer. */
const FOUND_US_MAX = 10 * SECOND_US;
/** Time after which the store has all answered rows, and voters know the commit index. */
const APPLIED_US = SECOND_US;

/** Three nodes with all replicas and no other faults. */
export function asPutBack(swarm: Swarm): Swarm {
  const { cluster } = swarm;
  if (cluster === undefined) return swarm;
  const calm = { startsFormed: true, lateUs: 0, replaceAfterMs: undefined, trapUsMean: Number.POSITIVE_INFINITY };
  const clocks = cluster.clocks.map(({ ppm }) => ({ ppm, aheadMs: 0 }));
  return { ...swarm, faultKinds: [], cluster: { ...cluster, ...calm, clocks, copies: 3 } };
}

export async function putBack(parts: PutBackParts): Promise<void> {
  const random = parts.simulator.random('put back');
  await new PutBack(parts, random).run();
}

class PutBack {
  readonly #parts: PutBackParts;
  readonly #random: Rng;
  readonly #sketches: Sketches;

  constructor(parts: PutBackParts, random: Rng) {
    this.#parts = parts;
    this.#random = random;
    this.#sketches = new Sketches(random.split('events'));
  }

  async run(): Promise<void> {
    const { cluster, writer, story } = this.#parts;
    for (const name of NAMES) await this.#must(cluster.nodes, () => writer.call('create', { name }));
    await this.#write(cluster.nodes, NAMES);
    await writer.sleep(this.#random.between(0, 3) * SECOND_US);
    const trio = this.#drawTrio();
    if (story === 'alive') await this.#alive(trio);
    else await this.#part(trio);
  }

  async #alive([member, ...others]: Trio): Promise<void> {
    const { writer, simulator, onProblem } = this.#parts;
    const volume = await member.copyVolume();
    await this.#write(this.#parts.cluster.nodes, NAMES);
    await writer.sleep(APPLIED_US);
    member.hold();
    if (this.#random.chance(0.5)) await this.#write(others, NAMES);
    // Until they have a leader, the votes of the member would be needed.
    for (const name of NAMES) await this.#until(() => leaderOf(others, name) !== undefined, WRITTEN_US_MAX);
    await this.#write(others, NAMES);
    simulator.note(`${member.name} is put back`);
    member.putBack(volume);
    member.release();
    const has = (): boolean => NAMES.every((name) => revisionOf(member, name) >= revisionOf(others[0], name));
    if (!(await this.#until(has, CAUGHT_UP_US_MAX))) onProblem(`${member.name} does not get again what it had`);
    const [gone, left] = this.#random.chance(0.5) ? others : [others[1], others[0]];
    gone.hold();
    await this.#write([member, left], NAMES);
    gone.release();
    await this.#until(() => this.#parts.cluster.isServing, WRITTEN_US_MAX);
    await this.#judge();
  }

  async #part([first, second, third]: Trio): Promise<void> {
    const { writer, simulator } = this.#parts;
    await writer.sleep(APPLIED_US);
    const volume = await second.copyVolume();
    third.hold();
    await this.#write([first, second], this.#random.chance(0.5) ? NAMES : ['alpha']);
    await writer.sleep(APPLIED_US);
    second.hold();
    first.hold();
    simulator.note(`${second.name} is put back`);
    second.putBack(volume);
    second.release();
    third.release();
    await this.#write([second, third], this.#random.chance(0.5) ? NAMES : ['beta']);
    await writer.sleep(APPLIED_US);
    first.release();
    await this.#until(() => this.#parts.cluster.isServing, WRITTEN_US_MAX);
    await this.#write([second, third], NAMES);
    await this.#judge();
    if (this.#random.chance(0.5)) await this.#startAlone([first, second, third]);
  }

  /** A node must know what it has found out about its replicas even when it reaches no other node. */
  async #startAlone([first, ...others]: Trio): Promise<void> {
    const { onProblem } = this.#parts;
    const left = NAMES.filter((name) => hasLeft(first, name));
    for (const other of others) other.hold();
    first.crash({ kind: 'power', share: 0 });
    await this.#until(() => first.isUp, WRITTEN_US_MAX);
    const isKnown = (): boolean => left.every((name) => hasLeft(first, name));
    if (!(await this.#until(isKnown, SECOND_US))) onProblem(`${first.name} has forgotten what it knew of its replicas`);
    for (const other of others) other.release();
  }

  /** Every replica with another history than the leader must know it, and no other replica. */
  async #judge(): Promise<void> {
    const { cluster, onProblem, simulator } = this.#parts;
    const faults = (): readonly string[] => NAMES.flatMap((name) => faultsIn(cluster.nodes, name));
    if (await this.#until(() => faults().length === 0, FOUND_US_MAX)) {
      const all = NAMES.flatMap((name) => cluster.nodes.filter((node) => hasLeft(node, name)));
      simulator.note(`replicas that have left their groups: ${all.map(({ name }) => name).join(', ')}`);
    }
    for (const fault of faults()) onProblem(fault);
  }

  #drawTrio(): Trio {
    const [one, two, three] = this.#parts.cluster.nodes;
    if (two === undefined || three === undefined) throw new Error('Three nodes are put back, one at a time');
    const trios: readonly [Trio, ...Trio[]] = [
      [one, two, three],
      [one, three, two],
      [two, one, three],
      [two, three, one],
      [three, one, two],
      [three, two, one],
    ];
    return this.#random.pick(trios);
  }

  /** Writes several transactions, one after the other. */
  async #write(nodes: readonly SimNode[], names: readonly string[]): Promise<void> {
    const { writer } = this.#parts;
    for (let left = this.#random.between(1, 12); left > 0; left -= 1) {
      for (const name of names) {
        const transactionId = this.#sketches.transactionId();
        const events = this.#sketches.events('writer');
        await this.#must(nodes, () => writer.call('transact', { name, transactionId, constraints: [], events }));
      }
    }
  }

  /** One of the nodes must answer within bounded time. */
  async #must(
    nodes: readonly SimNode[],
    call: () => Promise<{ readonly outcome: { readonly kind: string } }>,
  ): Promise<void> {
    const { simulator, writer } = this.#parts;
    const limitUs = simulator.nowUs + WRITTEN_US_MAX;
    for (let attempt = 0; simulator.nowUs < limitUs; attempt += 1) {
      const node = nodes[attempt % nodes.length];
      if (node !== undefined) writer.turnTo(node);
      if ((await call()).outcome.kind === 'ok') return;
      await writer.sleep(LOOK_US);
    }
    throw new Error(`${nodes.map(({ name }) => name).join(' and ')} take no writes`);
  }

  async #until(isDone: () => boolean, limitUs: number): Promise<boolean> {
    const { simulator, writer } = this.#parts;
    const endUs = simulator.nowUs + limitUs;
    while (!isDone() && simulator.nowUs < endUs) await writer.sleep(LOOK_US);
    return isDone();
  }
}

function groupOf(node: SimNode, name: string): GroupId | undefined {
  return node.process?.node?.catalog.lookup(name)?.group;
}

function leaderOf(nodes: readonly SimNode[], name: string): SimNode | undefined {
  return nodes.find((node) => {
    const group = groupOf(node, name);
    return group !== undefined && node.process?.leads(group) === true;
  });
}

function revisionOf(node: SimNode, name: string): number {
  const group = groupOf(node, name);
  return group === undefined ? -1 : (node.process?.node?.readable(group) ?? -1);
}

/** True when other nodes answer the clients of this node. */
function hasLeft(node: SimNode, name: string): boolean {
  const group = groupOf(node, name);
  return group !== undefined && node.process?.node?.absence(group) !== undefined;
}

/** Current faults; empty when everything is as it must be. */
function faultsIn(nodes: readonly SimNode[], name: string): readonly string[] {
  const leader = leaderOf(nodes, name);
  if (leader === undefined) return [`nobody leads ${name}`];
  const led = hashesIn(leader, name);
  return nodes.flatMap((node) => {
    if (node === leader) return [];
    const own = hashesIn(node, name);
    const both = Math.min(led.length, own.length);
    const isOther = both > 0 && led[both - 1] !== own[both - 1];
    if (isOther && !hasLeft(node, name))
      return [`${node.name} serves another history of ${name} than ${leader.name} leads`];
    if (!isOther && hasLeft(node, name)) return [`${node.name} has left ${name}, and has its history`];
    return !isOther && own.length < led.length
      ? [`${node.name} lacks revisions of ${name} that ${leader.name} has`]
      : [];
  });
}

/** Chain hashes of all stored revisions. */
function hashesIn(node: SimNode, name: string): readonly string[] {
  const group = groupOf(node, name);
  const kv = node.process?.node?.reader;
  if (group === undefined || kv === undefined) return [];
  const reader = new DatabaseReader({ kv, group, sha256: nativeSha256 });
  const revision = reader.applied()?.revision ?? 0;
  return Array.from({ length: revision }, (_, at) => Buffer.from(reader.transaction(at + 1).chainHash).toString('hex'));
}
