// Goal: health and reflection use little memory for any requests, also when their answers are not read (T4, T8). They
// need no credential, so both reject a long message by its length (S3). Method: raw gRPC requests.
import { once } from 'node:events';
import { type IncomingHttpHeaders } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../../../proto/gen/grpc/health/v1/health.ts';
import {
  ServerReflectionRequest,
  ServerReflectionResponse,
} from '../../../../proto/gen/grpc/reflection/v1/reflection.ts';
import { REFLECTION_LIMITS } from '../../../../src/transport/grpc/reflection.ts';
import { FRAME_HEADER_BYTES, frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { until } from '../../../support/budget-time.ts';
import { type GrpcWorld, openStream, startGrpcWorld } from '../../../support/grpc-world.ts';
import { framed, RawGrpc, type RawReply, replyOn } from '../../../support/raw-grpc.ts';

const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const [OK, INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED, UNAVAILABLE] = [0, 3, 5, 8, 14];

const LOOK_MS = 500;

const GZIP = { 'grpc-encoding': 'gzip' };
const DESCRIBE = reflectionRequest('cairn.v1.EventStore');

function reflectionRequest(symbol: string): Uint8Array {
  const messageRequest = { $case: 'fileContainingSymbol', value: symbol } as const;
  return frame(ServerReflectionRequest.encode({ host: '', messageRequest }).finish());
}

/** The length of a message of 2,000 bytes that are not sent. */
const LONG_HEAD = frame(new Uint8Array(2_000)).subarray(0, FRAME_HEADER_BYTES);

function healthRequest(service: string): Uint8Array {
  return frame(HealthCheckRequest.encode({ service }).finish());
}

function messagesOf(body: Buffer): readonly Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + FRAME_HEADER_BYTES + body.readUInt32BE(at + 1);
    messages.push(body.subarray(at + FRAME_HEADER_BYTES, end));
    at = end;
  }
  return messages;
}

let at: GrpcWorld;

beforeAll(async () => {
  at = await startGrpcWorld();
});

afterAll(() => at[Symbol.asyncDispose]());

const check = (request: Uint8Array, method = 'Check', { raw } = at): Promise<RawReply> =>
  raw.call({ path: `/grpc.health.v1.Health/${method}`, pieces: [request] });

it.each([
  ['it has sent too many requests', Array.from({ length: 2_000 }, () => DESCRIBE), RESOURCE_EXHAUSTED],
  ['a request will be longer than any name', [LONG_HEAD], RESOURCE_EXHAUSTED],
  ['a request is longer than any name, unpacked', [framed(gzipSync(new Uint8Array(2_000)), 1)], RESOURCE_EXHAUSTED],
])('a stream of reflection ends when %s', async (_what, pieces, status) => {
  expect((await at.raw.call({ path: REFLECTION, headers: GZIP, pieces })).status).toBe(status);
});

it('a stream of reflection is rejected while the maximum number is open, and accepted again afterwards', async () => {
  const others = Array.from({ length: 4 }, () => new RawGrpc(at.port));
  const streams = others.flatMap(({ session }) =>
    Array.from({ length: REFLECTION_LIMITS.streamsMax / others.length }, () => openStream(session, REFLECTION)),
  );
  // A call orders the streams of each connection before it.
  await Promise.all(
    others.map((raw) => raw.call({ path: '/grpc.health.v1.Health/Check', pieces: [healthRequest('')] })),
  );
  const ask = () => at.raw.call({ path: REFLECTION, pieces: [DESCRIBE] });
  expect((await ask()).status).toBe(RESOURCE_EXHAUSTED);
  for (const stream of streams) stream.close();
  await until(async () => (await ask()).status === OK);
  await Promise.all(others.map((raw) => raw.close()));
});

