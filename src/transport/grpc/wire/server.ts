/**
 * A gRPC server directly on node:http2.
 *
 * For: calls by path, request messages cut and unpacked, deadlines, cancellation, and the statuses of everything that
 * is not a request. Handlers see bytes, so that they may walk them instead of decoding them, and replies leave as the
 * bytes that the handler framed, many messages in one write. A unary call costs about half of what it costs on a
 * general gRPC library (docs/adr).
 *
 * Not here: what any message means, and TLS.
 */
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { assert } from '#base';
import { Call } from './call.ts';
import { endingHeaders, parseTimeout } from './headers.ts';
import type { Method, MethodMeter } from './method.ts';
import { answerMessages, readOneMessage } from './request.ts';
import { type SessionLimits, Sessions } from './sessions.ts';
import { type CallStatus, OK } from './status.ts';

export interface WireLimits extends SessionLimits {
  /** Longest request message, before and after it is unpacked. */
  readonly requestBytesMax: number;
  readonly streamsPerConnectionMax: number;
  /** Calls in flight on all connections; more are refused. */
  readonly callsMax: number;
}

export interface WireServerParts {
  readonly methods: readonly Method[];
  readonly limits: WireLimits;
  readonly meterOf: (method: Method) => MethodMeter;
  /** The status for whatever a handler threw. */
  readonly statusOf: (failure: unknown) => CallStatus;
}

/** What a client may send before the server has read it: on one stream, and on a connection. */
const STREAM_WINDOW_BYTES = 1 << 20;
const CONNECTION_WINDOW_BYTES = 8 << 20;
const HEADER_LIST_BYTES_MAX = 16 << 10;
/** node:http2 refuses streams of a connection beyond it; its own 10 MB would be a handful of large transactions. */
const SESSION_MEMORY_MB = 256;

const DRAINING: CallStatus = { code: 'UNAVAILABLE', message: 'The node is shutting down; try another one' };

interface Entry {
  readonly method: Method;
  readonly meter: MethodMeter;
}

export class WireServer {
  readonly #parts: WireServerParts;
  readonly #entries = new Map<string, Entry>();
  readonly #http2: Http2Server;
  readonly #sessions: Sessions;
  readonly #calls = new Set<Call>();
  #draining = false;

  constructor(parts: WireServerParts) {
    this.#parts = parts;
    for (const method of parts.methods) {
      this.#entries.set(`/${method.service}/${method.name}`, { method, meter: parts.meterOf(method) });
    }
    this.#sessions = new Sessions(parts.limits, CONNECTION_WINDOW_BYTES);
    this.#http2 = createServer({
      maxSessionMemory: SESSION_MEMORY_MB,
      settings: {
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxConcurrentStreams: parts.limits.streamsPerConnectionMax,
        maxHeaderListSize: HEADER_LIST_BYTES_MAX,
        enablePush: false,
      },
    });
    this.#http2.on('session', (session) => this.#sessions.add(session));
    this.#http2.on('stream', (stream, headers) => this.#accept(stream, headers));
  }

  /** Binds and answers the port that it got. */
  async listen(address: { readonly host: string; readonly port: number }): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#http2.once('error', reject);
      this.#http2.listen(address.port, address.host, () => {
        this.#http2.off('error', reject);
        resolve();
      });
    });
    const bound = this.#http2.address();
    assert(bound !== null && typeof bound === 'object', 'A listening server has an address', bound);
    return bound.port;
  }

  /** Calls in flight. */
  get callCount(): number {
    return this.#calls.size;
  }

  /**
   * Takes no more calls, ends the streams (they might never end by themselves), gives the other calls `graceMs`.
   * Resolves when every connection is closed.
   */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.#http2.close(() => resolve()));
    for (const call of this.#calls) if (call.method.kind !== 'unary') call.finish(DRAINING);
    this.#sessions.closeGently();
    const timer = setTimeout(() => this.#sessions.destroyAll(), graceMs);
    await closed;
    clearTimeout(timer);
    this.#sessions.stop();
  }

  #accept(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    // The error of a stream is always followed by its close, which is where the call learns of it.
    stream.on('error', () => undefined);
    if (headers['content-type']?.startsWith('application/grpc') !== true) {
      stream.respond({ ':status': 415 }, { endStream: true });
      return;
    }
    const entry = this.#entries.get(headers[':path'] ?? '');
    if (entry === undefined) {
      stream.respond(endingHeaders(unknownMethod(headers[':path'])), { endStream: true });
      stream.resume();
      return;
    }
    const call = new Call({ stream, headers, ...entry, onEnded: () => this.#calls.delete(call) });
    this.#calls.add(call);
    const refusal = this.#refusal() ?? startDeadline(call);
    if (refusal === undefined) this.#read(call, stream, entry.method);
    else call.finish(refusal);
  }

  #refusal(): CallStatus | undefined {
    if (this.#draining) return DRAINING;
    const { callsMax } = this.#parts.limits;
    if (this.#calls.size <= callsMax) return undefined;
    return { code: 'RESOURCE_EXHAUSTED', message: `${callsMax} calls are in flight, which is the most at a time` };
  }

  #read(call: Call, stream: ServerHttp2Stream, method: Method): void {
    const bytesMax = this.#parts.limits.requestBytesMax;
    switch (method.kind) {
      case 'unary':
        readOneMessage({ call, stream, bytesMax }, (message) => this.#run(call, () => method.handle(call, message)));
        break;
      case 'server_stream':
        readOneMessage({ call, stream, bytesMax }, (message) =>
          this.#run(call, () => method.handle(call, message).then(() => call.finish(OK))),
        );
        break;
      case 'bidi_stream':
        answerMessages({ call, stream, bytesMax }, (work) => this.#run(call, work), method.answer);
        break;
    }
  }

  /** Runs a handler; whatever it throws ends its call. What `statusOf` cannot name is a bug, and stops the node. */
  #run(call: Call, work: () => void | Promise<void>): void {
    try {
      const pending = work();
      if (pending !== undefined) void pending.catch((failure: unknown) => this.#fail(call, failure));
    } catch (failure) {
      this.#fail(call, failure);
    }
  }

  #fail(call: Call, failure: unknown): void {
    call.finish(this.#parts.statusOf(failure));
  }
}

/** The status that refuses the call for its timeout, or nothing and a running deadline. */
function startDeadline(call: Call): CallStatus | undefined {
  const text = call.header('grpc-timeout');
  if (text === undefined) return undefined;
  const timeoutMs = parseTimeout(text);
  if (timeoutMs !== undefined) call.startDeadline(timeoutMs);
  if (timeoutMs !== undefined) return undefined;
  const found = JSON.stringify(text);
  return { code: 'INVALID_ARGUMENT', message: `grpc-timeout is ${found}; it must be 1 to 8 digits and one of HMSmun` };
}

function unknownMethod(path: string | undefined): CallStatus {
  return { code: 'UNIMPLEMENTED', message: `There is no method ${path ?? ''}; reflection lists those that exist` };
}
