/**
 * The composition root: the only file that knows all parts of a node and connects them.
 *
 * Parts start from the bottom up and stop from the top down. A drain first turns new clients away, then transfers the
 * leaderships while requests of existing clients continue, then finishes these requests, and finally closes the groups.
 */
import { join } from 'node:path';
import { formatAddress } from '#base';
import {
  type Administers,
  type Node,
  nativeRandom,
  nativeSha256,
  stopProcess,
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
import type {
  ByteBudgetSizes,
  ByteBudgets,
  GrpcServer,
  GrpcServerOptions,
  HeldPort,
  HolderLists,
  HttpServerOptions,
  SecurePorts,
  WebServer,
} from '#transport';
import { readAccess } from './access.ts';
import { ConnectionBound, type ConnectionShares, closedConnections, connectionShares } from './connection-bound.ts';
import { loadExtractor } from './extractor-module.ts';
import { untilFree } from './free-port.ts';
import { callMeter, showGuests } from './guest-gauges.ts';
import { Guests, maintenanceLog } from './guests.ts';
import { HeldPorts } from './held-ports.ts';
import { type McpParts, openMcp } from './mcp-endpoint.ts';
import { memoryShare } from './memory-limit.ts';
import { showBudgets, showNode } from './node-gauges.ts';
import { advertisedHost, type NodeParts, openNode } from './open-node.ts';
import { outsideAddresses } from './outside-addresses.ts';
import { NodeProbes } from './probes.ts';
import { rateLimitsOf } from './rate-limits.ts';
import { COMMIT, PACKAGE_DIR, RELEASE } from './release.ts';
import type { Config } from './settings.ts';
import { showThrottledTime } from './throttled-time.ts';
import { openTls } from './tls.ts';

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
  readonly toldToStop: Promise<void>;
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
  const metrics = openMetrics();
  await using starting = new AsyncDisposableStack();
  const shares = sharesOf(config);
  const bound = shares && starting.use(new ConnectionBound(shares, closedConnections(logger, metrics)));
  // The metrics server starts first, so that a slow or failed start is visible.
  const files = starting.use(new DisposableStack());
  const tls = files.use(openTls(config, { logger, metrics }));
  const peers = config.peerPort === 'off' ? undefined : await import('./peer-tls.ts');
  const peerTls = files.use(peers?.openPeerTls(config, { logger, metrics }));
  const probed = new NodeProbes([tls, peerTls]);
  const given = { config, logger, metrics, shares };
  const { scrape, held, ports } = await openPorts({ ...given, secure: tls.ports, probes: probed.checks }, starting);
  const told = Promise.withResolvers<void>();
  const custom = await loadExtractor(config, logger);
  const rules = readAccess(config, { custom, logger, metrics, files });
  const tracing = await openTracing(config, { logger, metrics });
  starting.defer(() => tracing?.close(0));
  const listeners = { onStopRequested: told.resolve, ...startListeners([held, probed], waiting) };
  const node = await openNode({ ...given, note: rules.note, peerTls, ...listeners });
  probed.recovered(node);
  const transport = await import('#transport');
  showNode(node, metrics);
  starting.defer(() => node.drain());
  const rateLimits = rateLimitsOf(config, { transport, metrics, bootstrap: rules.bootstrap });
  const dial = transport.dialWith(() => tls.context);
  const lists = new transport.HolderLists(config.nodeName, dial, rateLimits);
  starting.defer(() => lists.close());
  const guests = starting.use(guestsOf(config, { node, metrics, logger }));
  const service = serviceOf(config, { node, metrics, lists, guests });
  const budgets = budgetsOf(config, transport, metrics);
  const onFatal = (failure: unknown): void => stopProcess({ logger, dataDirectory: config.dataDir }, 'front', failure);
  const relay = new transport.Relay({ service, name: config.nodeName, dial, metrics, logger, rateLimits });
  const [access, open] = [rules.over(service, node, transport.RELAYED), rules.open(service)];
  const guarded = { access, rateLimits, secure: tls.ports, tracer: tracing?.tracer, probes: probed.checks };
  const shared = { host: config.host, logger, metrics, budgets, relay, ...guarded, onFatal };
  const fronts = { starting, bound, transport, ports, tls, node, ...shared, service: open };
  const { grpc, http, mcp } = await openFronts(config, fronts);
  held[Symbol.dispose]();
  probed.listens();
  if (scrape !== undefined) bound?.name(scrape.port, 'metrics');
  advertise(node, config, { grpc, http, mcp });
  const looking = lookingAfter(config, { service, guests, logger, onFatal });
  starting.move();
  return {
    addresses: addressesOf({ config, grpc, http, mcp, scrape, node }),
    toldToStop: told.promise,
    get unfinished() {
      return node.unfinished;
    },
    drain: async () => {
      grpc.announceDrain();
      probed.drains();
      looking[Symbol.dispose]();
      const graceMs = await handOver(node, config, logger);
      // Both protocols drain in parallel, so that clients of one do not wait for clients of the other.
      await Promise.all([grpc.drain(graceMs), mcp?.close(graceMs), http.close(graceMs)]);
      lists.close();
      await guests[Symbol.asyncDispose]();
      await Promise.all([node.drain(), tracing?.close(graceMs)]);
      await scrape?.close();
      bound?.[Symbol.dispose]();
      files.dispose();
    },
  };
}

