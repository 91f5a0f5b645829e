// Goal: the memory of requests and replies in a server is limited, and released when it is needed (TM1, TM2, T8).
// Method: incomplete requests and unread replies with small budgets.
import { type ClientHttp2Stream, connect, constants } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { until } from '../../../support/budget-time.ts';
import { RawGrpc, type RawReply, replyOn } from '../../../support/raw-grpc.ts';
import { HELLO, packed, type SmallService, startSmallService } from '../../../support/small-service.ts';
import { STALL_MS, type WireOptions } from '../../../support/wire-server.ts';

let at: SmallService;

afterEach(async () => at[Symbol.asyncDispose]());

describe('the memory of a server', () => {
  const WAIT = '/test.Service/Wait';
  const PART = new Uint8Array(30_000);

  async function start({ limits, ...bounds }: Omit<WireOptions, 'methods'>): Promise<void> {
    at = await startSmallService({ ...bounds, limits: { requestBytesMax: 1_000_000, ...limits } });
  }

  function halfSent(path = WAIT, { session } = at.raw): ClientHttp2Stream {
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    stream.on('error', () => undefined);
    stream.write(Buffer.concat([Uint8Array.of(0, 0, 15, 66, 64), PART]));
    return stream;
  }

  const NO_ROOM = { status: GRPC_STATUS.UNAVAILABLE, message: 'no room', resetCode: constants.NGHTTP2_NO_ERROR };

  it('accepts requests only within its limit, rejects others with a reason, and accepts again when there is room (TM1)', async () => {
    await start({ requests: 130_000 });
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

  it('evicts a request without progress for another connection, but not for one that was evicted (TM2)', async () => {
    await start({ requests: 124_000 });
    const others = Array.from({ length: 5 }, () => new RawGrpc(at.port));
    const halves = others.slice(0, 3).map((raw) => halfSent(WAIT, raw));
    await until(() => at.budgets.requests.used > 90_000);
    const answers = halves.map((stream) => replyOn(stream));
    expect(await replyOn(halfSent(WAIT, others[3]))).toMatchObject(NO_ROOM);
    at.time.advance(STALL_MS / 4);
    const whole = { path: '/test.Service/Echo', pieces: [frame(PART)] };
    expect((await others[4]?.call(whole))?.status).toBe(GRPC_STATUS.OK);
    expect(await answers[0]).toMatchObject(NO_ROOM);
    expect(halves.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
    at.budgets.requests.of({}).takeAnyway(60_000, () => undefined);
    at.time.advance(STALL_MS / 2);
    expect(await replyOn(halfSent(WAIT, others[0]))).toMatchObject(NO_ROOM);
    expect(halves.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
    for (const { session } of others) session.destroy();
  });

  it('rejects a message that unpacks beyond the maximum of a request, or beyond the available memory (T3)', async () => {
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

  it('evicts a large unread reply when another one needs the memory (TM2)', async () => {
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
    at.time.advance(STALL_MS / 4 - 1);
    expect(await reply(150_000)).toMatchObject({ status: GRPC_STATUS.UNAVAILABLE, message: 'no room' });
    at.time.advance(1);
    const { status, body } = await reply(150_000);
    expect([status, body.length]).toEqual([GRPC_STATUS.OK, 150_005]);
    await until(() => unread.closed);
    expect(unread.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
  });
});
