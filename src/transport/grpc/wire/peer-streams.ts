/**
 * The HTTP/2 streams underneath the calls (ADR 0181).
 *
 * Node announces each created stream on a diagnostics channel, in the same turn and before its data. The session
 * reports the headers as they were sent only later.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { constants, type Http2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { quote, Slots } from '#base';
import { type FrameFloods, headBytes, type RequestBytes } from '../../frame-floods.ts';
import { OF_CLIENTS } from '../../own-headers.ts';
import { CallStream } from './call-stream.ts';
import { certificateOf } from './client-certificate.ts';
import { type FrameFault, HEAD_LIMITS, headFault } from './frame-faults.ts';
import type { EndReason, WireParts } from './parts.ts';
import { PeerStream, type PeerStreamEvents, type PeerStreamParts, STREAM_BYTES } from './peer-stream.ts';
import { type ReadHandle, type ReadingTurns, readHandleOf } from './reading-turns.ts';
import { BEYOND_WASTE, type ConnectionStreams } from './stream-limits.ts';

/** Rules for reading the requests of a method. */
export interface MessageRule {
  readonly messages: 'one' | 'many';
  /** Maximum length of a message, as sent. */
  readonly bytesMax: number;
  /** Headers of ours that it accepts. */
  readonly taken: readonly string[];
  /** A health probe is answered also when the node is full. */
  readonly isProbe: boolean;
}

/** Parts of the server around its streams. */
export interface PeerStreamsOptions extends Pick<PeerStreamEvents, 'onRequest'> {
  readonly turns: ReadingTurns;
  readonly floods: FrameFloods;
  /** The methods that are served, by path. */
  readonly rules: ReadonlyMap<string, MessageRule>;
  /** A stream of requests has begun. */
  readonly onOpened: (request: CallStream, peer: PeerStream) => void;
}

const CREATED = 'http2.server.stream.created';

/** A limit regardless of memory: streams are kept in a table of a fixed size. */
export const STREAMS_MAX: number = 2 ** 17;

/** Concurrent probes that need no room. */
const FREE_PROBES_MAX = 100;

/** Initial window of a stream: bytes that a client may send before it learns that the stream is refused. */
const WINDOW_BYTES = 64 * 1024;

/** Its messages are not parsed. */
const NO_METHOD = { messages: undefined, bytesMax: 0, taken: OF_CLIENTS, isProbe: false };

const SWEEP_EVERY_MS = 1_000;

/** Parts of the connection of a session. */
interface Served {
  /** Its native reading handle. */
  readonly handle: ReadHandle;
  readonly streams: ConnectionStreams;
  readonly requests: RequestBytes;
}

export class PeerStreams {
  readonly #parts: WireParts;
  readonly #options: PeerStreamsOptions;
  readonly #events: PeerStreamEvents;
  readonly #streams = new Slots<PeerStream>();
  /** Sessions of this server. */
  readonly #sessions = new WeakMap<Http2Session, Served>();
  readonly #own = new WeakMap<object, CallStream>();
  readonly #onCreated = (message: unknown): void => this.#created(message);
  readonly #sweeping: NodeJS.Timeout;
  #freeProbes = 0;

