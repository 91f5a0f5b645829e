/**
 * One call, relayed to a node that holds the database: the request as it came, and the reply as it comes, frame for
 * frame.
 *
 * The stream to the other node is read no faster than the client reads (T4): one piece of it leaves while the next one
 * waits, and the other node keeps what it would send beyond that. When the call ends, the stream is cancelled.
 */
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { CLIENT_CERT, clientCertOf } from '#auth';
import { DatabaseError } from '#base';
import type { Holder } from '#service';
import { COUNTED } from '../rate-limits.ts';
import { type Asked, type Asking, type Attempt, isUntried, type Relay } from '../relay.ts';
import { reasonOf, statusOfError } from './error-status.ts';
import { cancelStream, type RelayConnections } from './relay-connections.ts';
import { SliceWriter } from './slice-writer.ts';
import type { Call } from './wire/call.ts';
import { FrameCutter } from './wire/frame-cutter.ts';
import { FRAME_HEADER_BYTES, writeFrameHeader } from './wire/framing.ts';
import { type CallStatus, type Fields, statusName } from './wire/status.ts';

export interface RelayedCall extends Pick<Asked, 'isWrite'> {
  readonly call: Call;
  readonly message: Uint8Array;
  readonly connections: RelayConnections;
  readonly relay: Relay;
}

/** Headers that gRPC sets itself, and those that this node sends only to the next one. */
const NOT_PASSED: ReadonlySet<string> = new Set([
  CLIENT_CERT,
  COUNTED,
  'content-type',
  'date',
  'grpc-accept-encoding',
  'grpc-encoding',
  'grpc-message',
  'grpc-status',
  'te',
  'trailer',
]);
const DETAILS = 'grpc-status-details-bin';
const UNANSWERED: Attempt = { kind: 'lost' };

export async function relayCall(relayed: RelayedCall, asking: Asking): Promise<Attempt> {
  const { call, connections, message } = relayed;
  using reply = await Reply.begin(connections, {
    holder: asking.holder,
    headers: headersFor(relayed, asking),
    message,
    signal: call.signal,
  });
  if (call.ended) return { kind: 'abandoned' };
  if (reply === undefined) return { kind: 'unreached' };
  const attempt = await (call.method.kind === 'unary' ? unary(relayed, reply, asking) : streamed(call, reply));
  return call.ended && attempt.kind === 'lost' ? { kind: 'abandoned' } : attempt;
}

export interface RelayedStream {
  readonly holder: Holder;
  readonly headers: OutgoingHttpHeaders;
  readonly message: Uint8Array;
  /** Cancels the stream. */
  readonly signal: AbortSignal;
}

/** The reply of another node. Disposing of it cancels what has not ended. */
export class Reply implements Disposable {
  readonly #stream: ClientHttp2Stream;
  readonly #signal: AbortSignal;
  readonly #cancel = (): void => cancelStream(this.#stream);
  headers: IncomingHttpHeaders | undefined;
  trailers: IncomingHttpHeaders | undefined;

