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
import { type FrameFault, HEAD_LIMITS, headFault } from './frame-faults.ts';
import type { EndReason, WireParts } from './parts.ts';
import { type MethodRule, PeerStream, type PeerStreamParts, STREAM_BYTES } from './peer-stream.ts';
import { type ReadHandle, type ReadingTurns, readHandleOf } from './reading-turns.ts';
import { BEYOND_WASTE, type ConnectionStreams } from './stream-limits.ts';

/** Parts of the server around its streams. */
export interface PeerStreamsOptions {
  readonly turns: ReadingTurns;
  readonly floods: FrameFloods;
  /** The methods that are served, by path. */
  readonly rules: ReadonlyMap<string, MethodRule>;
}

const CREATED = 'http2.server.stream.created';

/** A limit regardless of memory: streams are kept in a table of a fixed size. */
export const STREAMS_MAX: number = 2 ** 17;

/** Concurrent probes that need no room. */
const FREE_PROBES_MAX = 100;

/** Initial window of a stream: bytes that a client may send before it learns that the stream is refused. */
const WINDOW_BYTES = 64 * 1024;

/** Its messages are not parsed. */
const NO_METHOD: MethodRule = {
  isStream: false,
  bytesMax: 0,
  taken: OF_CLIENTS,
  isProbe: false,
  serve: () => undefined,
};

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
  readonly #streams = new Slots<PeerStream>();
  /** Sessions of this server. */
  readonly #sessions = new WeakMap<Http2Session, Served>();
  readonly #peers = new WeakMap<object, PeerStream>();
  readonly #onCreated = (message: unknown): void => this.#created(message);
  readonly #sweeping: NodeJS.Timeout;
  #freeProbes = 0;

  constructor(parts: WireParts, options: PeerStreamsOptions) {
    this.#parts = parts;
    this.#options = options;
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
    session.on('stream', (stream: object, _headers: unknown, _flags: unknown, raw: readonly string[]) => {
      requests.count += headBytes(raw);
      if (raw.length > 2 * HEAD_LIMITS.headerPairsMax) this.#endConnection(session, 'headers');
      else this.#peers.get(stream)?.headers.handOn(raw);
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
    const rule = this.#options.rules.get(headers[':path'] ?? '') ?? NO_METHOD;
    const isFree = this.#freeProbes < FREE_PROBES_MAX && rule.isProbe;
    const open = isFree ? undefined : this.#parts.streams.of(session).tryTake(STREAM_BYTES, () => peer.evict());
    if (this.#streams.size >= STREAMS_MAX || (!isFree && open === undefined)) {
      open?.release();
      streams.cameWhole();
      requests.count += WINDOW_BYTES;
      this.#refuse(stream);
      return;
    }
    if (isFree) this.#freeProbes += 1;
    const onCrumbs = (): void => this.#endConnection(session, 'pieces');
    const peer = this.#peerOf(stream, headers, { rule, open, streams, requests, onCrumbs });
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
  #peerOf(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, parts: PeerStreamParts): PeerStream {
    const { rule } = parts;
    const fault = headFault(headers, rule.taken) ?? (rule === NO_METHOD ? unknownMethod(headers[':path']) : undefined);
    const peer = new PeerStream(stream, headers, this.#parts, parts);
    this.#peers.set(stream, peer);
    if (fault !== undefined) {
      peer.refuse(fault);
      if (fault.isFlood === true && stream.session !== undefined) this.#endConnection(stream.session, 'headers');
      return peer;
    }
    const refusal = this.#parts.refusalOf?.(peer);
    // A rejection, or a refusal after the whole message has arrived, is left to the handler of the call.
    if (refusal instanceof Promise) refusal.then((status) => status && peer.answerEarly(status), IGNORE);
    else if (refusal !== undefined) peer.answer(refusal);
    if (rule.isStream && !peer.isGone) rule.serve(peer);
    return peer;
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const peer of this.#streams.values()) peer.endIfLate(nowMs);
  }
}

function unknownMethod(path: string = ''): FrameFault {
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
