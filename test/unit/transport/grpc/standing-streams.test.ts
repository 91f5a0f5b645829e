// Goal: open streams stay within their budget and leave room for others (TM1, TM4). Method: many streams that stay
// open.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { narrowBufferPool } from '../../../../src/main/process/node-pools.ts';
import type { ByteBudgets } from '../../../../src/transport/byte-budgets.ts';
import type { Call } from '../../../../src/transport/grpc/wire/call.ts';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { until } from '../../../support/budget-time.ts';
import { frameOf, grpcHeaders, openFrames } from '../../../support/http2-frames.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';
import { startWireServer, type WireFixture } from '../../../support/wire-server.ts';

const STREAM_BYTES_MAX = 600_000;
/** Minimum memory of one stream in node:http2. With less, the budget would not limit anything. */
const STREAM_BYTES_MIN = 10_000;
const REQUEST_BYTES_MAX = 500_000;
const STREAMS = 100;
const REQUEST = frame(Buffer.from('hello'));
const REPLY = frame(new Uint8Array(500));
/** The first 10,000 bytes of a message of a million. */
const HALF = Buffer.concat([Uint8Array.of(0, 0, 15, 66, 64), new Uint8Array(10_000)]);

let fixture: WireFixture;
let budgets: ByteBudgets;
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
    ],
    requests: REQUEST_BYTES_MAX,
    streams: STREAM_BYTES_MAX,
    limits: { requestBytesMax: 1_000_000, streamsPerConnectionMax: 1_000 },
  });
  ({ budgets, port } = fixture);
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

async function fill(): Promise<readonly ClientHttp2Stream[]> {
  const streams = Array.from({ length: STREAMS }, () => ask('Read').end(REQUEST));
  await until(() => streams.some(isRefused));
  return streams;
}

it('open streams are limited by their memory, and release it (TM1)', async () => {
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

it('open streams count with the first bytes of incomplete requests (TM1)', async () => {
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

it('a request does not keep other bytes of its connection in memory (TM1)', async () => {
  const streams = 15;
  // The pool is small as in a node, and its remaining part is used up.
  narrowBufferPool();
  for (let n = 0; n < 20; n++) Buffer.allocUnsafe(4_000);
  // Frames of an unknown type, which are ignored (RFC 9113, section 4.1).
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
