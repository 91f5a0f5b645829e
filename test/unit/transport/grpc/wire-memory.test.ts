// Goal: what requests and replies hold of the memory of a server is bounded, and given up when it is (TM1, TM2, T8).
// Method: a server of a few small methods with little room, driven by a client that sends any bytes.
import { type ClientHttp2Stream, constants } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { until } from '../../../support/budget-time.ts';
import { HELLO, packed, type SmallService, startSmallService } from '../../../support/small-service.ts';
import type { WireOptions } from '../../../support/wire-server.ts';

let at: SmallService;

afterEach(async () => at[Symbol.asyncDispose]());

describe('the memory of a server', () => {
  const WAIT = '/test.Service/Wait';
  /** Large enough to be counted. */
  const PART = new Uint8Array(30_000);

  async function start({ limits, ...bounds }: Omit<WireOptions, 'methods'>): Promise<void> {
    at = await startSmallService({ ...bounds, limits: { requestBytesMax: 1_000_000, ...limits } });
  }

  /** A call whose message of a million bytes begins to arrive. */
  function halfSent(): ClientHttp2Stream {
    const stream = at.raw.session.request({ ':method': 'POST', ':path': WAIT, 'content-type': 'application/grpc' });
    stream.on('error', () => undefined);
    stream.write(Buffer.concat([Uint8Array.of(0, 0, 15, 66, 64), PART]));
    return stream;
  }

  function closed(stream: ClientHttp2Stream): Promise<void> {
    return new Promise((resolve) => stream.once('close', resolve));
  }

  it('takes no more of requests than it may hold, and goes on when there is room again (TM1)', async () => {
    await start({ requests: 70_000 });
    const kept = [halfSent(), halfSent()];
    const refused = halfSent();
    await closed(refused);
    expect(refused.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(at.refused).toEqual(['overload']);
    for (const stream of kept) stream.close();
    await until(() => kept.every((stream) => stream.destroyed));
    const answer = at.raw.call({ path: WAIT, pieces: [frame(PART)] });
    await until(() => at.waiting.length === 1);
    at.waiting[0]?.reply(HELLO);
    expect((await answer).status).toBe(GRPC_STATUS.OK);
  });

  it('gives up a request that arrives too slowly when another one needs the room (TM2)', async () => {
    await start({ requests: 40_000 });
    const slow = halfSent();
    await until(() => at.budgets.requests.used > 0);
    const early = halfSent();
    await closed(early);
    at.time.advance(60);
    expect(slow.destroyed).toBe(false);
    const other = halfSent();
    await closed(slow);
    expect(other.destroyed).toBe(false);
    other.close();
    expect(slow.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });

  it('refuses a message that unpacks to more than there is room for, without running it', async () => {
    await start({ requests: 40_000 });
    const headers = { 'grpc-encoding': 'gzip' };
    const reply = await at.raw.call({ path: WAIT, pieces: [packed(gzipSync(new Uint8Array(500_000)))], headers });
    expect(reply).toMatchObject({ status: GRPC_STATUS.UNAVAILABLE, message: 'no room' });
    expect(at.waiting).toEqual([]);
  });

  it('gives up a request that does not arrive, and a reply that is not taken (T8)', async () => {
    await start({ limits: { receiveMs: 10, lingerMs: 10 } });
    const late = halfSent();
    await closed(late);
    expect(late.rstCode).toBe(constants.NGHTTP2_CANCEL);
    const unread = at.raw.session.request({ ':method': 'POST', ':path': WAIT, 'content-type': 'application/grpc' });
    unread.on('error', () => undefined);
    unread.end(HELLO);
    unread.pause();
    await until(() => at.waiting.length === 1);
    at.waiting[0]?.reply(frame(new Uint8Array(500_000)));
    await closed(unread);
    expect(unread.rstCode).toBe(constants.NGHTTP2_CANCEL);
  });

  it('does not send a large reply that there is no room for', async () => {
    await start({ unsent: 300_000 });
    const answer = at.raw.call({ path: WAIT, pieces: [HELLO] });
    await until(() => at.waiting.length === 1);
    at.waiting[0]?.reply(frame(new Uint8Array(200_000)));
    expect(await answer).toMatchObject({ status: GRPC_STATUS.UNAVAILABLE, message: 'no room' });
  });
});
