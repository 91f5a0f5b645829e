/**
 * Server reflection (grpc.reflection.v1 and v1alpha), so that a tool can call the services without having their proto
 * files.
 *
 * Few nodes are ever asked for it, and what answers (reflection-service.ts) takes more time to load than the rest of the
 * interface together, and megabytes. So the first call loads it; until then a call is only held.
 */
import { type Server, type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { ReflectionMethod } from './reflection-service.ts';

const REFLECTION_PATHS: readonly string[] = [
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
];

type ByteStream = ServerDuplexStream<Buffer, Buffer>;

const asItIs = (bytes: Buffer): Buffer => bytes;

/** Adds both versions to the server. */
export function addReflection(server: Server, onBug: (error: unknown) => void): void {
  let loading: Promise<ReadonlyMap<string, ReflectionMethod>> | undefined;
  for (const path of REFLECTION_PATHS) {
    const answer = async (call: ByteStream): Promise<void> => {
      loading ??= import('./reflection-service.ts').then(({ createReflectionMethods }) => createReflectionMethods());
      const method = (await loading).get(path);
      if (method === undefined) throw new Error(`The reflection package has no method ${path}`);
      serve(call, method);
    };
    const handle = (call: ByteStream): void => {
      answer(call).catch((error: unknown) => {
        onBug(error);
        refuse(call, 'Server reflection cannot be loaded');
      });
    };
    server.register(path, handle, asItIs, asItIs, 'bidi');
  }
}

/** Hands the call to the package, which sees messages where grpc-js sees bytes. */
function serve(call: ByteStream, { handle, decode, encode }: ReflectionMethod): void {
  const messages = {
    on: (event: string, listener: (value?: unknown) => void) =>
      call.on(event, event === 'data' ? (bytes: Buffer) => take(bytes, listener) : listener),
    write: (reply: unknown) => call.write(encode(reply)),
    end: () => call.end(),
  };
  const take = (bytes: Buffer, listener: (message: unknown) => void): void => {
    let message: unknown;
    try {
      message = decode(bytes);
    } catch {
      // What grpc-js answers by itself where it decodes.
      refuse(call, 'Error deserializing request');
      return;
    }
    listener(message);
  };
  Reflect.apply(handle, undefined, [messages]);
}

function refuse(call: ByteStream, details: string): void {
  call.emit('error', Object.assign(new Error(details), { code: status.INTERNAL, details }));
}
