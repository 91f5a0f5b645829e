/**
 * The composition root: the only file that knows all parts of a node and connects them.
 *
 * Parts start from the bottom up and stop from the top down. A drain first turns new clients away, then transfers the
 * leaderships while requests of existing clients continue, then finishes these requests, and finally closes the groups.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { NodeId } from '#base';
import {
  type Administers,
  type Node,
  nativeRandom,
  nativeSha256,
  stopProcess,
  storeDirectoryOf,
  type Unfinished,
  wallClock,
} from '#cluster';
import {
  createMetrics,
  type Logger,
  type Metrics,
  type MetricsServer,
  type Probes,
  startMetricsServer,
  startTracing,
  type Tracing,
} from '#observability';
import { createService, type Service } from '#service';
import { openFilesMax } from '#storage';
import type * as Transport from '#transport';
import type { ByteBudgets, GrpcServer, HeldPort, HolderLists, McpServerOptions, WebServer } from '#transport';
import { readAccess } from '../access/access.ts';
import { loadExtractor } from '../access/extractor-module.ts';
import { rateLimitsOf } from '../access/rate-limits.ts';
import { ArchiveThread } from '../archive/archive-thread.ts';
import { advertised, metricsHost, portOf, reached, scrapeUrl, urlAt } from '../ports/addresses.ts';
import {
  ConnectionBound,
  type ConnectionShares,
  closedConnections,
  connectionShares,
} from '../ports/connection-bound.ts';
import { untilFree } from '../ports/free-port.ts';
import { HeldPorts } from '../ports/held-ports.ts';
import { memoryShare } from '../process/memory-limit.ts';
import { COMMIT, PACKAGE_DIR, RELEASE } from '../process/release.ts';
import { showThrottledTime } from '../process/throttled-time.ts';
import { outsideAddresses } from '../settings/outside-addresses.ts';
import type { Config } from '../settings/settings.ts';
import { Tls } from '../tls/tls.ts';
import { callMeter, showBudgets, showGuests, showNode } from './gauges.ts';
import { Guests, maintenanceLog } from './guests.ts';
import { type NodeParts, openNode } from './open-node.ts';
import { NodeProbes } from './probes.ts';

/** Addresses of a running node; part of the ready line. */
export interface Addresses {
  /** host:port. */
  readonly grpc: string;
  /** http://host:port, or https: with TLS. */
  readonly http: string;
  /** URL of MCP; absent when it is off. */
  readonly mcp?: string;
  /** The URL that Prometheus scrapes; absent when it is off. */
  readonly metrics?: string;
  /** host:port of the peer port; absent when it is off. */
  readonly peer?: string;
  /** The directory of the documentation. */
  readonly docs: string;
}

export interface RunningNode {
  readonly addresses: Addresses;
  /** Resolves when an operator drains the node (`cairn cluster drain`). */
  readonly stopRequested: Promise<void>;
  /** Transfers the leaderships and finishes requests in flight within the grace period, then closes everything. */
  drain(): Promise<void>;
  /** Work that is still pending. */
  readonly unfinished: Unfinished;
}

/**
 * Starts all servers. The transport is loaded while the core recovers on its thread; a node without a peer port does
 * not load what connects nodes. `waiting` receives whether the node waits for a cluster: nothing would be lost if it
 * ended then.
 * @throws DatabaseError when the data directory or an address cannot be used.
 */
export async function startServers(
  config: Config,
  logger: Logger,
  waiting: (isWaiting: boolean) => void = () => undefined,
): Promise<RunningNode> {
  await using starting = new AsyncDisposableStack();
  const running = await new Servers(config, logger, starting).start(waiting);
  starting.move();
  return running;
}

/** The servers of clients. */
interface Fronts {
  readonly grpc: GrpcServer;
  readonly http: WebServer;
  readonly mcp: WebServer | undefined;
}

/** Parts from which they are opened. */
interface Opening {
  readonly transport: typeof Transport;
  readonly ports: Readonly<Record<'grpc' | 'http' | 'mcp', HeldPort | undefined>>;
  readonly node: Node;
}

/** Parts that all of these servers share. */
type Shared = Omit<Transport.GrpcServerOptions, 'port' | 'held' | 'gzipBytesMin' | 'outside'> &
  Pick<Transport.HttpServerOptions, 'probes'> &
  Pick<McpServerOptions, 'relay'>;

class Servers {
  readonly #config: Config;
  readonly #logger: Logger;
  readonly #metrics: Metrics = openMetrics();
  /** Closes the opened parts when the start fails. */
  readonly #starting: AsyncDisposableStack;
  /** Undefined when the number of open files is unlimited. */
  readonly #shares: ConnectionShares | undefined;
  readonly #bound: ConnectionBound | undefined;
  /** Files that are read again. */
  readonly #files: DisposableStack;
  readonly #tls: Tls;

