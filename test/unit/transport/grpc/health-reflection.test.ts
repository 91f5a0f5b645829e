// Goal: health and reflection hold little of the node, whatever is asked of them and whoever does not read (T4, T8).
// Method: raw HTTP/2 clients that pause, or send long names, over a node in one thread.
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '#observability';
import { createByteBudgets, type GrpcServer, type GrpcServerOptions, startGrpcServer } from '#transport';
import {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthListResponse,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../../../src/transport/grpc/gen/grpc/health/v1/health.ts';
import { ServerReflectionRequest } from '../../../../src/transport/grpc/gen/grpc/reflection/v1/reflection.ts';
import { REFLECTION_LIMITS } from '../../../../src/transport/grpc/reflection.ts';
import { FRAME_HEADER_BYTES, frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { ManualTime, until } from '../../../support/budget-time.ts';
import { startHttpWorld } from '../../../support/http-world.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';

const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const OK = 0;
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const RESOURCE_EXHAUSTED = 8;
const UNAVAILABLE = 14;

const MUCH = 2 ** 30;
const STREAMS = 20;
/** Fewer than a stream may ask, each with a reply of some 13 KB: 130 MB for all streams. */
const REQUESTS_PER_STREAM = 500;
const HELD_BYTES_MAX = 20_000_000;
const LOOK_MS = 1_000;

const DESCRIBE = reflectionRequest('cairn.v1.EventStore');

interface World extends AsyncDisposable {
  readonly server: GrpcServer;
  readonly raw: RawGrpc;
}

async function start(limits: GrpcServerOptions['limits'] = {}): Promise<World> {
  const world = await startHttpWorld();
  const budgets = createByteBudgets({
    requestBytesMax: MUCH,
    unsentBytesMax: MUCH,
    patienceMs: 10_000,
    time: new ManualTime(),
  });
  const { service, metrics } = world;
  const shared = { service, metrics, logger: silentLogger, onFatal: () => undefined };
  const server = await startGrpcServer({ ...shared, host: '127.0.0.1', port: 0, budgets, limits });
  const raw = new RawGrpc(server.port);
  return {
    server,
    raw,
    [Symbol.asyncDispose]: async () => {
      raw.session.destroy();
      await server.drain(0);
      await world[Symbol.asyncDispose]();
    },
  };
}

function reflectionRequest(symbol: string): Uint8Array {
  const messageRequest = { $case: 'fileContainingSymbol', value: symbol } as const;
  return frame(ServerReflectionRequest.encode({ host: '', messageRequest }).finish());
}

function healthRequest(service: string): Uint8Array {
  return frame(HealthCheckRequest.encode({ service }).finish());
}

function open(raw: RawGrpc, path: string): ClientHttp2Stream {
  const stream = raw.session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  stream.on('error', () => undefined);
  return stream;
}

/** The messages of a body. */
function messagesOf(body: Buffer): readonly Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + FRAME_HEADER_BYTES + body.readUInt32BE(at + 1);
    messages.push(body.subarray(at + FRAME_HEADER_BYTES, end));
    at = end;
  }
  return messages;
}

describe('a stream of reflection', () => {
  it('holds one reply while its reader does not read, and goes on when it does', async () => {
    await using at = await start();
    const one = await at.raw.call({ path: REFLECTION, pieces: [DESCRIBE] });
    const before = process.memoryUsage().arrayBuffers;
    const requests = Buffer.concat(Array.from({ length: REQUESTS_PER_STREAM }, () => DESCRIBE));
    const streams = Array.from({ length: STREAMS }, () => open(at.raw, REFLECTION));
    for (const stream of streams) stream.pause().end(requests);
    let held = 0;
    const lookUntil = performance.now() + LOOK_MS;
    await until(() => {
      held = Math.max(held, process.memoryUsage().arrayBuffers - before);
      return performance.now() > lookUntil;
    });
    expect(held).toBeLessThan(HELD_BYTES_MAX);
    let taken = 0;
    const [first, ...others] = streams;
    // They share the window of the connection.
    for (const stream of others) stream.close();
    first?.on('data', (piece: Buffer) => {
      taken += piece.length;
    });
    first?.resume();
    await until(() => taken === REQUESTS_PER_STREAM * one.body.length);
  });

  it('ends when it has asked more than there is to ask', async () => {
    await using at = await start();
    const { status } = await at.raw.call({ path: REFLECTION, pieces: Array.from({ length: 2_000 }, () => DESCRIBE) });
    expect(status).toBe(RESOURCE_EXHAUSTED);
  });

  it('ends with a request that is longer than any name', async () => {
    await using at = await start();
    const { status } = await at.raw.call({ path: REFLECTION, pieces: [reflectionRequest('x'.repeat(2_000))] });
    expect(status).toBe(INVALID_ARGUMENT);
  });

  it('is refused while the most are open, and has its turn again afterwards', async () => {
    await using at = await start();
    const streams = Array.from({ length: REFLECTION_LIMITS.streamsMax }, () => open(at.raw, REFLECTION));
    const ask = () => at.raw.call({ path: REFLECTION, pieces: [DESCRIBE] });
    expect((await ask()).status).toBe(RESOURCE_EXHAUSTED);
    for (const stream of streams) stream.close();
    await until(async () => (await ask()).status === OK);
  });

  it('is gone after its time, also when its reader never reads (T8)', async () => {
    await using at = await start({ receiveMs: 10 });
    const stream = open(at.raw, REFLECTION);
    stream.pause().write(DESCRIBE);
    await until(() => stream.destroyed);
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  });
});

