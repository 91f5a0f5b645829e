/** The gRPC server under its methods, for tests: wide open where a test says nothing, and it notes what it did. */
import { type ByteBudgets, createByteBudgets } from '../../src/transport/byte-budgets.ts';
import { statusOfFrame } from '../../src/transport/grpc/frame-status.ts';
import type { Method } from '../../src/transport/grpc/wire/method.ts';
import {
  type Refusals,
  type WireLimits,
  WireServer,
  type WireServerParts,
} from '../../src/transport/grpc/wire/server.ts';
import { ManualTime } from './budget-time.ts';

export interface WireFixture extends AsyncDisposable {
  readonly server: WireServer;
  readonly port: number;
  readonly budgets: ByteBudgets;
  /** What budgets wait by; it stands still unless the test moves it. */
  readonly time: ManualTime;
  /** The codes of calls that have ended. */
  readonly ended: string[];
  /** Why calls were refused before their handlers saw them. */
  readonly refused: string[];
  /** Why connections were ended. */
  readonly endings: string[];
}

export interface WireOptions {
  readonly methods: readonly Method[];
  readonly limits?: Partial<WireLimits>;
  /** Bytes of all requests, of streams that stand open, and of all replies. */
  readonly requests?: number;
  readonly streams?: number;
  readonly unsent?: number;
  readonly gzipBytesMin?: number;
  readonly refusals?: Partial<Refusals>;
  readonly statusOf?: WireServerParts['statusOf'];
}

/** For which a reader is waited for before another one has its room. */
export const PATIENCE_MS = 50;

const MUCH = 2 ** 30;

const REFUSALS: Refusals = {
  draining: { code: 'UNAVAILABLE', message: 'draining' },
  tooManyCalls: () => ({ code: 'RESOURCE_EXHAUSTED', message: 'too many calls' }),
  displaced: () => ({ code: 'RESOURCE_EXHAUSTED', message: 'displaced' }),
  noRoom: { code: 'UNAVAILABLE', message: 'no room' },
  malformed: statusOfFrame,
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

/** Listens on a free port when it resolves; disposing of it ends whatever is under way. */
export async function startWireServer(options: WireOptions): Promise<WireFixture> {
  const { requests = MUCH, streams = MUCH, unsent = MUCH } = options;
  const [ended, refused, endings]: [string[], string[], string[]] = [[], [], []];
  const time = new ManualTime();
  const bytes = { requestBytesMax: requests, streamBytesMax: streams, unsentBytesMax: unsent };
  const budgets = createByteBudgets({ ...bytes, patienceMs: PATIENCE_MS, time });
  const nothing = (): void => undefined;
  const server = new WireServer({
    methods: options.methods,
    meterOf: () => ({ started: nothing, received: nothing, sent: nothing, ended: (code) => ended.push(code) }),
    onRefused: (why) => refused.push(why),
    onConnectionEnded: (why) => endings.push(why),
    statusOf: options.statusOf ?? (() => ({ code: 'INTERNAL', message: 'a bug' })),
    ...budgets,
    gzipBytesMin: options.gzipBytesMin,
    refusals: { ...REFUSALS, ...options.refusals },
    limits: { ...LIMITS, ...options.limits },
  });
  const port = await server.listen({ host: '127.0.0.1', port: 0 });
  return { server, port, budgets, time, ended, refused, endings, [Symbol.asyncDispose]: () => server.drain(0) };
}
