/**
 * Listens. A connection becomes a session of node:http2 when its client has acknowledged the settings (opening.ts).
 *
 * Every session is pinged. A ping without an answer in time destroys the session, which cancels its calls.
 */
import type { X509Certificate } from 'node:crypto';
import { type Http2Session, performServerHandshake, type ServerHttp2Session, type ServerOptions } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { listen } from '#base';
import { ConnectionPlaces } from '../../connection-places.ts';
import type { FrameFloods } from '../../frame-floods.ts';
import { ping } from '../../liveness.ts';
import { announceSettings, NO_HPACK_TABLE } from '../../opening.ts';
import { type HeldPort, listenOptions } from '../../server-options.ts';
import type { WireParts } from './parts.ts';
import { type ReadingTurns, readHandleOf } from './reading-turns.ts';
import { ConnectionStreams } from './stream-limits.ts';

/** Parts of the server around its connections. */
export interface ConnectionsOptions {
  readonly turns: ReadingTurns;
  readonly floods: FrameFloods;
  readonly onSession: (session: ServerHttp2Session, socket: Socket, streams: ConnectionStreams) => void;
}

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

/** Where to listen. */
export interface ListenPlace {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Absent: the port is bound now. */
  readonly held?: HeldPort | undefined;
}

export class Connections {
  readonly #parts: WireParts;
  readonly #options: ConnectionsOptions;
  readonly #server: Server;
  /** The session of each open connection; undefined until it has one. */
  readonly #sessions = new Map<Socket, ServerHttp2Session | undefined>();
  readonly #places: ConnectionPlaces;
  #isClosing = false;

  constructor(parts: WireParts, options: ConnectionsOptions) {
    const { limits, secure, onDisplaced } = parts;
    this.#parts = parts;
    this.#options = options;
    this.#places = new ConnectionPlaces(limits.connectionsMax, (waiting) => onDisplaced?.(waiting));
    const accept = (socket: Socket): void => this.accept(socket);
    this.#server = secure?.createServer(accept) ?? createServer({ noDelay: true }, accept);
  }

  listen(place: ListenPlace): Promise<number> {
    const { logger } = this.#parts;
    return listen(this.#server, listenOptions(place, place.held), { what: 'gRPC', setting: '--grpc-port' }, logger);
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
      this.#server.close(() => resolve());
    });
  }

  /** Ends all connections, even if their clients do not close them. */
  cut(): void {
    // The end of the socket alone does not cancel calls at once.
    for (const [socket, session] of this.#sessions) {
      session?.destroy();
      socket.destroy();
    }
  }

  /** Serves a connection, which another server may have accepted. */
  accept(socket: Socket): void {
    let connection: ConnectionStreams | undefined;
    const end = (): void => {
      connection?.onEnd?.();
      socket.destroy();
    };
    const place = this.#places.enter({ end });
    if (place === undefined) {
      socket.destroy();
      return;
    }
    const { requests, limits } = this.#parts;
    const { streamsPerConnectionMax: streams, openingMs: withinMs } = limits;
    const { turns, floods } = this.#options;
    this.#sessions.set(socket, undefined);
    socket.once('close', () => {
      place.leave();
      this.#sessions.delete(socket);
    });
    const opened = (): void => {
      const handle = readHandleOf(socket);
      turns.opened(handle);
      socket.once('close', () => turns.closed(handle));
      place.waits('idle');
      connection = new ConnectionStreams(streams, place);
      this.#begin(socket, connection);
    };
    // A connection that was closed at once, for lack of file descriptors, receives nothing: that is decided in this
    // turn.
    process.nextTick(() => {
      if (!socket.destroyed) announceSettings({ socket, streams, withinMs, requests, floods, onOpen: opened });
    });
  }

  #begin(socket: Socket, streams: ConnectionStreams): void {
    const session = performServerHandshake(socket, HTTP2_OPTIONS);
    this.#sessions.set(socket, session);
    this.#keepAlive(session);
    // A session with an error is closed.
    session.on('error', () => undefined);
    this.#options.onSession(session, socket, streams);
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
}

const certificates = new WeakMap<Http2Session, X509Certificate | 'none'>();

/**
 * The certificate that the client of a connection presented: the same object for all of its calls. Undefined: it
 * presented none, or there is no TLS.
 */
export function certificateOf(session: Http2Session | undefined): X509Certificate | undefined {
  if (session === undefined || session.destroyed) return undefined;
  const found = certificates.get(session) ?? readCertificate(session) ?? 'none';
  certificates.set(session, found);
  return found === 'none' ? undefined : found;
}

function readCertificate({ socket }: Http2Session): X509Certificate | undefined {
  return socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
}