describe('health', () => {
  it.each(['Check', 'Watch'])('refuses a name that is too long, and does not repeat it, at %s', async (method) => {
    await using at = await start();
    const path = `/grpc.health.v1.Health/${method}`;
    const { status, message } = await at.raw.call({ path, pieces: [healthRequest('x'.repeat(500_000))] });
    expect(status).toBe(INVALID_ARGUMENT);
    expect(message).toContain('service must have at most 255 bytes; found 500000');
    expect(message).not.toContain('xx');
  });

  it('repeats the start of an unknown name', async () => {
    await using at = await start();
    const request = healthRequest('x'.repeat(255));
    const { status, message } = await at.raw.call({ path: '/grpc.health.v1.Health/Check', pieces: [request] });
    expect(status).toBe(NOT_FOUND);
    expect(message).toContain('x'.repeat(64));
    expect(message).not.toContain('x'.repeat(65));
    expect(message).toContain('known are "", "read", "write", "cairn.v1.EventStore"');
  });

  it('refuses what is no request', async () => {
    await using at = await start();
    const request = frame(Uint8Array.of(0x0a, 0xff));
    const { status, message } = await at.raw.call({ path: '/grpc.health.v1.Health/Check', pieces: [request] });
    expect(status).toBe(INVALID_ARGUMENT);
    expect(message).toMatch(/^The message is not a grpc\.health\.v1\.HealthCheckRequest at byte \d+: /);
  });

  it('refuses a name that is not UTF-8, and shows it', async () => {
    await using at = await start();
    const request = frame(Uint8Array.of(0x0a, 4, 0x77, 0x72, 0xff, 0x65));
    const { status, message } = await at.raw.call({ path: '/grpc.health.v1.Health/Check', pieces: [request] });
    expect(status).toBe(INVALID_ARGUMENT);
    expect(decodeURI(message)).toContain('service must be well-formed UTF-8; found "wr');
  });

  it('lists every name', async () => {
    await using at = await start();
    const request = frame(new Uint8Array(0));
    const { body } = await at.raw.call({ path: '/grpc.health.v1.Health/List', pieces: [request] });
    const { statuses } = HealthListResponse.decode(body.subarray(FRAME_HEADER_BYTES));
    expect(Object.keys(statuses).toSorted()).toEqual(['', 'cairn.v1.EventStore', 'read', 'write']);
    for (const { status } of Object.values(statuses)) expect(status).toBe(Serving.SERVING);
  });

  it.each([
    { name: 'read', told: [Serving.SERVING, Serving.NOT_SERVING] },
    { name: 'nothing', told: [Serving.SERVICE_UNKNOWN] },
  ])('tells who watches "$name" of every change, until the node drains', async ({ name, told }) => {
    await using at = await start();
    const stream = open(at.raw, '/grpc.health.v1.Health/Watch');
    const pieces: Buffer[] = [];
    let status: unknown;
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('trailers', (trailers: IncomingHttpHeaders) => {
      status = trailers['grpc-status'];
    });
    stream.end(healthRequest(name));
    await until(() => pieces.length > 0);
    at.server.announceDrain();
    await at.server.drain(LOOK_MS);
    await until(() => status !== undefined);
    const replies = messagesOf(Buffer.concat(pieces)).map((message) => HealthCheckResponse.decode(message).status);
    expect(replies).toEqual(told);
    expect(Number(status)).toBe(UNAVAILABLE);
  });

  it('is answered while the most calls are in flight', async () => {
    await using at = await start({ callsMax: { waiting: 1, reading: 1, working: 10 } });
    const watching = open(at.raw, '/grpc.health.v1.Health/Watch');
    let isWatching = false;
    watching.on('data', () => {
      isWatching = true;
    });
    watching.end(healthRequest(''));
    await until(() => isWatching);
    const request = healthRequest('');
    const checked = await at.raw.call({ path: '/grpc.health.v1.Health/Check', pieces: [request] });
    expect(checked.status).toBe(OK);
    const refused = await at.raw.call({ path: '/grpc.health.v1.Health/Watch', pieces: [request] });
    expect(refused.status).toBe(RESOURCE_EXHAUSTED);
    expect(refused.message).toMatch(/^This connection has its share, 1, of the 1 calls that wait .*: end some of them/);
  });
});