  private constructor(stream: ClientHttp2Stream, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    signal.addEventListener('abort', this.#cancel);
    if (signal.aborted) this.#cancel();
    // A reader sees that it has ended, and how.
    stream.on('error', () => undefined);
    stream.once('response', (headers) => {
      this.headers = headers;
      if (headers['grpc-status'] !== undefined) this.trailers = headers;
    });
    stream.once('trailers', (trailers: IncomingHttpHeaders) => {
      this.trailers = trailers;
    });
  }

  /** Sends the request. Undefined: the node is not reached, or the signal came first; nothing was sent. */
  static async begin(connections: RelayConnections, relayed: RelayedStream): Promise<Reply | undefined> {
    const { holder, headers, message, signal } = relayed;
    const asGrpc = { ...headers, ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };
    const stream = await connections.open(holder, asGrpc, signal);
    if (stream === undefined) return undefined;
    const header = Buffer.alloc(FRAME_HEADER_BYTES);
    writeFrameHeader(header, 0, message.length);
    const reply = new Reply(stream, signal);
    stream.write(header);
    stream.end(message);
    return reply;
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#cancel);
    this.#cancel();
  }

  /** Resolves when its headers are there, or will not come. */
  async begun(): Promise<void> {
    const stream = this.#stream;
    if (this.headers !== undefined || stream.closed) return;
    await new Promise<void>((resolve) => {
      stream.once('response', () => resolve()).once('close', () => resolve());
    });
  }

  /** The pieces of its messages, as they come; they end when no more come, for any reason. */
  async *pieces(): AsyncGenerator<Buffer> {
    try {
      for await (const piece of this.#stream) if (Buffer.isBuffer(piece)) yield piece;
    } catch (failure) {
      if (!this.#stream.destroyed) throw failure;
    }
  }

  /** Status from the other node; undefined: there is none, and the node may have executed the request. */
  told(): CallStatus | undefined {
    return this.trailers === undefined ? undefined : statusIn(this.trailers);
  }

  /** The same for a read, which may also be cut off. */
  status(): CallStatus | undefined {
    const told = this.told();
    // A node cuts off a client that holds too much with this code.
    if (told !== undefined || this.#stream.rstCode !== constants.NGHTTP2_ENHANCE_YOUR_CALM) return told;
    return { code: 'RESOURCE_EXHAUSTED', message: 'The node that holds the database has cut the call off' };
  }

  /** Returns whether the other node has refused the request without trying it. */
  isUntried(): boolean {
    if (this.#stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) return true;
    const status = this.told();
    return status?.code === 'UNAVAILABLE' && isUntried(reasonOf(status.details));
  }

  answered(): Attempt {
    const { headers = {}, trailers = {} } = this;
    return { kind: 'answered', header: (name) => textOf(trailers[name] ?? headers[name]) };
  }
}

async function unary({ call, isWrite }: RelayedCall, reply: Reply, { isAfterLost }: Asking): Promise<Attempt> {
  const cutter = new FrameCutter();
  let framed: Buffer | undefined;
  for await (const piece of reply.pieces()) {
    framed = cutter.add(piece)?.frames ?? framed;
    call.reserve(cutter.neededBytes);
  }
  if (reply.isUntried()) return { kind: 'untried' };
  // A connection is also cut off for what others did over it, while this was committed (TM8).
  const status = isWrite ? reply.told() : reply.status();
  if (status === undefined || (status.code === 'OK' && framed === undefined)) return UNANSWERED;
  if (isAfterLost && status.code !== 'OK') return { kind: 'untried' };
  const { headers = {}, trailers = {} } = reply;
  if (status.code !== 'OK' || framed === undefined) call.finish(status);
  else call.reply(framed, { headers: passedOn(headers), trailers: passedOn(trailers) });
  return reply.answered();
}

async function streamed(call: Call, reply: Reply): Promise<Attempt> {
  await reply.begun();
  if (reply.isUntried()) return { kind: 'untried' };
  if (reply.headers === undefined) return UNANSWERED;
  if (reply.trailers === undefined) call.begin(passedOn(reply.headers));
  await passOn(call, reply);
  if (call.ended) return { kind: 'abandoned' };
  const status = reply.status();
  call.finish(status ?? BROKEN);
  return status === undefined ? { kind: 'broken' } : reply.answered();
}

async function passOn(call: Call, reply: Reply): Promise<void> {
  using writer = new SliceWriter(call);
  const cutter = new FrameCutter();
  for await (const piece of reply.pieces()) {
    const cut = cutter.add(piece);
    // The rest of a long message is read when there is room for it (TM1).
    if (cut === undefined) {
      if (!writer.admits(cutter.neededBytes)) await writer.ready();
    } else await writer.write(cut.frames, cut.count);
  }
  await writer.flushed();
}

const BROKEN: CallStatus = statusOfError(
  new DatabaseError(
    'unavailable',
    'The node that answers this for the one that was asked cannot be reached any more; go on from what has come',
    { details: { reason: 'RelayBroken' } },
  ),
);

function headersFor({ call, relay }: RelayedCall, asking: Asking): OutgoingHttpHeaders {
  const { leftMs, certificate, method } = call;
  return {
    ...passedOn(call.metadata),
    ...relay.headersFor(asking),
    ...(leftMs !== undefined && { 'grpc-timeout': timeoutOf(leftMs) }),
    ...(certificate !== undefined && { [CLIENT_CERT]: clientCertOf(certificate) }),
    ':path': `/${method.service}/${method.name}`,
  };
}

/** Eight digits at most, as gRPC writes it. */
function timeoutOf(leftMs: number): string {
  return leftMs < 1e8 - 1 ? `${Math.max(1, Math.ceil(leftMs))}m` : `${Math.min(1e8 - 1, Math.ceil(leftMs / 1000))}S`;
}

function statusIn(trailers: IncomingHttpHeaders): CallStatus {
  const code = statusName(Number(trailers['grpc-status']));
  const { [DETAILS]: details, ...others } = passedOn(trailers);
  const texts = Object.entries(others).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && !entry[0].endsWith('-bin'),
  );
  return {
    code,
    message: messageIn(textOf(trailers['grpc-message']) ?? ''),
    ...(typeof details === 'string' && { details: Buffer.from(details, 'base64') }),
    trailers: Object.fromEntries(texts),
  };
}

/** Decodes it like grpc-js. */
function messageIn(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

function passedOn(headers: Fields): Fields {
  const passed = Object.entries(headers).filter(([name]) => !name.startsWith(':') && !NOT_PASSED.has(name));
  return Object.fromEntries(passed);
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