it('a stream of reflection answers its requests in order, compressed or not', async () => {
  const symbols = ['cairn.v1.Event', 'cairn.v1.EventStore', 'grpc.health.v1.Health'];
  const requests = symbols.map(reflectionRequest);
  const pieces = requests.map((request, index) =>
    index === 1 ? request : framed(gzipSync(request.subarray(FRAME_HEADER_BYTES)), 1),
  );
  const reply = await at.raw.call({ path: REFLECTION, headers: GZIP, pieces });
  expect(reply.status).toBe(OK);
  const asked = messagesOf(reply.body).map((message) => {
    const { originalRequest } = ServerReflectionResponse.decode(message);
    return originalRequest?.messageRequest?.value;
  });
  expect(asked).toEqual(symbols);
});

it('a stream of reflection ends with UNAVAILABLE when the node drains', async () => {
  await using draining = await startGrpcWorld();
  const stream = openStream(draining.raw.session, REFLECTION);
  const reply = replyOn(stream);
  stream.write(DESCRIBE);
  await once(stream, 'data');
  await draining.server.drain(LOOK_MS);
  expect((await reply).status).toBe(UNAVAILABLE);
});

describe('health', () => {
  const LONG = healthRequest('x'.repeat(256));
  const TOO_LONG = /^(?!.*xx).*service must have at most 255 bytes; found 256/;
  const TOO_MUCH = /2000 bytes.* 1024/;
  const KNOWN = /"x{64}[^x].*known are "", "read", "write", "cairn\.v1\.EventStore"/;

  it.each<readonly [string, Uint8Array, string, readonly [number, RegExp]]>([
    ['a name that is too long', LONG, 'Check', [INVALID_ARGUMENT, TOO_LONG]],
    ['a name that is too long', LONG, 'Watch', [INVALID_ARGUMENT, TOO_LONG]],
    ['a message that will be too long', LONG_HEAD, 'Check', [RESOURCE_EXHAUSTED, TOO_MUCH]],
    ['a message that will be too long', LONG_HEAD, 'List', [RESOURCE_EXHAUSTED, TOO_MUCH]],
    ['a message that will be too long', LONG_HEAD, 'Watch', [RESOURCE_EXHAUSTED, TOO_MUCH]],
    ['an unknown name', healthRequest('x'.repeat(255)), 'Check', [NOT_FOUND, KNOWN]],
    [
      'an invalid request',
      frame(Uint8Array.of(0x0a, 0xff)),
      'Check',
      [INVALID_ARGUMENT, /HealthCheckRequest: the field at byte \d+ /],
    ],
    [
      'a name that is not UTF-8',
      frame(Uint8Array.of(0x0a, 2, 0x77, 0xff)),
      'Check',
      [INVALID_ARGUMENT, /well-formed UTF-8; found 0x77ff/],
    ],
  ])('rejects %s, and repeats little of it: %#', async (_what, request, method, [status, words]) => {
    const reply = await check(request, method);
    expect([reply.status, decodeURI(reply.message)]).toEqual([status, expect.stringMatching(words)]);
  });

  it.each([
    { name: 'read', told: [Serving.SERVING, Serving.NOT_SERVING] },
    { name: 'nothing', told: [Serving.SERVICE_UNKNOWN] },
  ])('reports every change to a client that watches "$name", until the node drains', async ({ name, told }) => {
    await using draining = await startGrpcWorld();
    const stream = openStream(draining.raw.session, '/grpc.health.v1.Health/Watch');
    const pieces: Buffer[] = [];
    let status: unknown;
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('trailers', (trailers: IncomingHttpHeaders) => {
      status = trailers['grpc-status'];
    });
    stream.end(healthRequest(name));
    await until(() => pieces.length > 0);
    draining.server.announceDrain();
    await draining.server.drain(LOOK_MS);
    await until(() => status !== undefined);
    const replies = messagesOf(Buffer.concat(pieces)).map((message) => HealthCheckResponse.decode(message).status);
    expect([replies, Number(status)]).toEqual([told, UNAVAILABLE]);
  });
});
