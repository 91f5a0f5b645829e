/** A cluster of Cairn nodes on loopback for benchmarks; every database has a replica on each node. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ClusterDescription } from '#cluster';
import { type Build, type CairnNode, createDatabase, entryOf, startCairn, THIS_BUILD } from './cairn.ts';

const run = promisify(execFile);
const LOOK_MS = 200;
const SETTLED_WITHIN_MS = 120_000;

export class CairnCluster {
  readonly directory: string;
  readonly #settings: readonly string[];
  readonly #build: Build;
  /** Nodes by name, in the order of their first start. */
  readonly #nodes = new Map<string, CairnNode>();

  private constructor(directory: string, settings: readonly string[], build: Build) {
    this.directory = directory;
    this.#build = build;
    this.#settings = settings;
  }

  /** Starts nodes `node-1` and so on with separate directories; resolves when all of them are voters of the catalog. */
  static async start(
    directory: string,
    count: number,
    settings: readonly string[] = [],
    build: Build = THIS_BUILD,
  ): Promise<CairnCluster> {
    const cluster = new CairnCluster(directory, settings, build);
    try {
      for (let number = 1; number <= count; number++) await cluster.startNode(`node-${number}`);
      await cluster.#until((seen) =>
        seen.nodes.every(({ answers, catalogRole }) => answers && catalogRole === 'voter'),
      );
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  get names(): readonly string[] {
    return [...this.#nodes.keys()];
  }

  get pids(): readonly number[] {
    return [...this.#nodes.values()].map(({ pid }) => pid);
  }

  node(name: string): CairnNode {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`there is no node ${name}; there are ${this.names.join(', ')}`);
    return node;
  }

  /** Starts a node for the first time or again; the first node founds the cluster. */
  async startNode(name: string): Promise<CairnNode> {
    const seeds = [...this.#nodes.values()].flatMap(({ peer }) => peer ?? []);
    const place = [`--node-name=${name}`, '--peer-port=0', ...(seeds.length === 0 ? [] : [`--join=${seeds.join()}`])];
    const node = await startCairn(join(this.directory, name), this.#build, [...place, ...this.#settings]);
    this.#nodes.set(name, node);
    return node;
  }

  /** Creates a database and resolves when every node is a voter of it. */
  async createDatabase(database: string): Promise<void> {
    await this.createDatabases([database]);
  }

  /** Creates databases one after the other. */
  async createDatabases(names: readonly string[]): Promise<void> {
    const [first = ''] = this.names;
    for (const name of names) await createDatabase(this.node(first), name);
    await this.leadersOf(names);
  }

  /** Name of the leader of the database, once every node is an up-to-date voter of it. */
  async leaderOf(database: string): Promise<string> {
    return (await this.leadersOf([database])).get(database) ?? '';
  }

  /** Leaders of several databases, by database name. */
  async leadersOf(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const count = this.#nodes.size;
    const seen = await this.#until(({ databases }) => {
      const isWhole = ({ leader, members }: ClusterDescription['databases'][number]): boolean =>
        leader !== undefined && members.filter((each) => each.isVoter && each.standing === 'ready').length === count;
      const whole = new Set(databases.filter(isWhole).map(({ name }) => name));
      return names.every((name) => whole.has(name));
    });
    const nodes = new Map(seen.nodes.map(({ node, name }) => [node, name]));
    return new Map(seen.databases.map(({ name, leader }) => [name, (leader && nodes.get(leader)) ?? '']));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((node) => node.stop()));
  }

  async #until(isSo: (seen: ClusterDescription) => boolean): Promise<ClusterDescription> {
    const deadline = performance.now() + SETTLED_WITHIN_MS;
    while (performance.now() < deadline) {
      const seen = await this.#describe();
      if (seen?.nodes.length === this.#nodes.size && isSo(seen)) return seen;
      await delay(LOOK_MS);
    }
    throw new Error(`the cluster of ${this.names.join(', ')} has not settled within ${SETTLED_WITHIN_MS} ms`);
  }

  /** Undefined when no node answers. */
  async #describe(): Promise<ClusterDescription | undefined> {
    const tls = this.#settings.filter((setting) => setting.startsWith('--peer-tls-'));
    for (const { peer } of this.#nodes.values()) {
      const args = [entryOf(this.#build.root), 'cluster', 'status', '--json', `--at=${peer}`, ...tls];
      const said = await run(process.execPath, args).catch(() => undefined);
      if (said === undefined) continue;
      const description: ClusterDescription = JSON.parse(said.stdout);
      return description;
    }
    return undefined;
  }
}
