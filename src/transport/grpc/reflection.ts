/**
 * Server reflection (grpc.reflection.v1 and v1alpha), so that a tool can call the services without having their proto
 * files.
 *
 * Few nodes are ever asked for it, so the first call loads what answers (reflection-service.ts), with the descriptors;
 * until then a call is only held. The messages of both versions are the same, and so are the answers.
 *
 * A reply is made when the one before has left, so that a stream holds one reply, and a bounded number of requests that
 * wait for theirs (T4). Requests are read all the time, because grpc-js would unpack and keep those that nobody reads.
 */
import { type Metadata, type Server, type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { ReflectionAnswer } from './reflection-service.ts';
import type { Extension, OnFault } from './wire/server.ts';

const REFLECTION_PATHS: readonly string[] = [
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
];

/** Streams at a time, of all clients. */
export const REFLECTION_STREAMS_MAX = 256;

/** A request names a file or a symbol. */
const REQUEST_BYTES_MAX = 1024;

/**
 * What the requests of one stream may come to: several times what it takes to ask for every file and symbol there is.
 */
const STREAM_BYTES_MAX = 64 * 1024;

/** What a request takes beside its bytes, so that empty ones are bounded, too. */
const AROUND_REQUEST_BYTES = 64;

type ByteStream = ServerDuplexStream<Buffer, Uint8Array>;

const asItIs = (bytes: Buffer): Buffer => bytes;
const bufferOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length);

/** Both versions. */
export function createReflection(onBug: (error: unknown) => void): Extension {
  let loading: Promise<ReflectionAnswer> | undefined;
  let openCount = 0;
  const answer = async (call: ByteStream, onFault: OnFault): Promise<void> => {
    loading ??= import('./reflection-service.ts').then(({ createReflectionAnswer }) => createReflectionAnswer());
    serve(call, await loading, onFault);
  };
  const accept = (call: ByteStream, onFault: OnFault): void => {
    if (openCount >= REFLECTION_STREAMS_MAX) {
      const most = `${REFLECTION_STREAMS_MAX} streams of server reflection are open, which is the most at a time`;
      refuse(call, status.RESOURCE_EXHAUSTED, most);
      return;
    }
    openCount += 1;
    // grpc-js says so at the end of every call, however it comes.
    call.once('cancelled', () => {
      openCount -= 1;
    });
    answer(call, onFault).catch((error: unknown) => {
      onBug(error);
      refuse(call, status.INTERNAL, 'Server reflection cannot be loaded');
    });
  };
  const addTo = (server: Server, onFault: OnFault): void => {
    const handle = (call: ByteStream): void => accept(call, onFault);
    for (const path of REFLECTION_PATHS) server.register(path, handle, bufferOf, asItIs, 'bidi');
  };
  return { paths: REFLECTION_PATHS, addTo };
}

/** Answers the requests of a stream, one after the other. */
function serve(call: ByteStream, answer: ReflectionAnswer, onFault: OnFault): void {
  const waiting: Buffer[] = [];
  let receivedBytes = 0;
  let isSending = false;
  let hasAskedAll = false;
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    waiting.length = 0;
  };
  const fail = (code: number, details: string, metadata?: Metadata): void => {
    stop();
    refuse(call, code, details, metadata);
  };
  onFault(call, ({ code, details, metadata }) => {
    if (!isOver) fail(code, details, metadata);
  });
  const next = (): void => {
    if (isSending || isOver) return;
    const request = waiting.shift();
    if (request === undefined) {
      if (hasAskedAll) call.end();
      return;
    }
    const reply = answer(request);
    if (reply === undefined) {
      fail(
        status.INVALID_ARGUMENT,
        'The message is not a ServerReflectionRequest: its bytes are not the fields of one',
      );
      return;
    }
    isSending = true;
    call.write(reply, () => {
      isSending = false;
      next();
    });
  };
  call.once('cancelled', stop);
  call.on('data', (request: Buffer) => {
    if (isOver) return;
    receivedBytes += request.length + AROUND_REQUEST_BYTES;
    if (request.length > REQUEST_BYTES_MAX) {
      const most = `The request has ${request.length} bytes; one of server reflection has ${REQUEST_BYTES_MAX} at most`;
      fail(status.INVALID_ARGUMENT, most);
    } else if (receivedBytes > STREAM_BYTES_MAX) {
      fail(status.RESOURCE_EXHAUSTED, 'So many requests are not answered on one stream; go on with another');
    } else {
      waiting.push(request);
      next();
    }
  });
  call.on('end', () => {
    hasAskedAll = true;
    next();
  });
}

function refuse(call: ByteStream, code: number, details: string, metadata?: Metadata): void {
  call.emit('error', Object.assign(new Error(details), { code, details, metadata }));
}
