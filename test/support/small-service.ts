/** A gRPC server with a few small methods, and a client that sends arbitrary bytes, for tests of the gRPC server. */
import { DatabaseError } from '#base';
import type { Call } from '../../src/transport/grpc/wire/call.ts';
import { frame } from '../../src/transport/grpc/wire/framing.ts';
import type { Method } from '../../src/transport/grpc/wire/method.ts';
import type { CallStatus } from '../../src/transport/grpc/wire/status.ts';
import { framed, RawGrpc } from './raw-grpc.ts';
import { startWireServer, type WireFixture, type WireOptions } from './wire-server.ts';

/** Output of the method Fill. */
export const FILL_CHUNKS = 200;
export const FILL_CHUNK: Uint8Array = new Uint8Array(64 * 1024);

export const MESSAGE: Buffer = Buffer.from('hello');
export const HELLO: Uint8Array = frame(MESSAGE);

/** A message whose prefix says that it is compressed. */
export const packed = (message: Uint8Array): Uint8Array => framed(message, 1);

export interface SmallService extends WireFixture {
  readonly raw: RawGrpc;
  /** Pending calls of Wait and Await, which the test answers. */
  readonly waiting: Call[];
  /** Number of chunks that Fill has written. */
  readonly written: { readonly chunks: number };
}

export async function startSmallService(
  options: Omit<WireOptions, 'methods' | 'statusOf'> = {},
): Promise<SmallService> {
  const waiting: Call[] = [];
  const written = { chunks: 0 };
  const fixture = await startWireServer({ ...options, methods: methodsOf(waiting, written), statusOf });
  const raw = new RawGrpc(fixture.port);
  const dispose = async (): Promise<void> => {
    await raw.close();
    await fixture.server.drain(0);
  };
  return { ...fixture, raw, waiting, written, [Symbol.asyncDispose]: dispose };
}

const service = 'test.Service';

function methodsOf(waiting: Call[], written: { chunks: number }): readonly Method[] {
  const wait = (call: Call): void => void waiting.push(call);
  const count = async (call: Call, message: Uint8Array): Promise<void> => {
    call.begin();
    for (let n = 0; n < Number(message.toString()); n++) {
      if (!call.write(frame(Buffer.from(String(n))), 1)) await call.drained();
      if (call.ended) return;
    }
  };
  const fill = async (call: Call): Promise<void> => {
    call.begin();
    for (let chunk = 0; chunk < FILL_CHUNKS; chunk++) {
      written.chunks++;
      if (!call.write(frame(FILL_CHUNK), 1)) await call.drained();
    }
  };
  const hello = (call: Call): void => {
    call.begin();
    call.write(frame(MESSAGE), 1);
  };
  const whole = async (call: Call): Promise<void> => {
    hello(call);
    call.complete();
    // The handler continues after its reply.
    await new Promise((resolve) => call.signal.addEventListener('abort', resolve));
  };
  const fail = async (call: Call): Promise<void> => {
    hello(call);
    await call.drained();
    throw new DatabaseError('not_found', 'It went away');
  };
  return [
    { kind: 'unary', service, name: 'Echo', handle: (call, message) => call.reply(frame(message)) },
    { kind: 'unary', service, name: 'Wait', handle: wait },
    { kind: 'unary', service, name: 'Await', waits: true, handle: wait },
    { kind: 'server_stream', service, name: 'Count', handle: count },
    { kind: 'server_stream', service, name: 'Fill', handle: fill },
    { kind: 'server_stream', service, name: 'Whole', handle: whole },
    { kind: 'server_stream', service, name: 'Fail', handle: fail },
  ];
}

function statusOf(failure: unknown): CallStatus {
  if (!(failure instanceof DatabaseError)) throw failure;
  return { code: 'NOT_FOUND', message: failure.message };
}
