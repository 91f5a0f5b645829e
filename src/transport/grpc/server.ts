/** The gRPC interface of a node. */
import { formatAddress } from '#base';
import type { Service } from '#service';
import type { ServerOptions } from '../server-options.ts';
import { apiKeyMethods } from './api-keys.ts';
import { tracingCalls } from './call-traces.ts';
import { clusterAdminMethods } from './cluster-admin.ts';
import { versionMethods } from './component-versions.ts';
import { databaseMethods } from './databases.ts';
import { endedConnections } from './ended-connections.ts';
import { statusOfError, statusOfFailure, withLeader } from './error-status.ts';
import { streamMethods } from './event-streams.ts';
import { Gate } from './gate.ts';
import { HealthBoard, healthMethods } from './health.ts';
import { leaderPlane, type OutsideAddresses } from './leader-plane.ts';
import { callPlaces, GRPC_LIMITS } from './limits.ts';
import { LeaderTrailers } from './metadata.ts';
import { methodMeters } from './meters.ts';
import { publishingMethods } from './publishing.ts';
import { reflectionMethods } from './reflection.ts';
import { RelayConnections } from './relay-connections.ts';
import { relayed } from './relaying.ts';
import { stateChangeMethods } from './state-changes.ts';
import { stateViewMethods } from './state-views.ts';
import { transactionMethods } from './transactions.ts';
import type { Method } from './wire/method.ts';
import type { WireLimits } from './wire/parts.ts';
import { refusalsOf } from './wire/refusals.ts';
import { WireServer } from './wire/server.ts';

export interface GrpcServerOptions extends ServerOptions {
  readonly service: Service;
  /** Receives failures that concern the node, not one request; the node must then stop. */
  readonly onFatal: (failure: unknown) => void;
  readonly limits?: Partial<WireLimits>;
  /** See WireServerParts. */
  readonly gzipBytesMin?: number | undefined;
  /** Absent: all clients reach nodes at the same addresses. */
  readonly outside?: OutsideAddresses | undefined;
}

export interface GrpcServer {
  readonly address: string;
  readonly port: number;
  /** Closes the connection that has waited longest for a complete request; false: none waits. */
  makeRoom(): boolean;
  /** Reports NOT_SERVING from now on, while calls are still answered: before a drain, so that clients move. */
  announceDrain(): void;
  /** Accepts no more calls, ends the streams, gives the other calls `graceMs`. */
  drain(graceMs: number): Promise<void>;
}

/** Methods of the API, over the node's service or a principal's view of it. */
function methodsOf(service: Service, isAuthenticated: boolean): readonly Method[] {
  const context = { service, leaderTrailers: new LeaderTrailers(service), isAuthenticated };
  return [
    ...databaseMethods(context),
    ...transactionMethods(context),
    ...streamMethods(context),
    ...publishingMethods(context),
    ...versionMethods(context),
    ...stateViewMethods(context),
    ...stateChangeMethods(context),
    ...apiKeyMethods(context),
    ...clusterAdminMethods(context),
  ];
}

/** Listens when the promise resolves. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { service, logger, metrics, onFatal, host, budgets, relay, access, rateLimits, tracer, gzipBytesMin } = options;
  const limits = { ...GRPC_LIMITS, callsMax: callPlaces(budgets.streams.bytesMax), ...options.limits };
  let draining = false;
  const health = new HealthBoard({
    readable: () => !draining && service.health().readable,
    writable: () => !draining && service.health().writable,
  });
  const meterOf = methodMeters(metrics);
  const connections = relay && new RelayConnections(relay.dial);
  const gate = new Gate(rateLimits, access, (own) => methodsOf(own, true));
  const server = new WireServer({
    methods: [...methodsOf(service, false), ...healthMethods(health), ...reflectionMethods()],
    refusalOf: gate.refusalOf,
    handlerFor: access && gate.handlerFor,
    limits,
    ...budgets,
    gzipBytesMin,
    trailersFor: options.outside && leaderPlane(options.outside),
    secure: options.secure,
    refusals: refusalsOf(limits.callsMax, statusOfError),
    meterOf,
    traceOf: tracer && tracingCalls(tracer),
    onRefused: (reason) => metrics.counter('cairn_rejected_total', { reason }).add(),
    onConnectionEnded: endedConnections(logger, metrics),
    onDisplaced: (waiting) => metrics.counter('cairn_connections_displaced_total', { protocol: 'grpc', waiting }).add(),
    logger,
    statusOf: (failure, { namesLeader = false }, onBug) => {
      const status = statusOfFailure(failure, { onBug, onFatal });
      const isNamed = status.trailers?.['x-leader-node'] !== undefined;
      const isLet = status.code !== 'UNAUTHENTICATED' && status.code !== 'PERMISSION_DENIED';
      return namesLeader && !isNamed && isLet ? withLeader(status, service.leader()) : status;
    },
    elsewhere: connections && ((call, failure) => relayed(connections, relay, call, failure)),
  });
  const port = await server.connections.listen(options);
  const announceDrain = (): void => {
    draining = true;
    health.refresh();
  };
  return {
    address: formatAddress({ host, port }),
    port,
    makeRoom: () => server.connections.makeRoom(),
    announceDrain,
    drain: async (graceMs) => {
      announceDrain();
      await server.drain(graceMs);
      connections?.close();
      health.stop();
    },
  };
}