  constructor(parts: WireParts, options: PeerStreamsOptions) {
    this.#parts = parts;
    this.#options = options;
    const onCrumbs: PeerStreamEvents['onCrumbs'] = ({ session }) => session && this.#endConnection(session, 'pieces');
    this.#events = { onRequest: options.onRequest, onCrumbs };
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref();
    subscribe(CREATED, this.#onCreated);
  }

  /** Begins to serve the streams of the session. */
  serve(session: Http2Session, socket: Socket, streams: ConnectionStreams): void {
    const requests = this.#options.floods.requestsOf(socket);
    this.#sessions.set(session, { handle: readHandleOf(socket), streams, requests });
    streams.onEnd = () => session.destroy();
    streams.onRaise = (maxConcurrentStreams) => {
      if (!session.destroyed && !session.closed) session.settings({ maxConcurrentStreams });
    };
    session.on('stream', (stream: object, headers: IncomingHttpHeaders, _flags: unknown, raw: readonly string[]) => {
      requests.count += headBytes(raw);
      if (raw.length > 2 * HEAD_LIMITS.headerPairsMax) this.#endConnection(session, 'headers');
      else this.#own.get(stream)?.repeated.handOn(headers, raw);
    });
  }

  close(): void {
    unsubscribe(CREATED, this.#onCreated);
    clearInterval(this.#sweeping);
  }

  #created(message: unknown): void {
    if (!isCreation(message)) return;
    const { stream, headers } = message;
    const { session } = stream;
    const served = session && this.#sessions.get(session);
    if (session === undefined || served === undefined) return;
    const { handle, streams, requests } = served;
    this.#options.turns.came(handle);
    if (!this.#isAllowed(stream, session, streams)) {
      this.#refuse(stream);
      return;
    }
    const rule = this.#options.rules.get(headers[':path'] ?? '');
    const isFree = this.#freeProbes < FREE_PROBES_MAX && rule?.isProbe === true;
    const open = isFree ? undefined : this.#parts.streams.of(session).tryTake(STREAM_BYTES, () => peer.evict());
    if (this.#streams.size >= STREAMS_MAX || (!isFree && open === undefined)) {
      open?.release();
      streams.cameWhole();
      requests.count += WINDOW_BYTES;
      this.#refuse(stream);
      return;
    }
    if (isFree) this.#freeProbes += 1;
    const peer = this.#peerOf(stream, headers, { open, streams, requests });
    const number = this.#streams.add(peer);
    stream.on('close', () => {
      this.#streams.remove(number);
      if (isFree) this.#freeProbes -= 1;
      peer.closed();
    });
  }

  /** Returns whether the connection may have the stream. Ends one with too many refused or cancelled streams. */
  #isAllowed(stream: ServerHttp2Stream, session: Http2Session, streams: ConnectionStreams): boolean {
    const wasted = (count: number): void => {
      if (!streams.wastes(count)) this.#endConnection(session, 'flood');
    };
    const isAllowed = streams.tryOpen();
    if (!isAllowed) wasted(BEYOND_WASTE);
    else {
      stream.once('close', () => {
        streams.closed();
        if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) wasted(1);
      });
    }
    return isAllowed;
  }

  #endConnection(session: Http2Session, why: EndReason): void {
    if (session.destroyed) return;
    this.#parts.onConnectionEnded(why, session);
    session.destroy(new Error(`The connection has ended: ${why}`), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  /** It had no effect, and clients may retry it. */
  #refuse(stream: ServerHttp2Stream): void {
    this.#parts.onRefused('overload');
    stream.on('error', IGNORE);
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    // Otherwise node:http2 keeps its memory until V8 collects the heap. The error is a shared one, because a stack
    // would cost as much as the rest of the refusal.
    stream.destroy(REFUSED);
  }

  /** Answers a fault of the headers at once, and a refusal of the call, too. */
  #peerOf(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    shared: Pick<PeerStreamParts, 'open' | 'streams' | 'requests'>,
  ): PeerStream {
    const { refusals, refusalOf } = this.#parts;
    const path = headers[':path'] ?? '';
    const { messages, bytesMax, taken } = this.#options.rules.get(path) ?? NO_METHOD;
    const fault = headFault(headers, taken) ?? (messages === undefined ? unknownMethod(path) : undefined);
    const address = stream.session?.socket.remoteAddress;
    const refusal =
      fault === undefined
        ? refusalOf?.({ path, headers, address, certificate: () => certificateOf(stream) })
        : undefined;
    const isAnswered = fault !== undefined || (refusal !== undefined && !(refusal instanceof Promise));
    const encoding = headers['grpc-encoding'];
    const rules = {
      isStream: messages === 'many',
      encoding: typeof encoding === 'string' ? encoding : undefined,
      bytesMax,
    };
    const own = new CallStream(stream, headers, refusals.expired);
    this.#own.set(stream, own);
    const accepted = headers['grpc-accept-encoding'];
    const peer = new PeerStream(stream, this.#parts, { rules, own, accepted, ...shared, ...this.#events });
    if (fault !== undefined) peer.refuse(fault);
    if (fault?.isFlood === true && stream.session !== undefined) this.#endConnection(stream.session, 'headers');
    if (refusal instanceof Promise) {
      // A rejection, or a refusal after the whole message has arrived, is left to the handler of the call.
      refusal.then((status) => status && peer.answerEarly(status), IGNORE);
    } else if (refusal !== undefined) peer.answer(refusal);
    if (messages === 'many' && !isAnswered) this.#options.onOpened(own, peer);
    return peer;
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const peer of this.#streams.values()) peer.endIfLate(nowMs);
  }
}

function unknownMethod(path: string): FrameFault {
  const where = 'server reflection (grpc.reflection.v1) lists those that there are';
  return { what: `There is no method ${quote(path)}; ${where}`, code: 'unimplemented' };
}

interface Creation {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
}

function isCreation(message: unknown): message is Creation {
  return typeof message === 'object' && message !== null && 'stream' in message && 'headers' in message;
}

const IGNORE = (): void => undefined;

const REFUSED = new Error('The stream was refused');
