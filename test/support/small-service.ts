/** A server of a few small methods, and a client that sends any bytes, for tests of the gRPC server. */
import { DatabaseError } from '#base';
import type { Call } from '../../src/transport/grpc/wire/call.ts';
import { frame } from '../../src/transport/grpc/wire/framing.ts';
import type { Method } from '../../src/transport/grpc/wire/method.ts';
import type { CallStatus } from '../../src/transport/grpc/wire/status.ts';
import { framed, RawGrpc } from './raw-grpc.ts';
import { startWireServer, type WireFixture, type WireOptions } from './wire-server.ts';

/** What Fill writes. */
export const FILL_CHUNKS = 200;
export const FILL_CHUNK: Uint8Array = new Uint8Array(64 * 1024);

export const MESSAGE: Buffer = Buffer.from('hello');
export const HELLO: Uint8Array = frame(MESSAGE);

/** A message in a frame that says that it is compressed. */
export const packed = (message: Uint8Array): Uint8Array => framed(message, 1);

export interface SmallService extends WireFixture {
  readonly raw: RawGrpc;
  /** Calls of Wait and Await, which the test answers. */
  readonly waiting: Call[];
  /** Chunks that Fill has written. */
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
  return [...callsOf(waiting), ...streamsOf(written)];
}

function callsOf(waiting: Call[]): readonly Method[] {
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
  ];
}

function streamsOf(written: { chunks: number }): readonly Method[] {
  return [
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
      name: 'Whole',
      handle: async (call) => {
        call.begin();
        call.write(frame(MESSAGE), 1);
        call.complete();
        // It has more to do than to answer.
        await new Promise((resolve) => call.signal.addEventListener('abort', resolve));
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
