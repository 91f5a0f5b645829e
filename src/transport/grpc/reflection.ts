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
import type { MeterOf } from './meters.ts';
import type { ReflectionAnswer } from './reflection-service.ts';
import type { MethodMeter } from './wire/method-traits.ts';
import type { Extension, OnFault } from './wire/server.ts';

const SERVICES: readonly string[] = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];
const METHOD = 'ServerReflectionInfo';

export const REFLECTION_LIMITS: {
  /** At a time, of all clients. */
  readonly streamsMax: number;
  /** A request names a file or a symbol. */
  readonly requestBytesMax: number;
  /**
   * What the requests of one stream may come to: several times what it takes to ask for every file and symbol there is.
   */
  readonly streamBytesMax: number;
} = { streamsMax: 256, requestBytesMax: 1024, streamBytesMax: 64 * 1024 };

/** What a request takes beside its bytes, so that empty ones are bounded, too. */
const AROUND_REQUEST_BYTES = 64;

const MS_PER_SECOND = 1000;

type ByteStream = ServerDuplexStream<Buffer, Uint8Array>;

const asItIs = (bytes: Buffer): Buffer => bytes;
const bufferOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length);

/** Both versions. */
export function createReflection(onBug: (error: unknown) => void, meterOf: MeterOf): Extension {
  let loading: Promise<ReflectionAnswer> | undefined;
  let openCount = 0;
  const answer = async (stream: MeteredStream): Promise<void> => {
    loading ??= import('./reflection-service.ts').then(({ createReflectionAnswer }) => createReflectionAnswer());
    serve(stream, await loading);
  };
  const accept = (stream: MeteredStream): void => {
    if (openCount >= REFLECTION_LIMITS.streamsMax) {
      const most = `${REFLECTION_LIMITS.streamsMax} streams of server reflection are open, which is the most at a time`;
      stream.refuse(status.RESOURCE_EXHAUSTED, most);
      return;
    }
    openCount += 1;
    stream.onceOver(() => {
      openCount -= 1;
    });
    answer(stream).catch((error: unknown) => {
      onBug(error);
      stream.refuse(status.INTERNAL, 'Server reflection cannot be loaded');
    });
  };
  const methods = SERVICES.map((service) => ({
    path: `/${service}/${METHOD}`,
    meter: meterOf({ kind: 'bidi_stream', service, name: METHOD }),
  }));
  const addTo = (server: Server, onFault: OnFault): void => {
    for (const { path, meter } of methods) {
      const handle = (call: ByteStream): void => accept(new MeteredStream(call, meter, onFault));
      server.register(path, handle, bufferOf, asItIs, 'bidi');
    }
  };
  return { paths: methods.map(({ path }) => path), addTo };
}

/** A stream of requests and replies, counted. */
class MeteredStream {
  readonly #call: ByteStream;
  readonly #meter: MethodMeter;
  readonly #onFault: OnFault;
  readonly #startedMs = performance.now();
  /** How it ends unless we end it. */
  #code: number = status.CANCELLED;

  constructor(call: ByteStream, meter: MethodMeter, onFault: OnFault) {
    this.#call = call;
    this.#meter = meter;
    this.#onFault = onFault;
    meter.started();
    this.onceOver(() =>
      meter.ended(status[this.#code] ?? 'UNKNOWN', (performance.now() - this.#startedMs) / MS_PER_SECOND),
    );
  }

  /** grpc-js says so at the end of every call, however it comes. */
  onceOver(run: () => void): void {
    this.#call.once('cancelled', run);
  }

  /** Calls `fail` for what comes in a frame that cannot be read. */
  onceMalformed(fail: (code: number, details: string, metadata?: Metadata) => void): void {
    this.#onFault(this.#call, ({ code, details, metadata }) => fail(code, details, metadata));
  }

  receive(onRequest: (request: Buffer) => void, onEnd: () => void): void {
    this.#call.on('data', (request: Buffer) => {
      this.#meter.received();
      onRequest(request);
    });
    this.#call.on('end', onEnd);
  }

  send(reply: Uint8Array, onSent: () => void): void {
    this.#meter.sent(1);
    this.#call.write(reply, onSent);
  }

  end(): void {
    this.#code = status.OK;
    this.#call.end();
  }

  refuse(code: number, details: string, metadata?: Metadata): void {
    this.#code = code;
    this.#call.emit('error', Object.assign(new Error(details), { code, details, metadata }));
  }
}

/** Answers the requests of a stream, one after the other. */
function serve(stream: MeteredStream, answer: ReflectionAnswer): void {
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
    stream.refuse(code, details, metadata);
  };
  stream.onceMalformed((code, details, metadata) => {
    if (!isOver) fail(code, details, metadata);
  });
  const next = (): void => {
    if (isSending || isOver) return;
    const request = waiting.shift();
    if (request === undefined) {
      if (hasAskedAll) stream.end();
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
    stream.send(reply, () => {
      isSending = false;
      next();
    });
  };
  stream.onceOver(stop);
  const take = (request: Buffer): void => {
    if (isOver) return;
    receivedBytes += request.length + AROUND_REQUEST_BYTES;
    if (request.length > REFLECTION_LIMITS.requestBytesMax) {
      const most = `The request has ${request.length} bytes; one of server reflection has ${REFLECTION_LIMITS.requestBytesMax} at most`;
      fail(status.INVALID_ARGUMENT, most);
    } else if (receivedBytes > REFLECTION_LIMITS.streamBytesMax) {
      fail(status.RESOURCE_EXHAUSTED, 'So many requests are not answered on one stream; go on with another');
    } else {
      waiting.push(request);
      next();
    }
  };
  stream.receive(take, () => {
    hasAskedAll = true;
    next();
  });
}
