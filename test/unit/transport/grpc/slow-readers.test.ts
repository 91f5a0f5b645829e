// Goal: readers that take a slice now and then, each in good time, do not hold up one that reads (TM4). Method:
// hundreds of raw HTTP/2 streams over three connections against the gRPC server, all in one process, at the real time.
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ByteWriter, writeBytesField } from '#base';
import { silentLogger } from '#observability';
import { type ByteBudgets, createByteBudgets, startGrpcServer } from '#transport';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { until } from '../../../support/budget-time.ts';
import { cloudEvent } from '../../../support/http-client.ts';
import { type HttpWorld, startHttpWorld } from '../../../support/http-world.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';

/** The least that a node can be given. */
const UNSENT_BYTES = 32 * 1024 * 1024;
const CONNECTIONS = 3;
const EVENTS = 10_000;
const DATA = 'x'.repeat(600);
/** Of one stream between two looks: a slice takes some four of them, two seconds and more. */
const WINDOW_BYTES = 64 * 1024;
const ENOUGH_MS = 5_000;
const PAGES_ENOUGH_MS = 2_000;

const REQUEST = frame(requestFor('shop'));

function requestFor(database: string): Uint8Array {
  const writer = new ByteWriter(16);
  writeBytesField(writer, 1, Buffer.from(database));
  return writer.take();
}

/** One that reads a window, then nothing for a while, and so on. */
class SlowStream {
  readonly stream: ClientHttp2Stream;
  bytes = 0;

  constructor(session: ClientHttp2Session, method: string, pauseMs: number) {
    this.stream = slowStream(session, method, pauseMs, (count) => {
      this.bytes += count;
    });
  }
}

function slowStream(
  session: ClientHttp2Session,
  method: string,
  pauseMs: number,
  onBytes: (count: number) => void,
): ClientHttp2Stream {
  const path = `/cairn.v1.EventStore/${method}`;
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  let takenBytes = 0;
  stream.on('error', () => undefined);
  stream.on('data', (piece: Uint8Array) => {
    takenBytes += piece.length;
    onBytes(piece.length);
    if (takenBytes < WINDOW_BYTES) return;
    takenBytes = 0;
    stream.pause();
    setTimeout(() => stream.resume(), pauseMs);
  });
  stream.end(REQUEST);
  return stream;
}

function slowConnection(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: WINDOW_BYTES } });
  session.on('error', () => undefined);
  // Streams that are not read must not hold up the others of their connection.
  session.on('connect', () => session.setLocalWindowSize(2 ** 30));
  return session;
}

describe.each([
  // A page of the log is as large as its one transaction, and waits for room.
  { eventsPerTransaction: 1_000, waits: true, streamCount: 150, pauseMs: 600 },
  // All of them get on.
  { eventsPerTransaction: 20, waits: false, streamCount: 50, pauseMs: 3_000 },
])('hundreds of readers that are slow but move, with $eventsPerTransaction events a transaction', (variant) => {
  const { eventsPerTransaction, waits, streamCount, pauseMs } = variant;
  let world: HttpWorld;
  let budgets: ByteBudgets;
  let port: number;
  let stop: () => Promise<void>;
  let streams: readonly SlowStream[];

  beforeAll(async () => {
    budgets = createByteBudgets({ requestBytesMax: 2 ** 30, unsentBytesMax: UNSENT_BYTES });
    world = await startHttpWorld({ budgets, holdsWaits: false });
    await world.client.create('shop');
    for (let n = 0; n < EVENTS / eventsPerTransaction; n++) {
      const transactionId = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
      const events = Array.from({ length: eventsPerTransaction }, (_, k) => cloudEvent(`e${n}-${k}`, { data: DATA }));
      await world.client.post('/databases/shop/events', { transaction_id: transactionId, events });
    }
    const { service, metrics } = world;
    const shared = { service, metrics, logger: silentLogger, onFatal: () => undefined };
    const server = await startGrpcServer({ ...shared, host: '127.0.0.1', port: 0, budgets });
    ({ port } = server);
    const sessions = Array.from({ length: CONNECTIONS }, () => slowConnection(port));
    stop = async () => {
      for (const session of sessions) session.destroy();
      await server.drain(0);
      await world[Symbol.asyncDispose]();
    };
    streams = sessions.flatMap((session) =>
      Array.from(
        { length: streamCount },
        (_, n) => new SlowStream(session, n % 2 === 0 ? 'QueryEvents' : 'ScanDatabaseLog', pauseMs),
      ),
    );
    if (waits) await until(() => budgets.unsent.waiting > streams.length / 2);
    else await until(() => streams.every(({ bytes }) => bytes >= WINDOW_BYTES));
  }, 60_000);

  afterAll(() => stop());

  it.each(['QueryEvents', 'ScanDatabaseLog'])(
    'leave time and room for a %s of all events (TM4)',
    async (method) => {
      const raw = new RawGrpc(port);
      const begunAt = performance.now();
      const reply = await raw.call({ path: `/cairn.v1.EventStore/${method}`, pieces: [REQUEST] });
      expect(performance.now() - begunAt).toBeLessThan(ENOUGH_MS);
      expect(reply.status).toBe(0);
      expect(reply.body.length).toBeGreaterThan(EVENTS * DATA.length);
      await raw.close();
    },
    60_000,
  );

  it('leave time and room for pages of HTTP (TM4)', async () => {
    const begunAt = performance.now();
    for (let n = 0; n < 5; n++) {
      const answer = await world.client.get(n === 0 ? '/databases/shop/events' : '/databases/shop/events?limit=1');
      expect(answer.status).toBe(200);
    }
    expect(performance.now() - begunAt).toBeLessThan(PAGES_ENOUGH_MS);
  }, 60_000);

  it('are neither cut off nor passed over', async () => {
    const before = streams.map(({ bytes }) => bytes);
    // Those that wait get on by and by.
    const getOn = (): boolean => streams.every(({ bytes }, n) => bytes > (before[n] ?? 0));
    await until(waits ? () => budgets.unsent.waiting > 0 : getOn);
    expect(streams.filter(({ stream }) => stream.destroyed)).toEqual([]);
  }, 20_000);
});
