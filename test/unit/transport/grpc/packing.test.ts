// Goal: long messages are compressed for clients that accept gzip, and a call that ends meanwhile ends once (T1, TM1).
// Method: replies of given lengths; calls that end during a compression.
import { constants } from 'node:http2';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SliceWriter } from '../../../../src/transport/grpc/slice-writer.ts';
import type { Call } from '../../../../src/transport/grpc/wire/call.ts';
import { FRAME_HEADER_BYTES, frame } from '../../../../src/transport/grpc/wire/framing.ts';
import type { Method } from '../../../../src/transport/grpc/wire/method.ts';
import { until } from '../../../support/budget-time.ts';
import { holdThreadPool } from '../../../support/held-threads.ts';
import { RawGrpc, type RawReply, replyOn } from '../../../support/raw-grpc.ts';
import { startWireServer, type WireFixture } from '../../../support/wire-server.ts';

const MIN = 4096;
const GZIP = { 'grpc-accept-encoding': 'gzip' };
const HELLO = frame(Buffer.from('hello'));

const text = (bytes: number): Buffer => Buffer.alloc(bytes, '{"name":"an event","value":[1,2,3]}');
function noise(bytes: number): Buffer {
  let state = 1;
  return Buffer.from(Array.from({ length: bytes }, () => (state = (state * 48_271) % 0x7fffffff) & 0xff));
}

let fixture: WireFixture;
let raw: RawGrpc;
let calls: Call[];
let slices: readonly (readonly Buffer[])[];

function methods(): readonly Method[] {
  const service = 'test.Service';
  return [
    { kind: 'unary', service, name: 'Wait', handle: (call) => void calls.push(call) },
    {
      kind: 'server_stream',
      service,
      name: 'Many',
      handle: async (call) => {
        using writer = new SliceWriter(call);
        call.begin();
        for (const slice of slices) await writer.write(Buffer.concat(slice.map(frame)), slice.length);
        await writer.flushed();
      },
    },
  ];
}

beforeEach(async () => {
  calls = [];
  slices = [];
  fixture = await startWireServer({ methods: methods(), gzipBytesMin: MIN });
  raw = new RawGrpc(fixture.port);
});

afterEach(async () => {
  raw.session.destroy();
  await fixture[Symbol.asyncDispose]();
});

async function answered(message: Buffer, headers: Record<string, string>): Promise<RawReply> {
  const count = calls.length;
  const answer = raw.call({ path: '/test.Service/Wait', pieces: [HELLO], headers });
  await until(() => calls.length > count);
  calls.at(-1)?.reply(frame(message));
  return answer;
}

interface Sent {
  readonly flag: number | undefined;
  readonly message: Buffer;
  readonly bytes: number;
}

function messagesIn(body: Buffer): readonly Sent[] {
  const found: Sent[] = [];
  for (let at = 0; at < body.length; ) {
    const bytes = body.readUInt32BE(at + 1);
    const sent = body.subarray(at + FRAME_HEADER_BYTES, at + FRAME_HEADER_BYTES + bytes);
    found.push({ flag: body[at], message: body[at] === 1 ? gunzipSync(sent) : sent, bytes });
    at += FRAME_HEADER_BYTES + bytes;
  }
  return found;
}

it.each([
  ['is short', text(MIN - 1)],
  ['does not become half as long', noise(3 * MIN)],
])('a unary reply that %s is sent uncompressed', async (_what, message) => {
  const reply = await answered(message, GZIP);
  expect(reply.headers['grpc-encoding']).toBe('identity');
  expect(messagesIn(reply.body)).toEqual([{ flag: 0, message, bytes: message.length }]);
});

it('a unary reply is sent uncompressed while two others are being compressed', async () => {
  const answers = ['a', 'b', 'c'].map(() => raw.call({ path: '/test.Service/Wait', pieces: [HELLO], headers: GZIP }));
  await until(() => calls.length === 3);
  for (const call of calls) call.reply(frame(text(100_000)));
  const encodings = (await Promise.all(answers)).map(({ headers }) => headers['grpc-encoding']);
  expect(encodings.map(String).toSorted()).toEqual(['gzip', 'gzip', 'identity']);
  const next = await answered(text(MIN), GZIP);
  expect(next.headers['grpc-encoding']).toBe('gzip');
});

it.each([
  ['is cancelled', 'CANCELLED', {}],
  ['loses its connection', 'CANCELLED', {}],
  ['has a deadline that passes', 'DEADLINE_EXCEEDED', { 'grpc-timeout': '50m' }],
])(
  'a call that ends while its reply is compressed keeps its memory until no thread uses it, and sends nothing: it %s (TM1)',
  async (how, code, more) => {
    const pool = await holdThreadPool();
    const reply = frame(text(100_000));
    const gone = new RawGrpc(fixture.port);
    const path = '/test.Service/Wait';
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', ...GZIP, ...more };
    const stream = gone.session.request(headers).on('error', () => undefined);
    const answer = replyOn(stream.end(HELLO));
    await until(() => calls.length === 1);
    calls[0]?.reply(reply);
    expect(calls[0]).toMatchObject({ answered: true, ended: false });
    if (how === 'is cancelled') stream.close(constants.NGHTTP2_CANCEL);
    if (how === 'loses its connection') gone.session.destroy();
    expect((await answer).body).toHaveLength(0);
    await until(() => fixture.ended.length === 1);
    expect([fixture.ended, fixture.budgets.unsent.used]).toEqual([[code], 2 * reply.length]);
    await pool.release();
    await until(() => fixture.budgets.unsent.used === 0);
    expect((await answered(text(MIN), GZIP)).headers['grpc-encoding']).toBe('gzip');
    expect(fixture.ended).toEqual([code, 'OK']);
    gone.session.destroy();
  },
);

const many = (headers: Record<string, string>): Promise<RawReply> =>
  raw.call({ path: '/test.Service/Many', pieces: [HELLO], headers });

it('a stream has each long message compressed, and the others not', async () => {
  slices = [[text(10), text(2 * MIN), text(11), noise(MIN), text(3 * MIN), text(12)], [text(13)], [text(4 * MIN)]];
  const reply = await many(GZIP);
  const messages = messagesIn(reply.body);
  expect(reply.headers['grpc-encoding']).toBe('gzip');
  expect(messages.map(({ message }) => message)).toEqual(slices.flat());
  expect(messages.map(({ flag }) => flag)).toEqual([0, 1, 0, 0, 1, 0, 0, 1]);
});
