/**
 * Starts the servers of a benchmark on demand, once each, and stops all of them at the end. All servers listen on
 * loopback and keep their files in one temporary directory on the same disk.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Build, type CairnNode, startCairn } from './peers/cairn.ts';
import { CairnCluster } from './peers/cairn-cluster.ts';
import { type Etcd, type EtcdCluster, startEtcd, startEtcdCluster } from './peers/etcd.ts';
import {
  type EtcdProgram,
  etcdPrograms,
  postgresBin,
  postgresVersion,
  UMADB_VERSION,
  umadbPackage,
} from './peers/installed.ts';
import { type Postgres, startPostgres } from './peers/postgres.ts';
import { startUmadb, type Umadb } from './peers/umadb.ts';
import type { Contender, Turns } from './support/sample.ts';
import { isServing } from './support/server-process.ts';

const CLUSTER_NODES = 3;

/** An installed peer, whose server starts when it is needed. */
export interface Peer<Server> {
  /** Name and version. */
  readonly name: string;
  readonly directory: string;
  readonly server: () => Promise<Server>;
}

/** A contender on the server of a peer; `how` tells it from others on the same server. */
export function contenderOf<Server>(
  { name, directory, server }: Peer<Server>,
  open: (server: Server) => Turns | Promise<Turns>,
  how = '',
): Contender {
  return { peer: `${name}${how}`, directory, open: async () => open(await server()) };
}

/** Work that is done once for each server, such as loading events. */
export class OncePerServer {
  readonly #done = new WeakMap<object, Promise<unknown>>();

  async do<Server extends object>(server: Server, work: (server: Server) => Promise<unknown>): Promise<Server> {
    const doing = this.#done.get(server) ?? work(server);
    this.#done.set(server, doing);
    await doing;
    return server;
  }
}

interface Stoppable {
  stop(): Promise<void>;
}

export class Arena implements AsyncDisposable {
  readonly dir: string = mkdtempSync(join(tmpdir(), 'cairn-bench-'));
  readonly #cairns = new Servers<CairnNode>();
  readonly #clusters = new Servers<CairnCluster>();
  readonly #etcds = new Servers<Etcd>();
  readonly #etcdClusters = new Servers<EtcdCluster>();
  readonly #postgreses = new Servers<Postgres>();
  readonly #umadbs = new Servers<Umadb>();
  #counter = 0;
  #ended: Promise<void> | undefined;

  constructor() {
    // PostgreSQL runs as another user, which must be able to enter this directory.
    chmodSync(this.dir, 0o755);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void this.#interrupted(signal));
  }

  /** Directory of the node or cluster with this name. */
  at(name: string): string {
    return join(this.dir, name);
  }

  /** Returns the node with this name; each name is another node. */
  cairn(name = 'cairn', build?: Build): Promise<CairnNode> {
    return this.#cairns.get(this.at(name), (directory) => startCairn(directory, build));
  }

  /** Returns the cluster of three nodes with this name; each name is another cluster. */
  cairnCluster(name = 'cluster', build?: Build): Promise<CairnCluster> {
    const start = (directory: string): Promise<CairnCluster> => CairnCluster.start(directory, CLUSTER_NODES, [], build);
    return this.#clusters.get(this.at(name), start);
  }

  /** The node that most workloads share. */
  get node(): Peer<CairnNode> {
    return { name: 'cairn', directory: this.at('cairn'), server: () => this.cairn() };
  }

  get cluster(): Peer<CairnCluster> {
    return { name: `cairn × ${CLUSTER_NODES}`, directory: this.at('cluster'), server: () => this.cairnCluster() };
  }

  /** One for each release of etcd. */
  get etcds(): readonly Peer<Etcd>[] {
    return etcdPrograms().map((program) =>
      this.#peer(program.name, this.#etcds, (directory) => startEtcd(directory, program)),
    );
  }

  /** Three members for each release of etcd. */
  get etcdClusters(): readonly Peer<EtcdCluster>[] {
    const start = (program: EtcdProgram, directory: string): Promise<EtcdCluster> =>
      startEtcdCluster(directory, program, CLUSTER_NODES);
    return etcdPrograms().map((program) =>
      this.#peer(`${program.name} × ${CLUSTER_NODES}`, this.#etcdClusters, (directory) => start(program, directory)),
    );
  }

  /** Empty when PostgreSQL is not installed. */
  get postgreses(): readonly Peer<Postgres>[] {
    const bin = postgresBin();
    if (bin === undefined) return [];
    const start = (directory: string): Promise<Postgres> => startPostgres(bin, directory);
    return [this.#peer(`postgresql ${postgresVersion(bin)}`, this.#postgreses, start)];
  }

  /** Empty when UmaDB is not installed. */
  get umadbs(): readonly Peer<Umadb>[] {
    const folder = umadbPackage();
    if (folder === undefined) return [];
    return [this.#peer(`umadb ${UMADB_VERSION}`, this.#umadbs, (directory) => startUmadb(directory, folder))];
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
    const all = [this.#cairns, this.#clusters, this.#etcds, this.#etcdClusters, this.#postgreses, this.#umadbs];
    for (const servers of all) await servers.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  #peer<Server extends Stoppable>(
    name: string,
    servers: Servers<Server>,
    start: (directory: string) => Promise<Server>,
  ): Peer<Server> {
    const directory = this.at(name.replaceAll(/[^\w.]+/g, '-'));
    return { name, directory, server: () => servers.get(directory, start) };
  }
}

/** Servers of one kind by directory. */
class Servers<Server extends Stoppable> {
  readonly #started = new Map<string, { readonly server: Promise<Server>; isStarting: boolean }>();

  /** Starts the server of a directory once. One that was killed since starts again, without its files. */
  get(directory: string, start: (directory: string) => Promise<Server>): Promise<Server> {
    const known = this.#started.get(directory);
    if (known !== undefined && (known.isStarting || isServing(directory))) return known.server;
    if (known !== undefined) rmSync(directory, { recursive: true, force: true });
    const server = start(directory);
    const starting = { server, isStarting: true };
    const started = (): void => {
      starting.isStarting = false;
    };
    server.then(started, started);
    this.#started.set(directory, starting);
    return server;
  }

  async stop(): Promise<void> {
    for (const { server } of this.#started.values()) {
      const [started] = await Promise.allSettled([server]);
      if (started.status === 'fulfilled') await started.value.stop();
    }
  }
}
