// What requests and replies hold of the memory of a server is bounded, and released when it is needed (TM1, TM2, T8).
import { type ClientHttp2Stream, connect, constants } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { until } from '../../../support/budget-time.ts';
import { RawGrpc, type RawReply, replyOn } from '../../../support/raw-grpc.ts';
import { HELLO, packed, type SmallService, startSmallService } from '../../../support/small-service.ts';
import { PATIENCE_MS, type WireOptions } from '../../../support/wire-server.ts';

let at: SmallService;

afterEach(async () => at[Symbol.asyncDispose]());

describe('the memory of a server', () => {
  const WAIT = '/test.Service/Wait';
  const PART = new Uint8Array(30_000);

  async function start({ limits, ...bounds }: Omit<WireOptions, 'methods'>): Promise<void> {
    at = await startSmallService({ ...bounds, limits: { requestBytesMax: 1_000_000, ...limits } });
  }

  function halfSent(path = WAIT): ClientHttp2Stream {
    const stream = at.raw.session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    stream.on('error', () => undefined);
    stream.write(Buffer.concat([Uint8Array.of(0, 0, 15, 66, 64), PART]));
    return stream;
  }

  const NO_ROOM = { status: GRPC_STATUS.UNAVAILABLE, message: 'no room', resetCode: constants.NGHTTP2_NO_ERROR };

  it('takes no more of requests than it may hold, says so, and goes on when there is room again (TM1)', async () => {
    await start({ requests: 70_000 });
    const kept = [halfSent(), halfSent()];
    await until(() => at.budgets.requests.used > 60_000);
    expect(await replyOn(halfSent())).toMatchObject(NO_ROOM);
    expect(await replyOn(halfSent('/test.Service/Count'))).toMatchObject(NO_ROOM);
    expect(at.refused).toEqual(['overload', 'overload']);
    for (const stream of kept) stream.close();
    await until(() => kept.every((stream) => stream.destroyed));
    const answer = at.raw.call({ path: WAIT, pieces: [frame(PART)] });
    await until(() => at.waiting.length === 1);
    at.waiting[0]?.reply(HELLO);
    expect((await answer).status).toBe(GRPC_STATUS.OK);
  });

  it('gives up sooner what stands still for a connection whose requests come whole (TM2)', async () => {
    await start({ requests: 100_000 });
    const honest = new RawGrpc(at.port);
    const whole = honest.call({ path: '/test.Service/Echo', pieces: [frame(PART)] });
    expect((await whole).status).toBe(GRPC_STATUS.OK);
    const halves = [halfSent(), halfSent(), halfSent()];
    await until(() => at.budgets.requests.used > 90_000);
    const tolds = halves.map((stream) => replyOn(stream));
    at.time.advance(PATIENCE_MS / 8);
    expect(await replyOn(halfSent())).toMatchObject(NO_ROOM);
    // Enough of them for the request and its copy.
    expect((await honest.call({ path: '/test.Service/Echo', pieces: [frame(PART)] })).status).toBe(GRPC_STATUS.OK);
    expect(await Promise.all(tolds.slice(0, 2))).toMatchObject([NO_ROOM, NO_ROOM]);
    expect(halves[2]?.destroyed).toBe(false);
    // Whoever had to make way takes nothing from others before the whole patience.
    at.time.advance(PATIENCE_MS / 2);
    const again = [halfSent(), halfSent(), halfSent()];
    expect(await Promise.race(again.map((stream) => replyOn(stream)))).toMatchObject(NO_ROOM);
    expect(halves[2]?.destroyed).toBe(false);
    await honest.close();
    for (const stream of [...halves, ...again]) stream.close();
  });

  it('refuses a message that unpacks to more than a request may have, or than there is room for (T3)', async () => {
    await start({ requests: 40_000 });
    const headers = { 'grpc-encoding': 'gzip' };
    const [status, message] = [GRPC_STATUS.UNAVAILABLE, 'no room'];
    const unpacked = (bytes: number): Promise<RawReply> =>
      at.raw.call({ path: WAIT, pieces: [packed(gzipSync(new Uint8Array(bytes)))], headers });
    expect(await unpacked(500_000)).toMatchObject({ status, message });
    await at[Symbol.asyncDispose]();
    await start({});
    expect(await unpacked(1_000_001)).toMatchObject({ status: GRPC_STATUS.RESOURCE_EXHAUSTED });
    expect(at.waiting).toEqual([]);
  });

  it('gives up a large reply of which nothing is taken when another one needs the room (TM2)', async () => {
    await start({ unsent: 1_000_000 });
    const session = connect(`http://127.0.0.1:${at.port}`, { settings: { initialWindowSize: 0 } });
    session.on('error', () => undefined);
    const unread = session.request({ ':method': 'POST', ':path': WAIT, 'content-type': 'application/grpc' });
    unread.on('error', () => undefined);
    unread.end(HELLO);
    await until(() => at.waiting.length === 1);
    at.waiting[0]?.reply(frame(new Uint8Array(300_000)));
    const reply = async (bytes: number): Promise<RawReply> => {
      const answer = at.raw.call({ path: WAIT, pieces: [HELLO] });
      const count = at.waiting.length;
      await until(() => at.waiting.length > count);
      at.waiting.at(-1)?.reply(frame(new Uint8Array(bytes)));
      return answer;
    };
    at.time.advance(PATIENCE_MS / 4 - 1);
    expect(await reply(150_000)).toMatchObject({ status: GRPC_STATUS.UNAVAILABLE, message: 'no room' });
    at.time.advance(1);
    const { status, body } = await reply(150_000);
    expect([status, body.length]).toEqual([GRPC_STATUS.OK, 150_005]);
    await until(() => unread.closed);
    expect(unread.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
  });
});
