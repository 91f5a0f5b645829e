// The HTTP server on a whole node in one thread and in memory, for tests that control time and the disk, or read the
// log.
import type { Timers } from '#base';
import { nativeSha256 } from '#cluster';
import {
  createMetrics,
  type LogFields,
  type Logger,
  type Metrics,
  type Probes,
  silentLogger,
  type Tracer,
} from '#observability';
import { createService, type Service } from '#service';
import { type AllowedOrigins, type ByteBudgets, createByteBudgets, startHttpServer, type WebServer } from '#transport';
import type { Route } from '../../src/transport/http/route.ts';
import { CoreWorld } from './cluster/core-world.ts';
import { HttpClient } from './http-client.ts';

/** Timers that fire at once or never, and can be counted. */
class TestTimers implements Timers {
  readonly #held: boolean;
  readonly #nowMs: () => number;
  readonly #running = new Set<() => void>();

  constructor(held: boolean, nowMs: () => number) {
    this.#held = held;
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#running.size;
  }

  after(_delayMs: number, run: () => void): () => void {
    this.#running.add(run);
    if (!this.#held) setImmediate(run);
    return () => this.#running.delete(run);
  }

  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  monotonicMs(): number {
    return this.#nowMs();
  }
}

export interface HttpWorld extends AsyncDisposable {
  readonly core: CoreWorld;
  readonly service: Service;
  readonly server: WebServer;
  readonly client: HttpClient;
  readonly metrics: Metrics;
  /** Current waits of the service. */
  readonly timers: TestTimers;
  /** Names of the logged errors and warnings, and the fields of their lines. */
  readonly logged: readonly string[];
  readonly fields: readonly LogFields[];
  /** Failures that would stop a node. */
  readonly fatal: readonly unknown[];
}

const CLOSE_DEADLINE_MS = 1_000;

export interface HttpWorldOptions {
  readonly allowedOrigins?: AllowedOrigins;
  /** True when waits of the service last until their request ends; otherwise they end immediately. */
  readonly holdsWaits?: boolean;
  /** Start time of the node; only the test advances the time. */
  readonly nowMs?: number;
  readonly connectionsMax?: number;
  readonly answerMs?: number;
  /** Byte budgets of clients; default more than any test uses. */
  readonly budgets?: ByteBudgets;
  /** Setting of the server. */
  readonly gzipBytesMin?: number;
  /** Routes that replace those of the API. */
  readonly routes?: readonly Route[];
  readonly tracer?: Tracer;
  readonly probes?: Probes;
}

export const NO_PROBES: Probes = { '/livez': [], '/readyz': [], '/startupz': [] };

const MUCH = 2 ** 30;

export async function startHttpWorld({
  allowedOrigins = '*',
  holdsWaits = true,
  nowMs,
  connectionsMax,
  answerMs,
  budgets = createByteBudgets({ requestBytesMax: MUCH, unsentBytesMax: MUCH }),
  gzipBytesMin,
  routes,
  tracer,
  probes = NO_PROBES,
}: HttpWorldOptions = {}): Promise<HttpWorld> {
  const core = new CoreWorld();
  if (nowMs !== undefined) core.nowMs = nowMs;
  await core.start();
  const metrics = createMetrics({ runtime: false });
  const clock = { nowMs: () => core.nowMs };
  const timers = new TestTimers(holdsWaits, clock.nowMs);
  const logged: string[] = [];
  const fields: LogFields[] = [];
  const fatal: unknown[] = [];
  const random = { bytes: (count: number) => new Uint8Array(count).fill(7) };
  const service = createService({
    node: core.node,
    clock,
    random,
    sha256: nativeSha256,
    metrics,
    release: '1.2.3',
    timers,
  });
  const error: Logger['error'] = (event, said = {}) => {
    logged.push(event);
    fields.push(said);
  };
  const logger: Logger = { ...silentLogger, error, warn: error };
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    service,
    clock,
    probes,
    logger,
    metrics,
    allowedOrigins,
    budgets,
    gzipBytesMin,
    ...(connectionsMax === undefined ? {} : { connectionsMax }),
    ...(answerMs === undefined ? {} : { answerMs }),
    ...(routes === undefined ? {} : { routes }),
    tracer,
    onFatal: (failure) => fatal.push(failure),
  });
  const client = new HttpClient(server.address);
  const parts = { core, service, server, client, metrics, timers, logged, fields, fatal };
  return { ...parts, [Symbol.asyncDispose]: () => server.close(CLOSE_DEADLINE_MS) };
}
