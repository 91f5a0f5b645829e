// Goal: streams of large events that open and are not read, on a few connections, do not hold up who reads one such
// event; readers that take a little again and again are not cut off for it (TM2, TM4). Method: raw HTTP/2 streams
// against the gRPC server in one process, at the real time.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ByteWriter, writeBytesField } from '#base';
import { silentLogger } from '#observability';
import { type ByteBudgets, createByteBudgets, startGrpcServer } from '#transport';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { until } from '../../../support/budget-time.ts';
import { cloudEvent } from '../../../support/http-client.ts';
import { type HttpWorld, startHttpWorld } from '../../../support/http-world.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';

/** Room for 23 events, and for 7 in the reserve. */
const UNSENT_BYTES = 32 * 1024 * 1024;
const EVENTS = 20;
const DATA = 'x'.repeat(990_000);
const PATIENCE_MS = 20_000;
/** A quarter of the patience passes before anybody is taken to stand still, and a busy machine takes as long again. */
const ENOUGH_MS = 18_000;
const CONNECTIONS = 12;
const STREAMS = 8;
/** What a steady reader takes at a time: 20 s for an event. */
const SIP_BYTES = 50_000;
const SIP_MS = 1_000;
const SIPS = 6;

const REQUEST = requestFor('shop');

function requestFor(database: string): Uint8Array {
  const writer = new ByteWriter(16);
  writeBytesField(writer, 1, Buffer.from(database));
  return frame(writer.take());
}

interface Reader {
  readonly stream: ClientHttp2Stream;
  bytes: number;
}

/** Reads nothing, or a little at a time. */
function open(session: ClientHttp2Session, isSteady: boolean): Reader {
  const path = '/cairn.v1.EventStore/QueryEvents';
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  const reader: Reader = { stream, bytes: 0 };
  stream.on('error', () => undefined);
  stream.end(REQUEST);
  stream.pause();
  if (!isSteady) return reader;
  let left = SIP_BYTES;
  stream.on('data', (piece: Uint8Array) => {
    reader.bytes += piece.length;
    left -= piece.length;
    if (left > 0) return;
    stream.pause();
    left = SIP_BYTES;
    setTimeout(() => stream.resume(), SIP_MS);
  });
  stream.resume();
  return reader;
}

function connectionTo(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  // Streams that are not read must not hold up the others of their connection.
  session.on('connect', () => session.setLocalWindowSize(2 ** 30));
  return session;
}

describe('streams of large events', () => {
  let world: HttpWorld;
  let budgets: ByteBudgets;
  let port: number;
  let stop: () => Promise<void>;
  let steady: readonly Reader[];
  let unread: readonly Reader[];

  beforeAll(async () => {
    budgets = createByteBudgets({ requestBytesMax: 2 ** 30, unsentBytesMax: UNSENT_BYTES, patienceMs: PATIENCE_MS });
    world = await startHttpWorld({ budgets, holdsWaits: false });
    await world.client.create('shop');
    for (let n = 0; n < EVENTS; n++) {
      const transactionId = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
      const events = [cloudEvent(`e${n}`, { data: DATA })];
      await world.client.post('/databases/shop/events', { transaction_id: transactionId, events });
    }
    const { service, metrics } = world;
    const shared = { service, metrics, logger: silentLogger, onFatal: () => undefined };
    const server = await startGrpcServer({ ...shared, host: '127.0.0.1', port: 0, budgets });
    ({ port } = server);
    const sessions = Array.from({ length: CONNECTIONS }, () => connectionTo(port));
    stop = async () => {
      for (const session of sessions) session.destroy();
      await server.drain(0);
      await world[Symbol.asyncDispose]();
    };
    steady = sessions.slice(0, 1).flatMap((session) => Array.from({ length: 4 }, () => open(session, true)));
    await until(() => steady.every(({ bytes }) => bytes > 0));
    unread = sessions.slice(1).flatMap((session) => Array.from({ length: STREAMS }, () => open(session, false)));
    await until(() => budgets.unsent.waiting > unread.length / 2);
  }, 60_000);

  afterAll(() => stop());

  it('that nobody reads make way for who reads one, on a connection that has nothing (TM4)', async () => {
    const raw = new RawGrpc(port);
    const begunAt = performance.now();
    const reply = await raw.call({ path: '/cairn.v1.EventStore/QueryEvents', pieces: [REQUEST] });
    expect(performance.now() - begunAt).toBeLessThan(ENOUGH_MS);
    expect(reply.status).toBe(0);
    expect(reply.body.length).toBeGreaterThan(EVENTS * DATA.length);
    await raw.close();
    const cut = unread.filter(({ stream }) => stream.destroyed);
    for (const { stream } of cut) expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }, 60_000);

  it('that are read a little at a time are not cut off for others that wait (TM2)', async () => {
    const before = steady.map(({ bytes }) => bytes);
    await until(() =>
      steady.every(({ bytes, stream }, n) => stream.destroyed || bytes >= (before[n] ?? 0) + SIPS * SIP_BYTES),
    );
    expect(steady.filter(({ stream }) => stream.destroyed)).toEqual([]);
    expect(budgets.unsent.waiting).toBeGreaterThan(0);
  }, 60_000);
});
