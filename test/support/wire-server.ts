/**
 * The gRPC server without methods of the product, for tests: limits are large by default, and it records its actions.
 */
import { silentLogger } from '#observability';
import { type ByteBudgets, createByteBudgets } from '../../src/transport/byte-budgets.ts';
import { statusOfError } from '../../src/transport/grpc/error-status.ts';
import type { Method } from '../../src/transport/grpc/wire/method.ts';
import type { Refusals, WireLimits } from '../../src/transport/grpc/wire/parts.ts';
import { refusalsOf } from '../../src/transport/grpc/wire/refusals.ts';
import { WireServer, type WireServerParts } from '../../src/transport/grpc/wire/server.ts';
import { ManualTime } from './budget-time.ts';

export interface WireFixture extends AsyncDisposable {
  readonly server: WireServer;
  readonly port: number;
  readonly budgets: ByteBudgets;
  /** Clock of the budgets; only the test advances it. */
  readonly time: ManualTime;
  /** Codes of ended calls. */
  readonly ended: string[];
  /** Reasons of calls that were refused before their handlers. */
  readonly refused: string[];
  /** Reasons of ended connections. */
  readonly endings: string[];
}

export interface WireOptions {
  readonly methods: readonly Method[];
  readonly limits?: Partial<WireLimits>;
  /** Byte budgets of all requests, of open streams, and of all replies. */
  readonly requests?: number;
  readonly streams?: number;
  readonly unsent?: number;
  readonly gzipBytesMin?: number;
  readonly refusals?: Partial<Refusals>;
  readonly statusOf?: WireServerParts['statusOf'];
}

/** Time to wait for a reader before another one gets its budget. */
export const STALL_MS = 50;

const MUCH = 2 ** 30;

const REFUSALS: Refusals = {
  draining: { code: 'UNAVAILABLE', message: 'draining' },
  tooManyCalls: () => ({ code: 'RESOURCE_EXHAUSTED', message: 'too many calls' }),
  displaced: () => ({ code: 'RESOURCE_EXHAUSTED', message: 'displaced' }),
  noRoom: { code: 'UNAVAILABLE', message: 'no room' },
  malformed: refusalsOf({ waiting: 0, reading: 0 }, statusOfError).malformed,
  late: { code: 'DEADLINE_EXCEEDED', message: 'too late' },
  expired: (timeout) => ({ code: 'DEADLINE_EXCEEDED', message: `${timeout} are over` }),
};

const LIMITS: WireLimits = {
  requestBytesMax: 10_000,
  streamsPerConnectionMax: 100,
  lastingStreamsMax: 100,
  openingMs: 20_000,
  connectionsMax: 100_000,
  callsMax: { waiting: 1_000, reading: 1_000 },
  pingEveryMs: 60_000,
  pingTimeoutMs: 20_000,
  receiveMs: 60_000,
  lingerMs: 60_000,
};

/** Listens on a free port; disposing of it ends all calls. */
export async function startWireServer(options: WireOptions): Promise<WireFixture> {
  const { requests = MUCH, streams = MUCH, unsent = MUCH } = options;
  const [ended, refused, endings]: [string[], string[], string[]] = [[], [], []];
  const time = new ManualTime();
  const bytes = { requestBytesMax: requests, streamBytesMax: streams, unsentBytesMax: unsent };
  const budgets = createByteBudgets({ ...bytes, stallMs: STALL_MS, time });
  const nothing = (): void => undefined;
  const server = new WireServer({
    methods: options.methods,
    meterOf: () => ({ started: nothing, received: nothing, sent: nothing, ended: (code) => ended.push(code) }),
    onRefused: (why) => refused.push(why),
    onConnectionEnded: (why) => endings.push(why),
    statusOf: options.statusOf ?? (() => ({ code: 'INTERNAL', message: 'a bug' })),
    ...budgets,
    logger: silentLogger,
    gzipBytesMin: options.gzipBytesMin,
    refusals: { ...REFUSALS, ...options.refusals },
    limits: { ...LIMITS, ...options.limits },
  });
  const port = await server.connections.listen({ host: '127.0.0.1', port: 0 });
  return { server, port, budgets, time, ended, refused, endings, [Symbol.asyncDispose]: () => server.drain(0) };
}