/** Undefined when the number of open files is unlimited. */
function sharesOf({ peerPort }: Config): ConnectionShares | undefined {
  const filesMax = openFilesMax();
  return filesMax === undefined ? undefined : connectionShares(filesMax, { hasPeers: peerPort !== 'off' });
}

function openMetrics(): Metrics {
  const metrics = createMetrics({ runtime: true });
  metrics.gauge('cairn_build_info', { version: RELEASE, node: process.version, commit: COMMIT }).set(1);
  showThrottledTime(metrics);
  return metrics;
}

/** Undefined without tracing; nothing is loaded then. */
async function openTracing(
  config: Config,
  { logger, metrics }: Pick<ScrapeParts, 'logger' | 'metrics'>,
): Promise<Tracing | undefined> {
  const { otlpEndpoint: endpoint, traceSampleRatio: sampleRatio, nodeName: name } = config;
  if (endpoint === 'off') return undefined;
  const counts = {
    ended: metrics.counter('cairn_trace_spans_ended_total', {}),
    exported: metrics.counter('cairn_trace_spans_exported_total', {}),
  };
  return startTracing({ endpoint, sampleRatio, name, version: RELEASE, logger, counts });
}

type FrontParts = Omit<GrpcServerOptions, 'port' | 'held' | 'gzipBytesMin' | 'outside'> &
  Omit<McpParts, 'api' | 'urlOf' | 'held'> & {
    readonly probes: Probes;
    /** Closes the listening servers when another one fails. */
    readonly starting: AsyncDisposableStack;
    readonly bound: ConnectionBound | undefined;
    readonly transport: typeof Transport;
    readonly ports: Ports;
  };

interface Ports {
  readonly grpc: HeldPort;
  readonly http: HeldPort;
  /** Undefined when MCP is off. */
  readonly mcp: HeldPort | undefined;
}

interface OpenPorts {
  readonly scrape: MetricsServer | undefined;
  readonly held: HeldPorts;
  readonly ports: Ports;
}

/** Binds the ports of metrics and of clients. The node binds the peer port itself, before anything else. */
async function openPorts(parts: ScrapeParts, starting: AsyncDisposableStack): Promise<OpenPorts> {
  const { host, grpcPort, httpPort, mcpPort } = parts.config;
  const scrape = await openScrape(parts);
  starting.defer(() => scrape?.close());
  const held = starting.use(new HeldPorts(parts));
  const grpc = await held.grpc({ host, port: grpcPort });
  const http = await held.http('HTTP', { host, port: httpPort }, parts.probes);
  const mcp = mcpPort === 'off' ? undefined : await held.http('MCP', { host, port: mcpPort });
  return { scrape, held, ports: { grpc, http, mcp } };
}

/** Shows the progress of a start in logs and probes. */
function startListeners(
  [held, probed]: readonly [HeldPorts, NodeProbes],
  waiting: (isWaiting: boolean) => void,
): Pick<NodeParts, 'onWaiting' | 'onRecovering'> {
  return {
    onRecovering: () => probed.opened(),
    onWaiting: (why) => {
      held.reason = why;
      probed.waitsFor = why;
      waiting(why !== undefined);
    },
  };
}

interface Fronts {
  readonly grpc: GrpcServer;
  readonly http: WebServer;
  readonly mcp: WebServer | undefined;
}

