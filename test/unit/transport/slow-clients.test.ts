// Goal: slow clients are cut off in time and do not block others (ADR 0015). Method: clients that send or read single
// bytes; the long file has crowds.
import { describe, expect, it } from 'vitest';
import { startHttpWorld } from '../../support/http-world.ts';
import { PREFACE } from '../../support/http2-frames.ts';
import {
  HALF_REQUEST,
  IDLE_GRPC,
  type Slow,
  sippedCall,
  startSlowClients,
  trickledCall,
} from '../../support/slow-clients.ts';
import { HELLO, type SmallService, startSmallService } from '../../support/small-service.ts';
import { startWireServer } from '../../support/wire-server.ts';

const MIB = 2 ** 20;

async function untilReset({ resetMs }: Slow, count: number, at: SmallService): Promise<void> {
  const reset = async (): Promise<number> => {
    expect((await at.raw.call({ path: '/test.Service/Echo', pieces: [HELLO] })).body).toEqual(Buffer.from(HELLO));
    return resetMs.length;
  };
  await expect.poll(reset, { interval: 50 }).toBe(count);
}

describe('calls of gRPC', () => {
  const count = 10;
  const statedMs = 600;

  it.each([
    ['whose request comes a byte at a time', { receiveMs: statedMs }, trickledCall('/test.Service/Echo')],
    [
      'whose reply is taken a byte at a time',
      { lingerMs: statedMs },
      sippedCall('/test.Service/Echo', Buffer.alloc(5_000)),
    ],
  ])('%s end in the given time, and others are answered meanwhile', async (_what, limits, asked) => {
    await using at = await startSmallService({ limits });
    const slow = startSlowClients({ port: at.port, count, ...asked });
    await untilReset(slow, count, at);
    expect(Math.min(...slow.resetMs)).toBeGreaterThan(statedMs / 2);
    expect([at.server.callCount, at.budgets.requests.used, at.budgets.unsent.used]).toEqual([0, 0, 0]);
  });

  it('whose headers arrive in single bytes end with their connection, which answers no ping', async () => {
    await using server = await startWireServer({ methods: [], limits: { pingEveryMs: 200, pingTimeoutMs: 200 } });
    // The frame header of 16,384 bytes of HEADERS that do not arrive.
    const begins = Buffer.concat([IDLE_GRPC, Buffer.from([0, 64, 0, 1, 4, 0, 0, 0, 1])]);
    const slow = startSlowClients({ port: server.port, count, begins, goesOn: 'x' });
    await expect.poll(() => slow.closedMs.length).toBe(count);
  });
});

it('an answer of HTTP is cut off when nothing of it was read in time (TM2)', async () => {
  // Far more than the kernel buffers for a client that does not read.
  const body = Buffer.alloc(32 * MIB, 'x');
  const askedMs: number[] = [];
  const handle = () => {
    askedMs.push(performance.now());
    return Promise.resolve({ status: 200, headers: {}, contentType: 'text/plain', body: Buffer.from(body) });
  };
  const answerMs = 1_000;
  await using world = await startHttpWorld({
    routes: [{ method: 'GET', path: '/health', handle }],
    answerMs,
  });
  const port = Number(new URL(world.server.address).port);
  startSlowClients({ port, count: 3, begins: `${HALF_REQUEST}\r\n`, reads: false });
  // A client that does not read notices it later; the server knows at once.
  const inflight = async (): Promise<string | undefined> =>
    /^cairn_inflight_requests\{plane="http"\} (\d+)$/m.exec((await world.metrics.render()).body)?.[1];
  await expect.poll(() => askedMs.length).toBe(3);
  expect((await world.client.get('/health')).text).toHaveLength(body.length);
  await expect.poll(inflight).toBe('0');
  expect(performance.now() - Number(askedMs[0])).toBeGreaterThan(answerMs);
});

it('clients with requests get the slots of gRPC, also when others have incomplete requests', async () => {
  await using server = await startWireServer({ methods: [], limits: { connectionsMax: 20 } });
  const idle = startSlowClients({ port: server.port, count: 20, begins: IDLE_GRPC });
  await idle.open;
  const openedMs = performance.now();
  await expect.poll(() => performance.now() - openedMs).toBeGreaterThan(1_000);
  const halves = startSlowClients({ port: server.port, count: 30, begins: PREFACE });
  await halves.open;
  await expect.poll(() => [idle.closedMs.length, halves.closedMs.length]).toEqual([20, 10]);
});
