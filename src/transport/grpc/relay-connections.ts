/**
 * Connections to the gRPC servers of other nodes, for calls that are relayed there.
 *
 * They are plain HTTP/2, not channels of grpc-js: the frames of a reply then pass as they come, many in one piece, and
 * a stream that the other node has refused to begin can be told from one that broke (ADR 0044). The settings of the
 * other side are awaited because its kernel accepts connections also when its process does not run.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2';
import type { Holder } from '#service';
import { Liveness, ping } from '../liveness.ts';
import type { Dial } from '../secure.ts';
import { CALL_HEADERS } from './wire/outgoing-call.ts';

/** Streams that may wait for the settings of the other side; afterwards those say how many a connection takes. */
const STREAMS_BEFORE_SETTINGS = 100;
/** A connection without streams is closed after it. */
const IDLE_MS = 300_000;
const HTTPS_PORT = 443;

/** Unread bytes of a stream. The number of streams bounds their sum. */
const STREAM_WINDOW_BYTES: number = 64 * 1024 - 1;
/** Unread bytes of all streams on a connection: more than a round trip between zones carries. */
const CONNECTION_WINDOW_BYTES: number = 8 * 1024 * 1024;
/** node:http2 refuses streams of a connection beyond it. */
const SESSION_MEMORY_MB = 256;

export class RelayConnections {
  readonly #dial: Dial;
  readonly #connections = new Set<Connection>();
  #isClosed = false;

  /** `dial`: how nodes with TLS are reached. */
  constructor(dial: Dial) {
    this.#dial = dial;
  }

  /**
   * A stream to the holder, on a connection whose other side answers. Undefined: none can be had in time, or the signal
   * came first.
   */
  async open(
    { grpc, http }: Pick<Holder, 'grpc' | 'http'>,
    headers: OutgoingHttpHeaders,
    signal: AbortSignal,
  ): Promise<ClientHttp2Stream | undefined> {
    // The gRPC server speaks TLS if the HTTP server does.
    const origin = `${http.startsWith('https:') ? 'https' : 'http'}://${grpc}`;
    if (grpc === '') return undefined;
    while (!this.#isClosed) {
      const connection = this.#withRoom(origin) ?? this.#begin(origin);
      const wasOpen = connection.isOpen;
      const isThere = await connection.isThere();
      if (signal.aborted || (!isThere && !wasOpen)) break;
      if (connection.hasRoom && connection.isOpen) return connection.request(headers);
    }
    return undefined;
  }

  /** Ends all of them, with what is on them. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.destroy();
  }

  #withRoom(origin: string): Connection | undefined {
    for (const connection of this.#connections) {
      if (connection.origin === origin && connection.hasRoom) return connection;
    }
    return undefined;
  }

  #begin(origin: string): Connection {
    const connection = new Connection(origin, this.#dial, () => this.#connections.delete(connection));
    this.#connections.add(connection);
    return connection;
  }
}

class Connection {
  readonly origin: string;
  /** True when the settings of the other side have arrived. */
  isOpen = false;
  readonly #session: ClientHttp2Session;
  readonly #liveness = new Liveness((silent) => this.#probe(silent));
  #streamCount = 0;

  constructor(origin: string, dial: Dial, onGone: () => void) {
    this.origin = origin;
    const { protocol, hostname, port } = new URL(origin);
    // A URL does not have the port of its protocol.
    const place = { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port || HTTPS_PORT) };
    this.#session = connect(origin, {
      ...(protocol === 'https:' && { createConnection: () => dial(place, 'h2') }),
      maxSessionMemory: SESSION_MEMORY_MB,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    this.#session.once('remoteSettings', () => {
      this.isOpen = true;
      this.#session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      this.#session.setTimeout(IDLE_MS);
    });
    this.#session.on('timeout', () => {
      if (this.#streamCount === 0) this.#session.close();
    });
    // Callers that wait for a stream see that the connection closes.
    this.#session.on('error', () => undefined).once('close', onGone);
  }

  /** Also true before it is open. */
  get hasRoom(): boolean {
    const { maxConcurrentStreams = STREAMS_BEFORE_SETTINGS } = this.isOpen ? this.#session.remoteSettings : {};
    return !this.#session.closed && !this.#session.destroyed && this.#streamCount < maxConcurrentStreams;
  }

  /** Returns whether the other side answers. If not, the connection is closed. */
  isThere(): Promise<boolean> {
    return this.#liveness.isThere();
  }

  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    const stream = this.#session.request({ ...CALL_HEADERS, ...headers }, { endStream: false });
    const unwatch = this.#liveness.watch(() => this.destroy());
    this.#streamCount += 1;
    stream.once('response', () => this.#liveness.heard());
    stream.once('close', () => {
      unwatch();
      this.#streamCount -= 1;
    });
    return stream;
  }

  destroy(): void {
    this.#session.destroy();
  }

  /** Waits for the settings of the other side, and later for the answer to a ping. */
  async #probe(silent: AbortSignal): Promise<boolean> {
    const session = this.#session;
    const isThere = await new Promise<boolean>((resolve) => {
      const fail = (): void => resolve(false);
      silent.addEventListener('abort', fail);
      if (session.destroyed) fail();
      else if (!this.isOpen) session.once('remoteSettings', () => resolve(true)).once('close', fail);
      // When the connection ends meanwhile, the callback receives an error.
      else ping(session, (error) => resolve(error === null));
    });
    if (!isThere) this.destroy();
    return isThere;
  }
}
