/**
 * Starts the servers of a benchmark on demand, once each, and stops all of them at the end. All servers listen on
 * loopback and keep their files in one temporary directory on the same disk.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Build, type CairnNode, startCairn } from './peers/cairn.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { type Etcd, type EtcdCluster, etcdVersion, startEtcd, startEtcdCluster } from './peers/etcd.ts';
import { type Postgres, postgresBin, startPostgres } from './peers/postgres.ts';

const CLUSTER_NODES = 3;

export class Arena implements AsyncDisposable {
  readonly dir: string = mkdtempSync(join(tmpdir(), 'cairn-bench-'));
  readonly #servers: Promise<{ stop(): Promise<void> }>[] = [];
  readonly #cairns = new Map<string, Promise<CairnNode>>();
  readonly #clusters = new Map<string, Promise<CairnCluster>>();
  #etcd: Promise<Etcd> | undefined;
  #etcdCluster: Promise<EtcdCluster> | undefined;
  #postgres: Promise<Postgres> | undefined;
  #counter = 0;
  #ended: Promise<void> | undefined;

  constructor() {
    // PostgreSQL runs as another user, which must be able to enter this directory.
    chmodSync(this.dir, 0o755);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void this.#interrupted(signal));
  }

  /** Returns the node with this name; each name is another node. */
  cairn(name = 'cairn', build?: Build): Promise<CairnNode> {
    const known = this.#cairns.get(name);
    if (known !== undefined) return known;
    const started = this.#keep(startCairn(join(this.dir, name), build));
    this.#cairns.set(name, started);
    return started;
  }

  /** Returns the cluster of three nodes with this name; each name is another cluster. */
  cairnCluster(name = 'cluster', build?: Build): Promise<CairnCluster> {
    const known = this.#clusters.get(name);
    if (known !== undefined) return known;
    const started = this.#keep(CairnCluster.start(join(this.dir, name), CLUSTER_NODES, [], build));
    this.#clusters.set(name, started);
    return started;
  }

  /** Three members; undefined when etcd is not installed. */
  etcdCluster(): Promise<EtcdCluster> | undefined {
    if (etcdVersion() === undefined) return undefined;
    this.#etcdCluster ??= this.#keep(startEtcdCluster(this.dir, CLUSTER_NODES));
    return this.#etcdCluster;
  }

  /** Undefined when etcd is not installed. */
  etcd(): Promise<Etcd> | undefined {
    if (etcdVersion() === undefined) return undefined;
    this.#etcd ??= this.#keep(startEtcd(this.dir));
    return this.#etcd;
  }

  /** Undefined when PostgreSQL is not installed. */
  postgres(): Promise<Postgres> | undefined {
    const bin = postgresBin();
    if (bin === undefined) return undefined;
    this.#postgres ??= this.#keep(startPostgres(bin, this.dir));
    return this.#postgres;
  }

  /** Returns the start of a range of numbers that no other request of this run uses. */
  numbers(): number {
    this.#counter += 1;
    return this.#counter * 100_000_000;
  }

  /** Stops every server, including servers that are still starting. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  /** A second signal ends the process without waiting for the servers. */
  async #interrupted(signal: NodeJS.Signals): Promise<void> {
    // Loads fail when their servers end; such errors must not end this process before the last server has ended.
    process.on('uncaughtException', () => undefined);
    await this[Symbol.asyncDispose]();
    process.kill(process.pid, signal);
  }

  async #end(): Promise<void> {
    for (const starting of this.#servers.toReversed()) {
      const [server] = await Promise.allSettled([starting]);
      if (server.status === 'fulfilled') await server.value.stop();
    }
    rmSync(this.dir, { recursive: true, force: true });
  }

  #keep<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
    this.#servers.push(starting);
    return starting;
  }
}