/** Opens the servers of clients. */
async function openFronts(config: Config, parts: FrontParts): Promise<Fronts> {
  const { starting, bound, transport, ports, tls, node, ...shared } = parts;
  const { shutdownGraceMs: graceMs } = config;
  const grpc = await transport.startGrpcServer({ ...shared, ...grpcOptions(config), held: ports.grpc });
  starting.defer(() => grpc.drain(graceMs));
  bound?.name(grpc.port, 'grpc', () => grpc.makeRoom());
  const http = await transport.startHttpServer({
    ...shared,
    ...httpOptions(config),
    held: ports.http,
    clock: wallClock,
  });
  starting.defer(() => http.close(graceMs));
  bound?.name(portOf(http.address), 'http', () => http.makeRoom());
  const places = { api: reached(config, http.address), urlOf: (address: string) => urlAt(config, address) };
  const mcp = await openMcp(config, { ...shared, held: ports.mcp, tls, transport, node, ...places });
  starting.defer(() => mcp?.close(graceMs));
  if (mcp !== undefined) bound?.name(portOf(mcp.address), 'mcp', () => mcp.makeRoom());
  return { grpc, http, mcp };
}

/** Registers the client addresses of the node in the catalog. */
function advertise(node: Node, config: Config, { grpc, http, mcp }: Fronts): void {
  node.advertise({
    grpc: advertised(config, grpc.address),
    http: urlAt(config, http.address),
    ...(mcp !== undefined && { mcp: urlAt(config, mcp.address) }),
  });
}

interface Listening extends Fronts {
  readonly config: Config;
  readonly scrape: MetricsServer | undefined;
  readonly node: Node;
}

function addressesOf({ config, grpc, http, mcp, scrape, node }: Listening): Addresses {
  return {
    grpc: grpc.address,
    http: http.address,
    ...(mcp !== undefined && { mcp: mcp.address }),
    ...(scrape !== undefined && { metrics: scrapeUrl(config, scrape) }),
    ...(node.peerAddress !== undefined && { peer: node.peerAddress }),
    docs: join(PACKAGE_DIR, 'docs'),
  };
}

interface ServiceUnderneath {
  readonly node: Node & Administers;
  readonly metrics: Metrics;
  readonly lists: HolderLists;
  readonly guests: Guests;
}

function serviceOf({ readWaitMs }: Config, { node, metrics, lists, guests }: ServiceUnderneath): Service {
  return createService({
    node,
    sha256: nativeSha256,
    metrics,
    release: RELEASE,
    limits: { readWaitMs },
    listAt: lists.ask.bind(lists),
    administer: node.administer,
    components: () => guests.open(),
    clock: wallClock,
    random: nativeRandom,
  });
}

interface GuestsUnderneath {
  readonly node: Node;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

function guestsOf(settings: Config, { node, metrics, logger }: GuestsUnderneath): Guests {
  const mayWrite = (): boolean => node.health().disk === 'open';
  const onComponent = (digest: string): void => node.runs(digest);
  const onCall = callMeter(metrics);
  const guests = new Guests({ settings, mayWrite, maintenance: maintenanceLog(logger), onComponent, onCall });
  showGuests(guests, metrics);
  return guests;
}

interface KeepingParts {
  readonly service: Service;
  readonly guests: Guests;
  readonly logger: Logger;
  readonly onFatal: (failure: unknown) => void;
}

/** Maintains State Views and compiles components in the background, until it is disposed. */
function lookingAfter(config: Config, parts: KeepingParts): Disposable {
  const both = [compilingAhead(parts), keepingViews(config, parts)];
  return {
    [Symbol.dispose]: () => {
      for (const each of both) each[Symbol.dispose]();
    },
  };
}

function keepingViews(config: Config, { service, guests, logger, onFatal }: KeepingParts): Disposable {
  if (config.maintenanceFolds === 0) return { [Symbol.dispose]: () => undefined };
  const looking = service.keepViews({
    onFatal,
    onFailure: ({ name: database }, error) => logger.error('views-not-looked-at', { database, error }),
  });
  return {
    [Symbol.dispose]: () => {
      looking[Symbol.dispose]();
      guests.stopMaintenance();
    },
  };
}

function compilingAhead({ service, logger, onFatal }: KeepingParts): Disposable {
  return service.compileAhead({
    onFatal,
    onFailure: ({ name: database }, error) => logger.error('components-not-looked-at', { database, error }),
    onRefused: ({ name: database }, { definition: { kind, name }, version, component: { digest } }, fault) =>
      logger.warn('component-not-compiled', { database, kind, component: `${name} v${version}`, digest, fault }),
  });
}

/** Minimum time for finishing requests when the transfers have used up the grace period. */
const LEAST_GRACE_MS = 1_000;

/** Transfers the leaderships while requests continue. @returns the rest of the grace period */
async function handOver(node: Node, { shutdownGraceMs }: Config, logger: Logger): Promise<number> {
  const beganMs = performance.now();
  const { leads } = node.unfinished;
  await node.leave(shutdownGraceMs);
  const elapsedMs = Math.round(performance.now() - beganMs);
  const left = node.unfinished.leads;
  if (left === 0) logger.info('leads-handed-over', { leads, elapsedMs });
  else logger.warn('leads-left', { leads, left, elapsedMs });
  return Math.max(Math.min(LEAST_GRACE_MS, shutdownGraceMs), shutdownGraceMs - elapsedMs);
}

interface ScrapeParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly shares: ConnectionShares | undefined;
  readonly secure: SecurePorts | undefined;
  readonly probes: Probes;
}

