/**
 * Listens, and has the connections and the HTTP/2 streams underneath the calls (ADR 0181).
 *
 * A connection becomes a session of node:http2 when its client has acknowledged the settings (opening.ts). Every
 * session is pinged; a ping without an answer in time destroys the session, which cancels its calls.
 *
 * Node announces each created stream on a diagnostics channel, in the same turn and before its data. The session
 * reports the headers as they were sent only later.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { listen, quote, Slots } from '#base';
import { ConnectionPlaces } from '../../connection-places.ts';
import { FrameFloods, headBytes, type RequestBytes } from '../../frame-floods.ts';
import { ping } from '../../liveness.ts';
import { announceSettings, NO_HPACK_TABLE } from '../../opening.ts';
import { OF_CLIENTS } from '../../own-headers.ts';
import { type ListenPlace, listenAddress } from '../../server-options.ts';
import { CallStream, type CallStreamParts, type MethodRule, type PeerConnection, STREAM_BYTES } from './call-stream.ts';
import type { FrameFault } from './frame-reader.ts';
import type { EndReason, WireParts } from './parts.ts';
import { HEAD_LIMITS, headFault } from './request-headers.ts';
import { BEYOND_WASTE, ConnectionStreams } from './stream-limits.ts';

/** node:http2 refuses streams of a connection beyond it; its default of 10 MB is a handful of large transactions. */
const SESSION_MEMORY_MB = 256;

/** Maximum number of invalid requests of a session: each decodes up to 16 KiB of headers per frame. */
export const INVALID_FRAMES_MAX = 100;

const NO_BOUND = 2 ** 31;

/**
 * T12 bounds the streams that a client may cancel. nghttp2's own bound is 33 a second, which clients exceed when their
 * deadlines pass.
 */
const HTTP2_OPTIONS: ServerOptions = {
  maxSessionMemory: SESSION_MEMORY_MB,
  maxSendHeaderBlockLength: Number.MAX_SAFE_INTEGER,
  streamResetBurst: NO_BOUND,
  streamResetRate: NO_BOUND,
  maxSessionRejectedStreams: 10_000,
  maxSessionInvalidFrames: INVALID_FRAMES_MAX,
  // A session whose request has too many headers is ended; node:http2 would reset the stream without notice.
  maxHeaderListPairs: NO_BOUND,
  settings: NO_HPACK_TABLE,
};

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

export class Connections {
  readonly #parts: WireParts;
  /** The methods that are served, by path. */
  readonly #rules: ReadonlyMap<string, MethodRule>;
  readonly #server: Server;
  readonly #places: ConnectionPlaces;
  readonly #floods: FrameFloods;
  /** The session of each open connection; undefined until it has one. */
  readonly #sessions = new Map<Socket, ServerHttp2Session | undefined>();
  readonly #served = new WeakMap<Http2Session, PeerConnection>();
  readonly #streams = new Slots<CallStream>();
  readonly #onCreated = (message: unknown): void => this.#created(message);
  readonly #sweeping: NodeJS.Timeout;
  #freeProbes = 0;
  #isClosing = false;

  constructor(parts: WireParts, rules: ReadonlyMap<string, MethodRule>) {
    const { limits, secure, onDisplaced, onConnectionEnded } = parts;
    this.#parts = parts;
    this.#rules = rules;
    this.#places = new ConnectionPlaces(limits.connectionsMax, (waiting) => onDisplaced?.(waiting));
    this.#floods = new FrameFloods((socket) => onConnectionEnded('frames', { destroyed: false, socket }));
    const accept = (socket: Socket): void => this.accept(socket);
    this.#server = secure?.createServer(accept) ?? createServer({ noDelay: true }, accept);
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref();
    subscribe(CREATED, this.#onCreated);
  }

  listen(place: ListenPlace): Promise<number> {
    const { logger } = this.#parts;
    return listen(this.#server, listenAddress(place), { what: 'gRPC', setting: '--grpc-port' }, logger);
  }

  /** Closes the connection that has waited longest for a complete request; false: none waits. */
  makeRoom(): boolean {
    return this.#places.makeRoom();
  }

  /**
   * Accepts no more connections, and sends GOAWAY on each: it accepts no more streams, and ends with its last one.
   * Resolves when all are closed.
   */
  close(): Promise<void> {
    this.#isClosing = true;
    for (const [socket, session] of this.#sessions) {
      if (session === undefined) socket.destroy();
      else session.close();
    }
    return new Promise((resolve) => {
      this.#server.close(() => {
        this.#stop();
        resolve();
      });
    });
  }

  /** Ends all connections, even if their clients do not close them. */
  cut(): void {
    // The end of the socket alone does not cancel calls at once.
    for (const [socket, session] of this.#sessions) {
      session?.destroy();
      socket.destroy();
    }
    this.#stop();
  }

