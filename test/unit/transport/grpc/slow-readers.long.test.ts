// Readers that read a little now and then do not hold up one that reads, and are not cut off (TM2, TM4): hundreds of
// streams at the real time. unsent.test.ts shows it with few at a manual time.
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { expect, it, onTestFinished } from 'vitest';
import { type ByteBudgets, createByteBudgets } from '#transport';
import { until } from '../../../support/budget-time.ts';
import { type Filling, openStream, readRequest, startGrpcWorld } from '../../../support/grpc-world.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';

const TEST_MS = 120_000;
/** The least that a node can be given. */
const UNSENT_BYTES = 32 * 1024 * 1024;
const REQUEST = readRequest('shop');
const pathOf = (method: string): string => `/cairn.v1.EventStore/${method}`;

interface Reader {
  readonly stream: ClientHttp2Stream;
  bytes: number;
}

/** Reads so many bytes, then nothing for a while, and so on. */
function sip(session: ClientHttp2Session, method: string, sipBytes: number, pauseMs: number): Reader {
  const reader: Reader = { stream: openStream(session, pathOf(method), REQUEST), bytes: 0 };
  const { stream } = reader;
  let left = sipBytes;
  stream.on('data', (piece: Uint8Array) => {
    reader.bytes += piece.length;
    left -= piece.length;
    if (left > 0) return;
    left = sipBytes;
    stream.pause();
    setTimeout(() => stream.resume(), pauseMs);
  });
  stream.resume();
  return reader;
}

async function start(filling: Filling, patienceMs: number, connections: number, initialWindowSize?: number) {
  const budgets: ByteBudgets = createByteBudgets({
    requestBytesMax: 2 ** 30,
    unsentBytesMax: UNSENT_BYTES,
    patienceMs,
  });
  const at = await startGrpcWorld({ shop: filling }, budgets);
  const settings = initialWindowSize === undefined ? {} : { initialWindowSize };
  const sessions = Array.from({ length: connections }, () => {
    const session = connect(`http://127.0.0.1:${at.port}`, { settings }).on('error', () => undefined);
    // Streams that are not read must not hold up the others of their connection.
    return session.on('connect', () => session.setLocalWindowSize(2 ** 30));
  });
  onTestFinished(async () => {
    for (const session of sessions) session.destroy();
    await at[Symbol.asyncDispose]();
  });
  return { at, budgets, sessions };
}

/** Reads everything on a connection of its own. */
async function readAll(port: number, method: string, bytes: number, enoughMs: number): Promise<void> {
  const raw = new RawGrpc(port);
  const beganMs = performance.now();
  const { status, body } = await raw.call({ path: pathOf(method), pieces: [REQUEST] });
  expect(performance.now() - beganMs).toBeLessThan(enoughMs);
  expect([status, body.length > bytes]).toEqual([0, true]);
  await raw.close();
}

it.each([
  // A page of the log is as large as its one transaction, and waits for room.
  { eventsEach: 1_000, waits: true, streams: 150, pauseMs: 600 },
  // All of them get on.
  { eventsEach: 20, waits: false, streams: 50, pauseMs: 3_000 },
])(
  'readers that are slow but move leave time and room for others, with $eventsEach events a transaction (TM4)',
  async ({ eventsEach, waits, streams, pauseMs }) => {
    const [events, data, window] = [10_000, 'x'.repeat(600), 64 * 1024];
    const filling = { transactions: events / eventsEach, eventsEach, data };
    const { at, budgets, sessions } = await start(filling, 10_000, 3, window);
    const readers = sessions.flatMap((session) =>
      Array.from({ length: streams }, (_, n) =>
        sip(session, n % 2 === 0 ? 'QueryEvents' : 'ScanDatabaseLog', window, pauseMs),
      ),
    );
    if (waits) await until(() => budgets.unsent.waiting > readers.length / 2);
    else await until(() => readers.every(({ bytes }) => bytes >= window));
    for (const method of ['QueryEvents', 'ScanDatabaseLog']) {
      await readAll(at.port, method, events * data.length, 5_000);
    }
    const beganMs = performance.now();
    for (const query of ['', '?limit=1', '?limit=1']) {
      expect((await at.world.client.get(`/databases/shop/events${query}`)).status).toBe(200);
    }
    expect(performance.now() - beganMs).toBeLessThan(2_000);
    const before = readers.map(({ bytes }) => bytes);
    const getOn = (): boolean => readers.every(({ bytes }, n) => bytes > (before[n] ?? 0));
    await until(waits ? () => budgets.unsent.waiting > 0 : getOn);
    expect(readers.filter(({ stream }) => stream.destroyed)).toEqual([]);
  },
  TEST_MS,
);