  constructor(config: Config, logger: Logger, starting: AsyncDisposableStack) {
    this.#config = config;
    this.#logger = logger;
    this.#starting = starting;
    const filesMax = openFilesMax();
    this.#shares =
      filesMax === undefined ? undefined : connectionShares(filesMax, { hasPeers: config.peerPort !== 'off' });
    this.#bound =
      this.#shares && starting.use(new ConnectionBound(this.#shares, closedConnections(logger, this.#metrics)));
    this.#files = starting.use(new DisposableStack());
    this.#tls = this.#files.use(new Tls(config, { logger, metrics: this.#metrics }));
  }

  async start(waiting: (isWaiting: boolean) => void): Promise<RunningNode> {
    const given = { config: this.#config, logger: this.#logger, metrics: this.#metrics };
    const { config, logger, metrics } = given;
    const peers = config.peerPort === 'off' ? undefined : await import('../tls/peer-tls.ts');
    const peerTls = this.#files.use(peers?.openPeerTls(config, given));
    const probed = new NodeProbes([this.#tls, peerTls]);
    // The metrics server starts first, so that a slow or failed start is visible.
    const scrape = await this.#openScrape(probed.checks);
    const held = this.#starting.use(new HeldPorts({ logger, secure: this.#tls.ports }));
    const ports = await this.#holdPorts(held, probed.checks);
    const stopRequest = Promise.withResolvers<void>();
    const rules = readAccess(config, { ...given, custom: await loadExtractor(config, logger), files: this.#files });
    const tracing = await this.#openTracing();
    const listeners = { onStopRequested: stopRequest.resolve, ...startListeners([held, probed], waiting) };
    const node = await openNode({ ...given, shares: this.#shares, note: rules.note, peerTls, ...listeners });
    probed.node = node;
    const transport = await import('#transport');
    showNode(node, metrics);
    this.#starting.defer(() => node.drain());
    const rateLimits = rateLimitsOf(config, { transport, metrics, bootstrap: rules.bootstrap });
    const dial = transport.dialWith(() => this.#tls.context);
    const lists = new transport.HolderLists(config.nodeName, dial, rateLimits);
    this.#starting.defer(() => lists.close());
    const guests = this.#guests(node);
    const service = this.#service(node, lists, guests);
    const relay = new transport.Relay({ service, name: config.nodeName, dial, metrics, logger, rateLimits });
    const access = rules.over(service, node, transport.RELAYED);
    const guarded = { access, rateLimits, secure: this.#tls.ports, tracer: tracing?.tracer, probes: probed.checks };
    const shared = { host: config.host, logger, metrics, budgets: this.#budgets(transport), relay, ...guarded };
    const onFatal = (failure: unknown): void => this.#stop(failure);
    const fronts = await this.#openFronts(
      { ...shared, onFatal, service: rules.open(service) },
      { transport, ports, node },
    );
    held[Symbol.dispose]();
    probed.listens = true;
    if (scrape !== undefined) this.#bound?.name(scrape.port, 'metrics');
    this.#advertise(node, fronts);
    const looking = [this.#compilesAhead(service), this.#keepsViews(service, guests)];
    const archive = this.#archive(node);
    return {
      addresses: this.#addresses(fronts, node, scrape),
      stopRequested: stopRequest.promise,
      get unfinished() {
        return node.unfinished;
      },
      drain: async () => {
        fronts.grpc.announceDrain();
        probed.drains = true;
        for (const each of looking) each[Symbol.dispose]();
        const graceMs = await this.#handOver(node);
        // All protocols drain in parallel, so that clients of one do not wait for clients of another.
        await Promise.all([fronts.grpc.drain(graceMs), fronts.mcp?.close(graceMs), fronts.http.close(graceMs)]);
        lists.close();
        await Promise.all([guests[Symbol.asyncDispose](), archive?.[Symbol.asyncDispose]()]);
        await Promise.all([node.drain(), tracing?.close(graceMs)]);
        await scrape?.close();
        this.#bound?.[Symbol.dispose]();
        this.#files.dispose();
      },
    };
  }

  async #openScrape(probes: Probes): Promise<MetricsServer | undefined> {
    const { metricsPort: port } = this.#config;
    if (port === 'off') return undefined;
    const [host, logger] = [metricsHost(this.#config), this.#logger];
    await untilFree({ host, port }, logger);
    const served = { metrics: this.#metrics, probes, connectionsMax: this.#shares?.metrics };
    const scrape = await startMetricsServer({
      host,
      port,
      logger,
      ...served,
      create: this.#tls.ports?.createHttpServer,
    });
    this.#starting.defer(() => scrape.close());
    return scrape;
  }

  /** Binds the ports of clients. The node binds the peer port itself, before anything else. */
  async #holdPorts(held: HeldPorts, probes: Probes): Promise<Opening['ports']> {
    const { host, grpcPort, httpPort, mcpPort } = this.#config;
    const grpc = await held.grpc({ host, port: grpcPort });
    const http = await held.http('HTTP', { host, port: httpPort }, probes);
    const mcp = mcpPort === 'off' ? undefined : await held.http('MCP', { host, port: mcpPort });
    return { grpc, http, mcp };
  }

  /** Undefined without tracing; nothing is loaded then. */
  async #openTracing(): Promise<Tracing | undefined> {
    const { otlpEndpoint: endpoint, traceSampleRatio: sampleRatio, nodeName: name } = this.#config;
    if (endpoint === 'off') return undefined;
    const counts = {
      ended: this.#metrics.counter('cairn_trace_spans_ended_total', {}),
      exported: this.#metrics.counter('cairn_trace_spans_exported_total', {}),
    };
    const tracing = await startTracing({ endpoint, sampleRatio, name, version: RELEASE, logger: this.#logger, counts });
    this.#starting.defer(() => tracing.close(0));
    return tracing;
  }

  #guests(node: Node): Guests {
    const guests = new Guests({
      settings: this.#config,
      mayWrite: () => node.health().disk === 'open',
      maintenance: maintenanceLog(this.#logger),
      onComponent: (digest) => node.runs(digest),
      onCall: callMeter(this.#metrics),
    });
    showGuests(guests, this.#metrics);
    return this.#starting.use(guests);
  }

  #service(node: Node & Administers, lists: HolderLists, guests: Guests): Service {
    return createService({
      node,
      sha256: nativeSha256,
      metrics: this.#metrics,
      release: RELEASE,
      limits: { readWaitMs: this.#config.readWaitMs },
      listAt: lists.ask.bind(lists),
      administer: node.administer,
      components: () => guests.open(),
      clock: wallClock,
      random: nativeRandom,
    });
  }

  #budgets(transport: typeof Transport): ByteBudgets {
    const budgets = transport.createByteBudgets({
      requestBytesMax: memoryShare('requestMemoryBytes', this.#config.requestMemoryBytes),
      unsentBytesMax: memoryShare('unsentMemoryBytes', this.#config.unsentMemoryBytes),
    });
    showBudgets(budgets, this.#metrics);
    return budgets;
  }

  /** Opens the servers of clients. */
  async #openFronts(shared: Shared, { transport, ports, node }: Opening): Promise<Fronts> {
    const config = this.#config;
    const { shutdownGraceMs: graceMs, grpcPort, grpcGzipBytes, httpPort, httpGzipBytes } = config;
    const grpc = await transport.startGrpcServer({
      ...shared,
      port: grpcPort,
      held: ports.grpc,
      gzipBytesMin: unlessOff(grpcGzipBytes),
      outside: outsideAddresses(config.advertiseOutside),
    });
    this.#starting.defer(() => grpc.drain(graceMs));
    this.#bound?.name(grpc.port, 'grpc', () => grpc.makeRoom());
    const http = await transport.startHttpServer({
      ...shared,
      port: httpPort,
      held: ports.http,
      gzipBytesMin: unlessOff(httpGzipBytes),
      allowedOrigins: config.corsOrigins,
      clock: wallClock,
    });
    this.#starting.defer(() => http.close(graceMs));
    this.#bound?.name(portOf(http.address), 'http', () => http.makeRoom());
    const mcp = await this.#openMcp(shared, { transport, ports, node }, http);
    return { grpc, http, mcp };
  }

  async #openMcp(shared: Shared, { transport, ports, node }: Opening, http: WebServer): Promise<WebServer | undefined> {
    const config = this.#config;
    const { mcpPort: port, oidcIssuer: issuer, mcpUrl, corsOrigins: allowedOrigins, shutdownGraceMs } = config;
    if (port === 'off') return undefined;
    const mcp = await transport.startMcpServer({
      ...shared,
      port,
      held: ports.mcp,
      allowedOrigins,
      api: reached(config, http.address),
      dialApi: this.#tls.dialSelf,
      docs: join(PACKAGE_DIR, 'docs'),
      version: RELEASE,
      nodes: { own: node.identity.node, urlOf: (other) => mcpOf(node, other) },
      // API keys and tokens of the cluster are handed out by people, so clients need no resource for them.
      ...(issuer !== 'none' && {
        resourceAt: (bound) => ({ url: mcpUrl === 'auto' ? new URL(urlAt(config, bound)).href : mcpUrl, issuer }),
      }),
      mintId: randomUUID,
    });
    this.#starting.defer(() => mcp.close(shutdownGraceMs));
    this.#bound?.name(portOf(mcp.address), 'mcp', () => mcp.makeRoom());
    return mcp;
  }

  /** Registers the client addresses of the node in the catalog. */
  #advertise(node: Node, { grpc, http, mcp }: Fronts): void {
    node.advertise({
      grpc: advertised(this.#config, grpc.address),
      http: urlAt(this.#config, http.address),
      ...(mcp !== undefined && { mcp: urlAt(this.#config, mcp.address) }),
    });
  }

  #addresses({ grpc, http, mcp }: Fronts, node: Node, scrape: MetricsServer | undefined): Addresses {
    return {
      grpc: grpc.address,
      http: http.address,
      ...(mcp !== undefined && { mcp: mcp.address }),
      ...(scrape !== undefined && { metrics: scrapeUrl(this.#config, scrape.port) }),
      ...(node.peerAddress !== undefined && { peer: node.peerAddress }),
      docs: join(PACKAGE_DIR, 'docs'),
    };
  }

  /** Archives databases in the background, until it is disposed. */
  #archive(node: Node): ArchiveThread | undefined {
    const { archive, nodeName: writer, dataDir } = this.#config;
    if (archive === 'off') return undefined;
    const given = { storeDirectory: storeDirectoryOf(dataDir), archive, writer };
    return this.#starting.use(new ArchiveThread({ ...given, node, logger: this.#logger, metrics: this.#metrics }));
  }

  /** Folds State Views in the background, until it is disposed. */
  #keepsViews(service: Service, guests: Guests): Disposable {
    const kept = new DisposableStack();
    if (this.#config.maintenanceFolds === 0) return kept;
    kept.defer(() => guests.stopMaintenance());
    kept.use(
      service.keepViews({
        onFatal: (failure) => this.#stop(failure),
        onFailure: ({ name: database }, error) => this.#logger.error('views-not-looked-at', { database, error }),
      }),
    );
    return kept;
  }

  /** Compiles components in the background, until it is disposed. */
  #compilesAhead(service: Service): Disposable {
    const logger = this.#logger;
    return service.compileAhead({
      onFatal: (failure) => this.#stop(failure),
      onFailure: ({ name: database }, error) => logger.error('components-not-looked-at', { database, error }),
      onRefused: ({ name: database }, { definition: { kind, name }, version, component: { digest } }, fault) =>
        logger.warn('component-not-compiled', { database, kind, component: `${name} v${version}`, digest, fault }),
    });
  }

  /** Transfers the leaderships while requests continue. @returns the rest of the grace period */
  async #handOver(node: Node): Promise<number> {
    const { shutdownGraceMs } = this.#config;
    const beganMs = performance.now();
    const { leads } = node.unfinished;
    await node.leave(shutdownGraceMs);
    const elapsedMs = Math.round(performance.now() - beganMs);
    const left = node.unfinished.leads;
    if (left === 0) this.#logger.info('leads-handed-over', { leads, elapsedMs });
    else this.#logger.warn('leads-left', { leads, left, elapsedMs });
    return Math.max(Math.min(LEAST_GRACE_MS, shutdownGraceMs), shutdownGraceMs - elapsedMs);
  }

  #stop(failure: unknown): void {
    stopProcess({ logger: this.#logger, dataDirectory: this.#config.dataDir }, 'front', failure);
  }
}

/** Minimum time for finishing requests when the transfers have used up the grace period. */
const LEAST_GRACE_MS = 1_000;

function openMetrics(): Metrics {
  const metrics = createMetrics({ runtime: true });
  metrics.gauge('cairn_build_info', { version: RELEASE, node: process.version, commit: COMMIT }).set(1);
  showThrottledTime(metrics);
  return metrics;
}

/** Shows the progress of a start in logs and probes. */
function startListeners(
  [held, probed]: readonly [HeldPorts, NodeProbes],
  waiting: (isWaiting: boolean) => void,
): Pick<NodeParts, 'onWaiting' | 'onRecovering'> {
  return {
    onRecovering: () => {
      probed.hasOpened = true;
    },
    onWaiting: (why) => {
      held.reason = why;
      probed.waitsFor = why;
      waiting(why !== undefined);
    },
  };
}

/** MCP address of another node in the local catalog. */
function mcpOf({ catalog }: Node, other: NodeId): string | undefined {
  const known = catalog.nodes().find((each) => each.node === other);
  return known?.state === 'removed' ? undefined : known?.mcp;
}

function unlessOff(setting: number | 'off'): number | undefined {
  return setting === 'off' ? undefined : setting;
}
