// Goal: calls with one request are answered like grpc-js answers them (ADR 0181). Method: the same calls to a server of
// grpc-js.
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
} from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { frame } from '../../../../src/transport/grpc/wire/framing.ts';
import type { Method } from '../../../../src/transport/grpc/wire/method.ts';
import { GRPC_STATUS } from '../../../../src/transport/grpc/wire/status.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';
import { startWireServer, type WireFixture } from '../../../support/wire-server.ts';

const HELLO = frame(Buffer.from('hello'));
const SCOPE = { 'x-database-id': 'some-id', 'x-revision': '7' };
const NOTHING = 'Nothing is called "ü%"';
const TRAILERS = { 'x-leader-node': 'one' };
const { NOT_FOUND, OK } = GRPC_STATUS;

let fixture: WireFixture;
let raw: RawGrpc;

function methods(): readonly Method[] {
  const service = 'test.Service';
  const failing = async (): Promise<void> => {
    await Promise.resolve();
    throw new Error('there is nothing');
  };
  return [
    { kind: 'unary', service, name: 'One', handle: (call) => call.reply(HELLO, { headers: SCOPE }) },
    { kind: 'unary', service, name: 'Fail', handle: failing },
    { kind: 'server_stream', service, name: 'FailMany', handle: failing },
    {
      kind: 'server_stream',
      service,
      name: 'Many',
      handle: async (call) => {
        call.begin(SCOPE);
        call.write(HELLO, 1);
        await call.drained();
      },
    },
  ];
}

async function startReference(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = new Server();
  const asItIs = (bytes: Buffer): Buffer => bytes;
  const failure = { code: NOT_FOUND, details: NOTHING, metadata: Metadata.fromHttp2Headers(TRAILERS) };
  const hello = Buffer.from('hello');
  const scope = Metadata.fromHttp2Headers(SCOPE);
  const one: handleUnaryCall<Buffer, Buffer> = (asked, answer) => {
    asked.sendMetadata(scope);
    answer(null, hello);
  };
  const many: handleServerStreamingCall<Buffer, Buffer> = (asked) => {
    asked.sendMetadata(scope);
    asked.write(hello);
    asked.end();
  };
  server.register('/test.Service/One', one, asItIs, asItIs, 'unary');
  server.register('/test.Service/Many', many, asItIs, asItIs, 'serverStream');
  const fail: handleUnaryCall<Buffer, Buffer> = (_asked, answer) => answer(failure);
  const failMany: handleServerStreamingCall<Buffer, Buffer> = (asked) => void asked.emit('error', failure);
  server.register('/test.Service/Fail', fail, asItIs, asItIs, 'unary');
  server.register('/test.Service/FailMany', failMany, asItIs, asItIs, 'serverStream');
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return { port, [Symbol.asyncDispose]: async () => server.forceShutdown() };
}

beforeEach(async () => {
  fixture = await startWireServer({
    methods: methods(),
    statusOf: () => ({ code: 'NOT_FOUND', message: NOTHING, trailers: TRAILERS }),
    limits: { requestBytesMax: 100_000 },
  });
  raw = new RawGrpc(fixture.port);
});

afterEach(async () => {
  raw.session.destroy();
  await fixture[Symbol.asyncDispose]();
});

const call = (name: string, headers: Record<string, string> = {}): ReturnType<RawGrpc['call']> =>
  raw.call({ path: `/test.Service/${name}`, pieces: [HELLO], headers });

it.each(['One', 'Many', 'Fail', 'FailMany'])(
  '%s is answered with the headers and trailers of grpc-js',
  async (name) => {
    await using reference = await startReference();
    const theirs = new RawGrpc(reference.port);
    const [own, other] = [await call(name), await theirs.call({ path: `/test.Service/${name}`, pieces: [HELLO] })];
    theirs.session.destroy();
    const timeless = ({ date: _date, ...headers }: Record<string, unknown>): Record<string, unknown> => headers;
    expect(timeless(own.headers)).toEqual(timeless(other.headers));
    expect({ ...own.trailers }).toEqual({ ...other.trailers });
    expect(own.body).toEqual(other.body);
    expect(own.status).toBe(name.startsWith('Fail') ? NOT_FOUND : OK);
  },
);