  #stop(): void {
    unsubscribe(CREATED, this.#onCreated);
    clearInterval(this.#sweeping);
  }

  /** Serves a connection, which another server may have accepted. */
  accept(socket: Socket): void {
    const end = (): void => {
      this.#sessions.get(socket)?.destroy();
      socket.destroy();
    };
    const place = this.#places.enter({ end });
    if (place === undefined) {
      socket.destroy();
      return;
    }
    const { requests, limits } = this.#parts;
    const { streamsPerConnectionMax: streams, openingMs: withinMs } = limits;
    const floods = this.#floods;
    this.#sessions.set(socket, undefined);
    socket.once('close', () => {
      place.leave();
      this.#sessions.delete(socket);
    });
    const onOpen = (received: RequestBytes): void => {
      place.waits('idle');
      this.#begin(socket, new ConnectionStreams(streams, place), received);
    };
    // A connection that was closed at once, for lack of file descriptors, receives nothing: that is decided in this
    // turn.
    process.nextTick(() => {
      if (!socket.destroyed) announceSettings({ socket, streams, withinMs, requests, floods, onOpen });
    });
  }

  #begin(socket: Socket, streams: ConnectionStreams, requests: RequestBytes): void {
    const session = performServerHandshake(socket, HTTP2_OPTIONS);
    this.#sessions.set(socket, session);
    const onCrumbs = (): void => this.#endConnection(session, 'pieces');
    this.#served.set(session, { streams, requests, onCrumbs });
    this.#keepAlive(session);
    // A session with an error is closed.
    session.on('error', IGNORE);
    streams.onRaise = (maxConcurrentStreams) => {
      if (!session.destroyed && !session.closed) session.settings({ maxConcurrentStreams });
    };
    session.on('stream', (stream: Served, _headers: unknown, _flags: unknown, raw: readonly string[]) => {
      requests.count += headBytes(raw);
      if (raw.length > 2 * HEAD_LIMITS.headerPairsMax) this.#endConnection(session, 'headers');
      else stream[PEER]?.headers.handOn(raw);
    });
    if (this.#isClosing) session.close();
  }

  /** Pings at intervals, one ping at a time, and destroys a session that does not answer. */
  #keepAlive(session: ServerHttp2Session): void {
    const { pingEveryMs, pingTimeoutMs } = this.#parts.limits;
    let late: NodeJS.Timeout | undefined;
    const pinging = setInterval(() => {
      // A ping of a destroyed session throws, and its 'close' event comes later.
      if (session.destroyed || late !== undefined) return;
      late = setTimeout(() => session.destroy(), pingTimeoutMs).unref();
      ping(session, () => {
        clearTimeout(late);
        late = undefined;
      });
    }, pingEveryMs).unref();
    session.once('close', () => {
      clearInterval(pinging);
      clearTimeout(late);
    });
  }

  #created(message: unknown): void {
    if (!isCreation(message)) return;
    const { stream, headers } = message;
    const { session } = stream;
    const served = session && this.#served.get(session);
    if (session === undefined || served === undefined) return;
    const { streams, requests } = served;
    if (!streams.tryOpen()) {
      if (!streams.wastes(BEYOND_WASTE)) this.#endConnection(session, 'flood');
      this.#refuse(stream);
      return;
    }
    const rule = this.#rules.get(headers[':path'] ?? '') ?? NO_METHOD;
    const isFree = this.#freeProbes < FREE_PROBES_MAX && rule.isProbe;
    const open = isFree ? undefined : this.#parts.streams.of(session).tryTake(STREAM_BYTES, () => peer.evict());
    if (this.#streams.size >= STREAMS_MAX || (!isFree && open === undefined)) {
      open?.release();
      streams.cameWhole();
      requests.count += WINDOW_BYTES;
      stream.on('close', () => this.#closed(stream, session, streams));
      this.#refuse(stream);
      return;
    }
    if (isFree) this.#freeProbes += 1;
    const peer = this.#peerOf(stream, headers, { rule, open, connection: served });
    const number = this.#streams.add(peer);
    stream[PEER] = peer;
    stream.once('close', () => {
      this.#closed(stream, session, streams);
      this.#streams.remove(number);
      if (isFree) this.#freeProbes -= 1;
      // node:http2 may keep a closed stream until V8 collects the whole heap; the call must not stay with it.
      stream[PEER] = undefined;
      peer.closed();
    });
  }

  /** Ends a connection with too many refused or cancelled streams. */
  #closed({ rstCode }: ServerHttp2Stream, session: Http2Session, streams: ConnectionStreams): void {
    if (!streams.closed(rstCode === constants.NGHTTP2_NO_ERROR)) this.#endConnection(session, 'flood');
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
  #peerOf(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, parts: CallStreamParts): CallStream {
    const { rule } = parts;
    const fault = headFault(headers, rule.taken) ?? (rule === NO_METHOD ? unknownMethod(headers[':path']) : undefined);
    const peer = new CallStream(stream, headers, this.#parts, parts);
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

const PEER = Symbol('CallStream');

/** A property of the stream: entries of a WeakMap cost several times as much, most of it in garbage collection. */
interface Served extends ServerHttp2Stream {
  [PEER]?: CallStream | undefined;
}

interface Creation {
  readonly stream: Served;
  readonly headers: IncomingHttpHeaders;
}

function isCreation(message: unknown): message is Creation {
  return typeof message === 'object' && message !== null && 'stream' in message && 'headers' in message;
}

const IGNORE = (): void => undefined;

const REFUSED = new Error('The stream was refused');
