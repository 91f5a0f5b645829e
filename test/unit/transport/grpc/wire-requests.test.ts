// Goal: the gRPC server reads what clients send, whatever that is, and answers it (T2, T3).
// Method: a server of a few small methods, driven by a client that sends any bytes, and by the grpc-js client.
import { deflateSync, gzipSync } from 'node:zlib';
import * as grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FRAME_HEADER_BYTES, frame } from '../../../../src/transport/grpc/wire/framing.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { HELLO, MESSAGE, packed, type SmallService, startSmallService } from '../../../support/small-service.ts';

const TOO_LONG = new Uint8Array(10_001);
/** Says that it is compressed, and is not. */
const PACKED = packed(MESSAGE);
const BOMB = packed(gzipSync(new Uint8Array(5_000_000)));

interface Refused {
  readonly what: string;
  readonly pieces: readonly Uint8Array[];
  readonly headers?: Record<string, string>;
  readonly status: number;
  readonly message: RegExp;
}

let at: SmallService;

beforeEach(async () => {
  at = await startSmallService();
});

afterEach(async () => at[Symbol.asyncDispose]());

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

  it('reads a message that comes in thousands of pieces, small and large (T2)', async () => {
    const message = Buffer.from(Array.from({ length: 9_000 }, (_, n) => n % 251));
    const framed = frame(message);
    const pieces: Uint8Array[] = [];
    for (let from = 0, n = 0; from < framed.length; n++) {
      const to = from + (n % 300 === 299 ? 2_000 : 1 + (n % 7));
      pieces.push(framed.subarray(from, to));
      from = to;
    }
    const reply = await at.raw.call({ path: '/test.Service/Echo', pieces });
    expect(reply.body.subarray(FRAME_HEADER_BYTES)).toEqual(message);
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
      message: /grpc-timeout must .* found "5"/,
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
