// Open streams hold no more than the node allows, with the first bytes of their requests, and leave room for the
// streams of others (TM1, TM4): a server with room for a few, and clients that take no reply or end no request.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { narrowBufferPool } from '../../../../src/main/buffer-pool.ts';
import type { ByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import type { Call } from '../../../../src/transport/grpc/wire/call.ts';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { STREAM_BYTES } from '../../../../src/transport/grpc/wire/peer-stream.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { type ManualTime, until } from '../../../support/budget-time.ts';
import { frameOf, grpcHeaders, openFrames } from '../../../support/http2-frames.ts';
import { RawGrpc, type RawReply, replyOn } from '../../../support/raw-grpc.ts';
import { PATIENCE_MS, startWireServer, type WireFixture } from '../../../support/wire-server.ts';

const STREAM_BYTES_MAX = 600_000;
/** Of node:http2 and grpc-js for one stream: not less than this, or nothing would be bounded. */
const STREAM_BYTES_MIN = 10_000;
const REQUEST_BYTES_MAX = 500_000;
const STREAMS = 100;
const REQUEST = frame(Buffer.from('hello'));
const REPLY = frame(new Uint8Array(500));
/** The first 10,000 bytes of a message of a million. */
const HALF = Buffer.concat([Uint8Array.of(0, 0, 15, 66, 64), new Uint8Array(10_000)]);

let fixture: WireFixture;
let budgets: ByteBudgets;
let time: ManualTime;
let port: number;
let unread: ClientHttp2Session;
let other: RawGrpc;
let calls: Call[];

const nothing = (): void => undefined;

beforeEach(async () => {
  calls = [];
  const service = 'test.Service';
  fixture = await startWireServer({
    methods: [
      { kind: 'unary', service, name: 'Read', handle: (call) => call.reply(REPLY) },
      { kind: 'unary', service, name: 'Wait', handle: (call) => void calls.push(call) },
      { kind: 'unary', service, name: 'Probe', isProbe: true, handle: (call) => call.reply(REPLY) },
    ],
    requests: REQUEST_BYTES_MAX,
    streams: STREAM_BYTES_MAX,
    limits: { requestBytesMax: 1_000_000, streamsAtFirst: 1_000, streamsPerConnectionMax: 1_000 },
  });
  ({ budgets, time, port } = fixture);
  unread = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
  unread.on('error', nothing);
  other = new RawGrpc(port);
});

afterEach(async () => {
  unread.destroy();
  await other.close();
  await fixture[Symbol.asyncDispose]();
});

function ask(name: string): ClientHttp2Stream {
  const path = `/test.Service/${name}`;
  const stream = unread.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  stream.on('error', nothing);
  return stream;
}

const isRefused = ({ rstCode }: ClientHttp2Stream): boolean => rstCode === constants.NGHTTP2_REFUSED_STREAM;

/** Calls that nobody reads, until no more are let in. */
async function fill(): Promise<readonly ClientHttp2Stream[]> {
  const streams = Array.from({ length: STREAMS }, () => ask('Read').end(REQUEST));
  await until(() => streams.some(isRefused));
  return streams;
}

describe('streams that stand open', () => {
  it('are as many as there is room for, whatever they carry, and give it back (TM1)', async () => {
    const streams = await fill();
    const last = ask('Read').end(REQUEST);
    await until(() => isRefused(last));
    const standing = streams.filter((stream) => !isRefused(stream)).length;
    expect(standing).toBeGreaterThan(1);
    expect(standing).toBeLessThan(STREAM_BYTES_MAX / STREAM_BYTES_MIN);
    expect(budgets.streams.used).toBeLessThanOrEqual(STREAM_BYTES_MAX);
    expect(budgets.streams.used).toBeGreaterThan(standing * STREAM_BYTES_MIN);
    unread.destroy();
    await until(() => budgets.streams.used === 0);
  });

  it('leave room for those of another connection (TM4)', async () => {
    await fill();
    for (let n = 0; n < 20; n++) {
      const answer = await other.call({ path: '/test.Service/Read', pieces: [REQUEST] });
      expect(answer.status).toBe(GRPC_STATUS.OK);
    }
  });

  it('hold up no probe', async () => {
    await fill();
    while (budgets.streams.of({}).tryAdd(1_000));
    const answer = await other.call({ path: '/test.Service/Probe', pieces: [REQUEST] });
    expect(answer.status).toBe(GRPC_STATUS.OK);
  });

  it('hold nothing when their time is over before their request has ended (TM1)', async () => {
    const headers = { ':method': 'POST', ':path': '/test.Service/Wait', 'content-type': 'application/grpc' };
    const late = connect(`http://127.0.0.1:${port}`);
    late.on('error', nothing);
    const stream = late.request({ ...headers, 'grpc-timeout': '50m' });
    stream.on('error', nothing);
    let status: unknown;
    stream.on('response', (answer) => {
      status = answer['grpc-status'];
    });
    stream.write(HALF);
    await until(() => budgets.streams.used > 0);
    await until(() => status !== undefined);
    expect(status).toBe(String(GRPC_STATUS.DEADLINE_EXCEEDED));
    stream.resume();
    stream.write(new Uint8Array(50_000));
    await until(() => budgets.streams.used + budgets.requests.used === 0);
    expect(calls).toEqual([]);
    late.destroy();
  });

  it('are counted with the first bytes of requests that do not end (TM1)', async () => {
    const standing = (all: readonly ClientHttp2Stream[]): number => all.filter(({ closed }) => !closed).length;
    const wholeCount = standing(await fill());
    unread.destroy();
    await until(() => budgets.streams.used === 0);
    unread = connect(`http://127.0.0.1:${port}`);
    unread.on('error', nothing);
    const halves = Array.from({ length: STREAMS }, () => ask('Wait'));
    for (const stream of halves) stream.write(HALF);
    await until(() => halves.filter(({ closed }) => closed).length > STREAMS / 2);
    await until(() => budgets.streams.used > STREAM_BYTES_MAX / 3);
    expect(budgets.streams.used).toBeLessThanOrEqual(STREAM_BYTES_MAX);
    expect(standing(halves)).toBeLessThan(wholeCount);
  });
});

it('small requests that stand still make way for a connection that has less, and are told so (TM2, TM4)', async () => {
  const halves = Array.from({ length: 10 }, () => ask('Wait'));
  const told = halves.map((stream) => replyOn(stream).catch(() => undefined));
  for (const stream of halves) stream.write(HALF.subarray(0, 1_000));
  await until(() => budgets.streams.used >= 10 * (STREAM_BYTES + 1_000));
  // The first one moves, so that the second has stalled longest.
  time.advance(1);
  halves[0]?.write(new Uint8Array(1));
  await until(() => budgets.streams.used > 10 * (STREAM_BYTES + 1_000));
  while (budgets.streams.of({}).tryAdd(1_000));
  const read = (): Promise<RawReply> => other.call({ path: '/test.Service/Read', pieces: [REQUEST] });
  time.advance(PATIENCE_MS / 4 - 2);
  await expect(read()).rejects.toThrow('NGHTTP2_REFUSED_STREAM');
  time.advance(1);
  // Those of a connection make no room for itself.
  expect(await replyOn(ask('Read').end(REQUEST)).catch(() => 'refused')).toBe('refused');
  expect((await read()).status).toBe(GRPC_STATUS.OK);
  expect(await told[1]).toMatchObject({ status: GRPC_STATUS.UNAVAILABLE, message: 'no room' });
  expect(halves.filter(({ closed }) => !closed)).toHaveLength(9);
});

it('a request does not keep what came on its connection with it (TM1)', async () => {
  const streams = 15;
  // As in a node; what is left of the pool before is used up.
  narrowBufferPool();
  for (let n = 0; n < 20; n++) Buffer.allocUnsafe(4_000);
  // Of a type that nobody knows, and everybody ignores (RFC 9113, section 4.1).
  const junk = frameOf({ type: 0xee, flags: 0, stream: 0, payload: new Uint8Array(16_000) });
  const head = grpcHeaders('/test.Service/Wait');
  await using frames = await openFrames(port);
  const kept: number[] = [];
  const onStream = (message: unknown): void => {
    const stream: unknown = Reflect.get(Object(message), 'stream');
    if (stream instanceof Duplex) stream.on('data', (piece: Buffer) => kept.push(piece.buffer.byteLength));
  };
  subscribe('http2.server.stream.created', onStream);
  for (let n = 0; n < streams; n++) {
    const begun = frameOf({ type: 1, flags: 4, stream: 2 * n + 1, payload: head });
    const data = frameOf({ type: 0, flags: 0, stream: 2 * n + 1, payload: Buffer.of(0) });
    frames.write(Buffer.concat([begun, data, junk, junk, junk]));
    await until(() => kept.length > n);
  }
  unsubscribe('http2.server.stream.created', onStream);
  expect(Math.max(...kept)).toBeLessThan(20_000);
});