async function openScrape(parts: ScrapeParts): Promise<MetricsServer | undefined> {
  const { config, logger, metrics, shares, secure, probes } = parts;
  const { metricsPort: port } = config;
  if (port === 'off') return undefined;
  const host = metricsHost(config);
  await untilFree({ host, port }, logger);
  const create = secure?.createHttpServer;
  return startMetricsServer({ host, port, logger, metrics, probes, connectionsMax: shares?.metrics, create });
}

function metricsHost({ host, metricsHost: own }: Config): string {
  return own === AUTO ? host : own;
}

function scrapeUrl(config: Config, { port }: MetricsServer): string {
  return `${schemeOf(config)}://${hostInUrl(metricsHost(config))}:${port}/metrics`;
}

function schemeOf({ tlsCertFile }: Config): 'http' | 'https' {
  return tlsCertFile === 'none' ? 'http' : 'https';
}

const AUTO = 'auto';
/** URL at which this process itself reaches a listening address. */
function reached(config: Config, address: string): string {
  const { host } = config;
  const own = host === '::' ? '::1' : host === '0.0.0.0' ? '127.0.0.1' : host;
  return `${schemeOf(config)}://${formatAddress({ host: own, port: portOf(address) })}`;
}

/** Address at which other nodes and clients reach a listening address. */
function advertised(config: Config, address: string): string {
  return formatAddress({ host: advertisedHost(config), port: portOf(address) });
}

function urlAt(config: Config, address: string): string {
  return `${schemeOf(config)}://${advertised(config, address)}`;
}

function portOf(address: string): number {
  return Number(new URL(address.includes('://') ? address : `http://${address}`).port);
}

interface MakesBudgets {
  readonly createByteBudgets: (sizes: ByteBudgetSizes) => ByteBudgets;
}

function budgetsOf(config: Config, transport: MakesBudgets, metrics: Metrics): ByteBudgets {
  const budgets = transport.createByteBudgets({
    requestBytesMax: memoryShare('requestMemoryBytes', config.requestMemoryBytes),
    unsentBytesMax: memoryShare('unsentMemoryBytes', config.unsentMemoryBytes),
  });
  showBudgets(budgets, metrics);
  return budgets;
}

function grpcOptions({
  grpcPort,
  grpcGzipBytes,
  advertiseOutside,
}: Config): Pick<GrpcServerOptions, 'port' | 'gzipBytesMin' | 'outside'> {
  const gzipBytesMin = grpcGzipBytes === 'off' ? undefined : grpcGzipBytes;
  return { port: grpcPort, gzipBytesMin, outside: outsideAddresses(advertiseOutside) };
}

function httpOptions({
  httpPort,
  httpGzipBytes,
  corsOrigins,
}: Config): Pick<HttpServerOptions, 'port' | 'allowedOrigins' | 'gzipBytesMin'> {
  const gzipBytesMin = httpGzipBytes === 'off' ? undefined : httpGzipBytes;
  return { port: httpPort, allowedOrigins: corsOrigins, gzipBytesMin };
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
