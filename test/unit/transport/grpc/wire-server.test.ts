// Goal: the gRPC server keeps the protocol whatever a client sends, and every call ends exactly once (T1 to T4).
// Method: a server of four small methods, driven by a client that sends any bytes, and by the grpc-js client.

import { once } from 'node:events';
import { type ClientHttp2Stream, constants } from 'node:http2';
import { connect } from 'node:net';
import { deflateSync, gzipSync } from 'node:zlib';
import * as grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { type ByteBudgets, createByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import { statusOfFrame } from '../../../../src/transport/grpc/frame-status.ts';
import type { Call } from '../../../../src/transport/grpc/wire/call.ts';
import { FRAME_HEADER_BYTES, frame } from '../../../../src/transport/grpc/wire/framing.ts';
import type { Method } from '../../../../src/transport/grpc/wire/method.ts';
import type { MethodMeter } from '../../../../src/transport/grpc/wire/method-traits.ts';
import { WireServer } from '../../../../src/transport/grpc/wire/server.ts';
import { type CallStatus, GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { ManualTime, until } from '../../../support/budget-time.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';

const REQUEST_BYTES_MAX = 10_000;
const MESSAGE = Buffer.from('hello');
const FILL_CHUNKS = 200;
const FILL_CHUNK = new Uint8Array(64 * 1024);

const HELLO = frame(MESSAGE);
const TOO_LONG = new Uint8Array(REQUEST_BYTES_MAX + 1);
/** Says that it is compressed, and is not. */
const PACKED = packed(MESSAGE);
const BOMB = packed(gzipSync(new Uint8Array(5_000_000)));

/** A message in a frame that says it is compressed. */
function packed(message: Uint8Array): Uint8Array {
  const framed = frame(message);
  framed[0] = 1;
  return framed;
}

interface Refused {
  readonly what: string;
  readonly pieces: readonly Uint8Array[];
  readonly headers?: Record<string, string>;
  readonly status: number;
  readonly message: RegExp;
}

interface Fixture {
  readonly server: WireServer;
  readonly port: number;
  readonly raw: RawGrpc;
  readonly ended: string[];
  readonly waiting: Call[];
  /** Chunks that Fill has written. */
  readonly written: { readonly chunks: number };
  readonly budgets: ByteBudgets;
  readonly time: ManualTime;
}

function methodsOf(waiting: Call[], written: { chunks: number }): readonly Method[] {
  const service = 'test.Service';
  return [
    {
      kind: 'unary',
      service,
      name: 'Echo',
      handle: (call, message) => call.reply(frame(message)),
    },
    {
      kind: 'unary',
      service,
      name: 'Wait',
      handle: (call) => {
        waiting.push(call);
      },
    },
    {
      kind: 'unary',
      service,
      name: 'Await',
      waits: true,
      handle: (call) => {
        waiting.push(call);
      },
    },
    {
      kind: 'unary',
      service,
      name: 'Throw',
      handle: () => {
        throw new DatabaseError('not_found', 'Nothing is called "ü%"');
      },
    },
    {
      kind: 'server_stream',
      service,
      name: 'Count',
      handle: async (call, message) => {
        call.begin();
        for (let n = 0; n < Number(message.toString()); n++) {
          if (!call.write(frame(Buffer.from(String(n))), 1)) await call.drained();
          if (call.ended) return;
        }
      },
    },
    {
      kind: 'server_stream',
      service,
      name: 'Fill',
      handle: async (call) => {
        call.begin();
        for (let chunk = 0; chunk < FILL_CHUNKS; chunk++) {
          written.chunks++;
          if (!call.write(frame(FILL_CHUNK), 1)) await call.drained();
        }
      },
    },
    {
      kind: 'server_stream',
      service,
      name: 'Fail',
      handle: async (call) => {
        call.begin();
        call.write(frame(MESSAGE), 1);
        await call.drained();
        throw new DatabaseError('not_found', 'It went away');
      },
    },
  ];
}

function statusOf(failure: unknown): CallStatus {
  if (!(failure instanceof DatabaseError)) throw failure;
  return { code: 'NOT_FOUND', message: failure.message };
}

interface Bounds {
  readonly callsMax?: number;
  readonly requestBytesMax?: number;
  /** Bytes of all requests, and of all replies. */
  readonly requests?: number;
  readonly unsent?: number;
  readonly receiveMs?: number;
  readonly lingerMs?: number;
}

const MUCH = 2 ** 30;

async function start(options: Bounds = {}): Promise<Fixture> {
  const ended: string[] = [];
  const waiting: Call[] = [];
  const written = { chunks: 0 };
  const meter: MethodMeter = {
    started: () => undefined,
    received: () => undefined,
    sent: () => undefined,
    ended: (code) => ended.push(code),
  };
  const time = new ManualTime();
  const budgets = createByteBudgets({
    requestBytesMax: options.requests ?? MUCH,
    streamBytesMax: MUCH,
    unsentBytesMax: options.unsent ?? MUCH,
    patienceMs: 50,
    time,
  });
  const server = new WireServer({
    methods: methodsOf(waiting, written),
    meterOf: () => meter,
    onRefused: (why) => ended.push(why),
    statusOf,
    ...budgets,
    refusals: {
      draining: { code: 'UNAVAILABLE', message: 'draining' },
      tooManyCalls: () => ({ code: 'RESOURCE_EXHAUSTED', message: 'too many calls' }),
      displaced: () => ({ code: 'RESOURCE_EXHAUSTED', message: 'displaced' }),
      noRoom: { code: 'UNAVAILABLE', message: 'no room' },
      malformed: statusOfFrame,
    },
    limits: {
      requestBytesMax: options.requestBytesMax ?? REQUEST_BYTES_MAX,
      streamsPerConnectionMax: 100,
      streamsAtFirst: 100,
      callsMax: { waiting: 1000, reading: 1000, working: options.callsMax ?? 1000 },
      pingEveryMs: 60_000,
      pingTimeoutMs: 20_000,
      receiveMs: options.receiveMs ?? 60_000,
      lingerMs: options.lingerMs ?? 60_000,
    },
  });
  const port = await server.listen({ host: '127.0.0.1', port: 0 });
  return { server, port, raw: new RawGrpc(port), ended, waiting, written, budgets, time };
}

let at: Fixture;

beforeEach(async () => {
  at = await start();
});

afterEach(async () => {
  await at.raw.close();
  await at.server.drain(0);
});

describe('unary calls', () => {
  it('answers a message with a message and OK', async () => {
    const reply = await at.raw.call({ path: '/test.Service/Echo', pieces: [frame(MESSAGE)] });
    expect(reply.headers).toMatchObject({ ':status': 200, 'content-type': 'application/grpc+proto' });
    expect(reply.body).toEqual(Buffer.from(frame(MESSAGE)));
    expect(reply.trailers['grpc-status']).toBe('0');
    expect(at.ended).toEqual(['OK']);
  });

  it('reads a message that comes one byte at a time (T2)', async () => {
    const pieces = [...frame(MESSAGE)].map((byte) => Uint8Array.of(byte));
    const reply = await at.raw.call({ path: '/test.Service/Echo', pieces });
    expect(reply.body.subarray(FRAME_HEADER_BYTES)).toEqual(MESSAGE);
  });

  it('turns what a handler throws into the status of the call, percent-encoded', async () => {
    const reply = await at.raw.call({ path: '/test.Service/Throw', pieces: [frame(MESSAGE)] });
    expect(reply.headers['grpc-message']).toMatch(/^[\x20-\x7e]+$/);
    expect(reply.message).toBe('Nothing is called "ü%"');
    expect(reply.status).toBe(GRPC_STATUS.NOT_FOUND);
  });

  it('answers a grpc-js client', async () => {
    const client = new grpc.Client(`127.0.0.1:${at.port}`, grpc.credentials.createInsecure());
    const same = (bytes: Buffer): Buffer => bytes;
    const reply = await new Promise((resolve, reject) => {
      client.makeUnaryRequest('/test.Service/Echo', same, same, MESSAGE, (error, value) =>
        error === null ? resolve(value) : reject(error),
      );
    });
    client.close();
    expect(reply).toEqual(MESSAGE);
  });
});

describe('requests that are none (T2, T3)', () => {
  const GZIP = { 'grpc-encoding': 'gzip' };
  const { INTERNAL, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED } = GRPC_STATUS;

  // What they are answered with is in test/spec/grpc-frames.test.ts; that they hurt nobody else is here.
  it.each<Refused>([
    { what: 'no message', pieces: [], status: UNIMPLEMENTED, message: /without one/ },
    { what: 'two messages', pieces: [HELLO, HELLO], status: UNIMPLEMENTED, message: /a second one/ },
    {
      what: 'half a message',
      pieces: [HELLO.subarray(0, 7)],
      status: INVALID_ARGUMENT,
      message: /2 bytes into a message/,
    },
    {
      what: 'half a header',
      pieces: [Uint8Array.of(0, 0)],
      status: INVALID_ARGUMENT,
      message: /2 bytes into the five/,
    },
    { what: 'a long message', pieces: [frame(TOO_LONG)], status: RESOURCE_EXHAUSTED, message: /10001.* most 10000/ },
    { what: '4 GB', pieces: [Uint8Array.of(0, 255, 255, 255, 255)], status: RESOURCE_EXHAUSTED, message: /4294967295/ },
    { what: 'no gzip', pieces: [PACKED], headers: GZIP, status: INTERNAL, message: /incorrect header check/ },
    { what: 'brotli', pieces: [PACKED], headers: { 'grpc-encoding': 'br' }, status: UNIMPLEMENTED, message: /"br"/ },
    { what: 'a gzip bomb', pieces: [BOMB], headers: GZIP, status: RESOURCE_EXHAUSTED, message: /more than 10000/ },
    {
      what: 'a timeout without a unit',
      pieces: [HELLO],
      headers: { 'grpc-timeout': '5' },
      status: INVALID_ARGUMENT,
      message: /grpc-timeout must .* found 5/,
    },
  ])('refuses $what', async ({ pieces, headers = {}, status, message }) => {
    const reply = await at.raw.call({ path: '/test.Service/Echo', pieces, headers });
    expect(reply.status).toBe(status);
    expect(reply.message).toMatch(message);
    const after = await at.raw.call({ path: '/test.Service/Echo', pieces: [frame(MESSAGE)] });
    expect(after.status).toBe(GRPC_STATUS.OK);
  });

  it('refuses an unknown method', async () => {
    const reply = await at.raw.call({ path: '/test.Service/Nothing', pieces: [frame(MESSAGE)] });
    expect(reply.status).toBe(GRPC_STATUS.UNIMPLEMENTED);
    expect(reply.message).toContain('There is no method "/test.Service/Nothing"');
  });

  it('refuses what is not gRPC with 415', async () => {
    const reply = await at.raw.call({ path: '/test.Service/Echo', headers: { 'content-type': 'text/html' } });
    expect(reply.headers[':status']).toBe(415);
  });
});

describe('compression (T3)', () => {
  it.each([
    ['gzip', gzipSync(MESSAGE)],
    ['deflate', deflateSync(MESSAGE)],
  ])('reads %s', async (encoding, compressed) => {
    const headers = { 'grpc-encoding': encoding };
    const reply = await at.raw.call({ path: '/test.Service/Echo', pieces: [packed(compressed)], headers });
    expect(reply.body).toEqual(Buffer.from(frame(MESSAGE)));
  });
});

describe('the end of a call (T1)', () => {
  it.each(['0n', '1n', '0S'])('comes before the call is begun when no time is left: %s', async (timeout) => {
    const headers = { 'grpc-timeout': timeout };
    const reply = await at.raw.call({ path: '/test.Service/Wait', pieces: [frame(MESSAGE)], headers });
    expect(reply.status).toBe(GRPC_STATUS.DEADLINE_EXCEEDED);
    expect(at.waiting).toEqual([]);
  });

  it('comes at the deadline', async () => {
    const reply = await at.raw.call({
      path: '/test.Service/Wait',
      pieces: [frame(MESSAGE)],
      headers: { 'grpc-timeout': '200m' },
    });
    expect(reply.status).toBe(GRPC_STATUS.DEADLINE_EXCEEDED);
    expect(at.waiting[0]?.signal.aborted).toBe(true);
    at.waiting[0]?.reply(frame(MESSAGE));
    expect(at.ended).toEqual(['DEADLINE_EXCEEDED']);
  });

  it('comes when the client resets the stream, and aborts the signal', async () => {
    const stream = at.raw.session.request({
      ':method': 'POST',
      ':path': '/test.Service/Wait',
      'content-type': 'application/grpc',
    });
    stream.on('error', () => undefined);
    stream.end(frame(MESSAGE));
    await until(() => at.waiting.length === 1);
    const signals = at.waiting.map((call) => call.signal);
    expect(signals.map((signal) => signal.aborted)).toEqual([false]);
    stream.close(8);
    await until(() => signals.every((signal) => signal.aborted));
    expect(at.ended).toEqual(['CANCELLED']);
    expect(at.server.callCount).toBe(0);
  });

  it('comes with UNAVAILABLE for streams, and with their answer for unary calls, when the server drains', async () => {
    const answer = at.raw.call({ path: '/test.Service/Wait', pieces: [frame(MESSAGE)] });
    await until(() => at.waiting.length === 1);
    const drained = at.server.drain(10_000);
    at.waiting[0]?.reply(frame(MESSAGE));
    expect((await answer).status).toBe(GRPC_STATUS.OK);
    await drained;
    at = await start();
  });

  it('comes with UNAVAILABLE for calls that wait, too, when the server drains', async () => {
    const answer = at.raw.call({ path: '/test.Service/Await', pieces: [frame(MESSAGE)] });
    await until(() => at.waiting.length === 1);
    const beganMs = performance.now();
    await at.server.drain(60_000);
    expect(performance.now() - beganMs).toBeLessThan(10_000);
    expect(await answer).toMatchObject({ status: GRPC_STATUS.UNAVAILABLE, message: 'draining' });
    at = await start();
  });

  it('does not keep a server from closing whose clients do nothing any more', async () => {
    // It asks for nothing, and will not close what it is asked to close.
    const frozen = connect({ host: '127.0.0.1', port: at.port });
    frozen.on('error', () => undefined);
    frozen.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
    await once(frozen, 'readable');
    await at.raw.close();
    const beganMs = performance.now();
    await at.server.drain(100);
    expect(performance.now() - beganMs).toBeLessThan(10_000);
    frozen.destroy();
    at = await start();
  });

  it('comes with the end of the connection for whatever a drained server cannot end in time', async () => {
    const unread = at.raw.session.request({
      ':method': 'POST',
      ':path': '/test.Service/Fill',
      'content-type': 'application/grpc',
    });
    unread.on('error', () => undefined);
    unread.pause();
    unread.end(frame(MESSAGE));
    const unanswered = at.raw.call({ path: '/test.Service/Wait', pieces: [frame(MESSAGE)] }).catch(() => 'lost');
    await until(() => at.written.chunks > 0 && at.waiting.length === 1);
    const lost = new Promise((resolve) => at.raw.session.on('close', resolve));
    await at.server.drain(200);
    await Promise.all([lost, unanswered]);
    expect(at.server.callCount).toBe(0);
    at = await start();
  });

  it('comes with the end of the connection on which a thousand calls were cancelled in a burst', async () => {
    const { session } = new RawGrpc(at.port);
    let goAway = 0;
    session.on('goaway', (code) => {
      goAway = code;
    });
    await new Promise((resolve) => session.once('connect', resolve));
    const headers = { ':method': 'POST', ':path': '/test.Service/Wait', 'content-type': 'application/grpc' };
    let cancelled = 0;
    for (; cancelled < 3_000 && !session.destroyed; cancelled += 50) {
      const streams = Array.from({ length: 50 }, () => session.request(headers).on('error', () => undefined));
      for (const stream of streams) stream.end(frame(MESSAGE));
      await until(() => session.destroyed || at.waiting.length === cancelled + 50);
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
    }
    expect([cancelled > 1_000, cancelled < 3_000, goAway]).toEqual([true, true, constants.NGHTTP2_INTERNAL_ERROR]);
    const other = await at.raw.call({ path: '/test.Service/Echo', pieces: [frame(MESSAGE)] });
    expect(other.status).toBe(0);
  });

  it('comes at once when too many calls are in flight', async () => {
    await at.raw.close();
    await at.server.drain(0);
    at = await start({ callsMax: 2 });
    const first = at.raw.call({ path: '/test.Service/Wait', pieces: [frame(MESSAGE)] });
    await until(() => at.waiting.length === 1);
    const second = await at.raw.call({ path: '/test.Service/Wait', pieces: [frame(MESSAGE)] });
    expect(second.status).toBe(GRPC_STATUS.RESOURCE_EXHAUSTED);
    expect(at.ended).toEqual(['overload', 'RESOURCE_EXHAUSTED']);
    at.waiting[0]?.reply(frame(MESSAGE));
    expect((await first).status).toBe(GRPC_STATUS.OK);
  });
});

describe('streams', () => {
  it('sends every message in order and ends with OK', async () => {
    const reply = await at.raw.call({ path: '/test.Service/Count', pieces: [frame(Buffer.from('2000'))] });
    expect(reply.status).toBe(GRPC_STATUS.OK);
    const expected = Buffer.concat(Array.from({ length: 2000 }, (_, n) => frame(Buffer.from(String(n)))));
    expect(reply.body.equals(expected)).toBe(true);
  });

  it('ends with the status of a failure after the messages before it', async () => {
    const reply = await at.raw.call({ path: '/test.Service/Fail', pieces: [frame(MESSAGE)] });
    expect(reply.body).toEqual(Buffer.from(frame(MESSAGE)));
    expect(reply).toMatchObject({ status: GRPC_STATUS.NOT_FOUND, message: 'It went away' });
  });

  it('stops writing when its reader does not read, and goes on when it does (T4)', async () => {
    const stream = at.raw.session.request({
      ':method': 'POST',
      ':path': '/test.Service/Fill',
      'content-type': 'application/grpc',
    });
    stream.pause();
    stream.end(frame(MESSAGE));
    await until(() => at.written.chunks > 0);
    const other = await at.raw.call({ path: '/test.Service/Echo', pieces: [frame(MESSAGE)] });
    expect(other.status).toBe(GRPC_STATUS.OK);
    expect(at.written.chunks).toBeLessThan(FILL_CHUNKS / 10);
    expect(at.ended).toEqual(['OK']);
    let received = 0;
    stream.on('data', (piece: Buffer) => {
      received += piece.length;
    });
    stream.resume();
    await new Promise((resolve) => stream.on('close', resolve));
    expect(received).toBe(FILL_CHUNKS * (FILL_CHUNK.length + FRAME_HEADER_BYTES));
    expect(at.ended).toEqual(['OK', 'OK']);
  });
});

describe('the memory of a server', () => {
  const WAIT = '/test.Service/Wait';
  /** Large enough to be counted. */
  const PART = new Uint8Array(30_000);

  async function restart(bounds: Bounds): Promise<void> {
    await at.raw.close();
    await at.server.drain(0);
    at = await start({ requestBytesMax: 1_000_000, ...bounds });
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
    await restart({ requests: 70_000 });
    const kept = [halfSent(), halfSent()];
    const refused = halfSent();
    await closed(refused);
    expect(refused.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(at.ended).toEqual(['overload']);
    for (const stream of kept) stream.close();
    await until(() => kept.every((stream) => stream.destroyed));
    const answer = at.raw.call({ path: WAIT, pieces: [frame(PART)] });
    await until(() => at.waiting.length === 1);
    at.waiting[0]?.reply(HELLO);
    expect((await answer).status).toBe(GRPC_STATUS.OK);
  });

  it('gives up a request that arrives too slowly when another one needs the room (TM2)', async () => {
    await restart({ requests: 40_000 });
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
    await restart({ requests: 40_000 });
    const headers = { 'grpc-encoding': 'gzip' };
    const reply = await at.raw.call({ path: WAIT, pieces: [packed(gzipSync(new Uint8Array(500_000)))], headers });
    expect(reply).toMatchObject({ status: GRPC_STATUS.UNAVAILABLE, message: 'no room' });
    expect(at.waiting).toEqual([]);
  });

  it('gives up a request that does not arrive, and a reply that is not taken (T8)', async () => {
    await restart({ receiveMs: 10, lingerMs: 10 });
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
    await restart({ unsent: 300_000 });
    const answer = at.raw.call({ path: WAIT, pieces: [HELLO] });
    await until(() => at.waiting.length === 1);
    at.waiting[0]?.reply(frame(new Uint8Array(200_000)));
    expect(await answer).toMatchObject({ status: GRPC_STATUS.UNAVAILABLE, message: 'no room' });
  });
});
