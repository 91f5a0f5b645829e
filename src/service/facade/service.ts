/** Binds every operation to a node, for transports. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GroupId, LeaderAddress, Revision, Timers } from '#base';
import type { ServiceContext, ServiceParts } from '../context.ts';
import { elsewhere } from '../elsewhere.ts';
import { leaderOf } from '../instance.ts';
import { SERVICE_LIMITS } from '../limits.ts';
import { compileAhead } from '../maintenance/compile-ahead.ts';
import { keepViews } from '../maintenance/keep-views.ts';
import { ServiceMeters } from '../meters.ts';
import { OpenStreams } from '../open-streams.ts';
import type { Elsewhere, HealthReply } from '../operations.ts';
import { RandomPool } from '../random-pool.ts';
import { Reads } from '../reads.ts';
import { TailFeeds } from '../tail-feed.ts';
import { traced } from '../tracing.ts';
import * as operations from './bound-operations.ts';

/** An operation without its context parameter. */
type Bound<Run> = Run extends (context: ServiceContext, request: infer Request) => infer Reply
  ? (request: Request) => Reply
  : never;

type Operations = { readonly [Name in keyof typeof operations]: Bound<(typeof operations)[Name]> };

export interface Service extends Operations {
  /** Maintains the State Views with Eager and Scheduled versions until it is disposed of (ADR 0097). */
  readonly keepViews: Bound<typeof keepViews>;
  /** Compiles the components of active versions until it is disposed of. */
  readonly compileAhead: Bound<typeof compileAhead>;
  health(): HealthReply;
  /**
   * The leader of this database, or without one that of the catalog. Transports put it into the trailers of every
   * write. Undefined when it is not known here.
   */
  leader(databaseName?: string): LeaderAddress | undefined;
  /** Nodes to relay the request to; undefined: the failure is the answer. */
  elsewhere(failure: unknown): Elsewhere | undefined;
  /** The highest revision of a database that clients of this node were shown by any node; 0 for none. */
  shown(group: GroupId): Revision;
  /** Records that another node has shown this revision to a client of this node. */
  show(group: GroupId, revision: Revision): void;
}

export const systemTimers: Timers = {
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  turn: () => nextTurn(),
  monotonicMs: () => performance.now(),
};

export function createService(parts: ServiceParts): Service {
  const { timers = systemTimers } = parts;
  const limits = { ...SERVICE_LIMITS, ...parts.limits };
  const context: ServiceContext = {
    ...parts,
    reads: new Reads(parts.node, parts.sha256),
    random: new RandomPool(parts.random),
    timers,
    limits,
    streams: new OpenStreams('streaming reads', limits.streamsMax),
    openTails: new OpenStreams('live tails', limits.tailsMax),
    tails: new TailFeeds(limits),
    meters: new ServiceMeters(parts.metrics),
    startedAtMs: timers.monotonicMs(),
  };
  return {
    ...boundTo(context, operations),
    keepViews: (listeners) => keepViews(context, listeners),
    compileAhead: (listeners) => compileAhead(context, listeners),
    health: () => health(context),
    leader: (databaseName) => leaderOf(parts.node, databaseName),
    elsewhere: (failure) => elsewhere(parts.node, failure),
    shown: (group) => parts.node.answered(group),
    show: (group, revision) => parts.node.show(group, revision),
  };
}

/** Returns the health of the node, never that of a single database. */
export function health(context: ServiceContext): HealthReply {
  const { accepting, disk, knowsCatalog, isClockFar, hasDiverged } = context.node.health();
  const readable = accepting && knowsCatalog;
  const isWhole = readable && disk === 'open' && !isClockFar;
  return {
    status: isWhole && !hasDiverged ? 'ok' : 'degraded',
    version: context.release,
    storage: { adapter: 'leveldb', status: disk },
    uptimeSeconds: Math.floor((context.timers.monotonicMs() - context.startedAtMs) / 1000),
    readable,
    writable: isWhole,
  };
}

type AnyOperation = (context: ServiceContext, request: never) => Promise<object | void>;

/** Spans have the names of the operations in snake case. */
function boundTo(context: ServiceContext, all: typeof operations): Operations;
function boundTo(context: ServiceContext, all: Readonly<Record<string, AnyOperation>>): object {
  const bound = Object.entries(all).map(([name, run]) => {
    const operation = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [name, traced(operation, context, run)] as const;
  });
  return Object.fromEntries(bound);
}
