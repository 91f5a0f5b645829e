// Goal: streams whose readers do not read hold no more of the node than its budget, and make way for readers that do
// (T4, TM1, TM2). Method: raw HTTP/2 clients that pause, over a node in one thread, at a time that the test moves.
import { type ClientHttp2Stream, constants } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { ByteWriter, writeBytesField, writeVarintField } from '#base';
import { silentLogger } from '#observability';
import { type ByteBudgets, createByteBudgets, startGrpcServer } from '#transport';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { ManualTime, until } from '../../../support/budget-time.ts';
import { cloudEvent } from '../../../support/http-client.ts';
import { startHttpWorld } from '../../../support/http-world.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';

const UNSENT_BYTES = 3_000_000;
const EVENT_COUNT = 30;
const PATIENCE_MS = 10_000;
/** So many turns of the event loop has a reader that reads. */
const STEPS_PER_PATIENCE = 2_000;
const DATA = 'x'.repeat(200_000);

interface GrpcWorld extends AsyncDisposable {
  readonly budgets: ByteBudgets;
  readonly time: ManualTime;
  readonly raw: RawGrpc;
  readonly port: number;
}

async function startGrpcWorld(): Promise<GrpcWorld> {
  const world = await startHttpWorld();
  await world.client.create('shop');
  for (let n = 0; n < EVENT_COUNT; n++) {
    const transactionId = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    const events = [cloudEvent(`e${n}`, { data: DATA })];
    await world.client.post('/databases/shop/events', { transaction_id: transactionId, events });
  }
  const time = new ManualTime();
  const budgets = createByteBudgets({
    requestBytesMax: 2 ** 30,
    unsentBytesMax: UNSENT_BYTES,
    patienceMs: PATIENCE_MS,
    time,
  });
  const { service, metrics } = world;
  const shared = { service, metrics, logger: silentLogger, onFatal: () => undefined };
  const server = await startGrpcServer({ ...shared, host: '127.0.0.1', port: 0, budgets });
  const raw = new RawGrpc(server.port);
  return {
    budgets,
    time,
    raw,
    port: server.port,
    [Symbol.asyncDispose]: async () => {
      raw.session.destroy();
      await server.drain(0);
      await world[Symbol.asyncDispose]();
    },
  };
}

function request(method: string): Uint8Array {
  const writer = new ByteWriter(16);
  writeBytesField(writer, 1, Buffer.from('shop'));
  if (method === 'SubscribeEvents') writeVarintField(writer, 4, 60_000);
  return frame(writer.take());
}

/** A stream that is opened and not read. */
function unread(raw: RawGrpc, method: string): ClientHttp2Stream {
  const path = `/cairn.v1.EventStore/${method}`;
  const stream = raw.session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  stream.on('error', () => undefined);
  stream.pause();
  stream.end(request(method));
  return stream;
}

describe.each(['QueryEvents', 'QueryEventBatches', 'ScanDatabaseLog', 'ScanLogBatches', 'SubscribeEvents'])(
  'unread streams of %s',
  (method) => {
    it('hold what the node may hold and no more', async () => {
      await using at = await startGrpcWorld();
      const streams = Array.from({ length: 20 }, () => unread(at.raw, method));
      await until(() => at.budgets.unsent.waiting > 0);
      expect(at.budgets.unsent.used).toBeGreaterThan(0);
      // The first slice of a stream may turn out larger than what was taken for it: two copies of half a megabyte.
      expect(at.budgets.unsent.used).toBeLessThan(2 * UNSENT_BYTES);
      for (const stream of streams) stream.destroy();
      await until(() => at.budgets.unsent.used === 0);
    });

    it('make way for a reader that reads, with a status that says why', async () => {
      await using at = await startGrpcWorld();
      // So many that each of them has something of the reserve, and nothing is left of it.
      const others = Array.from({ length: 4 }, () => new RawGrpc(at.port));
      const streams = others.flatMap((raw) => Array.from({ length: 5 }, () => unread(raw, method)));
      await until(() => at.budgets.unsent.waiting > 0);
      const reading = new RawGrpc(at.port);
      const query = { path: '/cairn.v1.EventStore/QueryEvents', pieces: [request('QueryEvents')] };
      let isOver = false;
      const answer = reading.call(query).finally(() => {
        isOver = true;
      });
      await until(() => {
        at.time.advance(PATIENCE_MS / STEPS_PER_PATIENCE);
        return isOver;
      });
      const reply = await answer;
      expect(reply.status).toBe(0);
      expect(reply.body.length).toBeGreaterThan(EVENT_COUNT * DATA.length);
      const cut = streams.filter((stream) => stream.destroyed);
      expect(cut.length).toBeGreaterThan(0);
      for (const { rstCode } of cut) expect(rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      for (const { session } of others) session.destroy();
      await reading.close();
    });
  },
);
