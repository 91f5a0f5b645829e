/**
 * Connections to the gRPC servers of other nodes, for what is relayed there.
 *
 * ```
 *   dialled ── its settings have come ──> open ── as many streams as it takes ──> full ── one ends ──> open
 *      └── too slow, refused ──> gone      └── silent, going away, idle for long ──> gone
 * ```
 *
 * Whoever was not heard of lately is asked whether it is there before a stream is begun, for what was not begun may be
 * asked of somebody else (TM6); and again and again for as long as a stream waits for it.
 *
 * They are plain HTTP/2, not channels of grpc-js: the frames of a reply then pass as they come, many in one piece, and
 * a stream that the other node has refused to begin can be told from one that broke (ADR 0044). The settings of the
 * other side are awaited because its kernel accepts connections also when its process does not run.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { Holder } from '#service';
import type { Dial } from '../secure.ts';
import { afterSilence } from '../silence.ts';

/** Fewer than a node takes on one connection (GRPC_LIMITS). */
const STREAMS_MAX = 900;
const DIAL_MS = 1_000;
/** Whoever was heard of so lately is taken to be there, and is asked again after that. */
const FRESH_MS = 1_000;
/** Whoever does not say for so long that it is there, while streams wait for it, is silent. */
const SILENT_MS = 2_000;
const IDLE_MS = 300_000;
const HTTPS_PORT = 443;

/** What a stream may send that is not read; all of them together are bounded by their number. */
const STREAM_WINDOW_BYTES: number = 64 * 1024 - 1;
/** Of all streams on a connection: more than a round trip between zones carries. */
const CONNECTION_WINDOW_BYTES: number = 8 * 1024 * 1024;
/** node:http2 refuses streams of a connection beyond it. */
const SESSION_MEMORY_MB = 256;

/** Where the gRPC server of a node is; it speaks TLS if its HTTP server does. Undefined: the node has not said. */
export function originOf({ grpc, http }: Pick<Holder, 'grpc' | 'http'>): string | undefined {
  return grpc === '' ? undefined : `${http.startsWith('https:') ? 'https' : 'http'}://${grpc}`;
}

export class RelayConnections {
  readonly #dial: Dial;
  readonly #lines = new Map<string, Line>();
  #isClosed = false;

  /** How nodes are reached that speak TLS. */
  constructor(dial: Dial) {
    this.#dial = dial;
  }

  /**
   * A stream to the origin, of a connection that is open; undefined: it cannot be had in time. Rejects when the signal
   * comes first.
   */
  async open(
    origin: string,
    headers: OutgoingHttpHeaders,
    signal: AbortSignal,
  ): Promise<ClientHttp2Stream | undefined> {
    const line = this.#lines.get(origin) ?? new Line(origin, this.#dial);
    this.#lines.set(origin, line);
    while (!this.#isClosed) {
      const connection = line.withRoom();
      const isThere = await (connection?.isThere() ?? line.dialled());
      signal.throwIfAborted();
      if (connection?.hasRoom === true) return connection.request(headers);
      if (connection === undefined && !isThere) break;
    }
    if (line.isEmpty) this.#lines.delete(origin);
    return undefined;
  }

  /** Ends all of them, with what is on them. */
  close(): void {
    this.#isClosed = true;
    for (const line of this.#lines.values()) line.close();
    this.#lines.clear();
  }
}

/** Connections to one node. */
class Line {
  readonly #origin: string;
  readonly #dialSecurely: Dial;
  readonly #connections = new Set<Connection>();
  #dialling: Promise<boolean> | undefined;

  constructor(origin: string, dial: Dial) {
    this.#origin = origin;
    this.#dialSecurely = dial;
  }

  get isEmpty(): boolean {
    return this.#connections.size === 0 && this.#dialling === undefined;
  }

  /** Undefined when there is no connection that takes one stream more. */
  withRoom(): Connection | undefined {
    for (const connection of this.#connections) if (connection.hasRoom) return connection;
    return undefined;
  }

  /** Resolves when there is a connection more, or with false when there is none in time. Several may wait for one. */
  dialled(): Promise<boolean> {
    this.#dialling ??= this.#dial();
    return this.#dialling;
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  async #dial(): Promise<boolean> {
    const connection = new Connection(this.#origin, this.#dialSecurely, () => this.#connections.delete(connection));
    this.#connections.add(connection);
    const isOpen = await connection.opened;
    this.#dialling = undefined;
    return isOpen;
  }
}

class Connection {
  readonly opened: Promise<boolean>;
  readonly #session: ClientHttp2Session;
  #isOpen = false;
  #streamCount = 0;
  #heardMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<boolean> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(origin: string, dial: Dial, onGone: () => void) {
    const { protocol, hostname, port } = new URL(origin);
    // The port of the protocol is none in a URL.
    const place = { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port || HTTPS_PORT) };
    this.#session = connect(origin, {
      ...(protocol === 'https:' && { createConnection: () => dial(place, 'h2') }),
      maxSessionMemory: SESSION_MEMORY_MB,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.opened = promise;
    const stop = afterSilence(DIAL_MS, () => this.destroy());
    this.#session.once('remoteSettings', () => {
      stop();
      this.#session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      this.#isOpen = true;
      this.#heard();
      resolve(true);
    });
    // What it says is of no use: whoever waits for a stream hears of it there.
    this.#session.on('error', () => undefined);
    this.#session.once('close', () => {
      stop();
      clearTimeout(this.#timer);
      onGone();
      resolve(false);
    });
  }

  get hasRoom(): boolean {
    return this.#isOpen && !this.#session.closed && !this.#session.destroyed && this.#streamCount < STREAMS_MAX;
  }

  /** Whether the other side answers, by what it has said lately or says now; otherwise the connection is gone. */
  async isThere(): Promise<boolean> {
    return performance.now() < this.#heardMs + FRESH_MS || this.#ask(DIAL_MS);
  }

  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    const stream = this.#session.request(headers, { endStream: false });
    this.#streamCount += 1;
    if (this.#streamCount === 1) this.#watch();
    stream.once('response', () => this.#heard());
    stream.once('close', () => {
      this.#streamCount -= 1;
      if (this.#streamCount === 0) this.#rest();
    });
    return stream;
  }

  destroy(): void {
    this.#session.destroy();
  }

  /** Asks again and again whether the other side is there, while somebody waits for it. */
  #watch(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), FRESH_MS);
  }

  async #look(): Promise<void> {
    const isThere = await this.#ask(SILENT_MS);
    if (isThere && this.#streamCount > 0) this.#watch();
  }

  #ask(silentMs: number): Promise<boolean> {
    this.#asking ??= this.#askOnce(silentMs);
    return this.#asking;
  }

  async #askOnce(silentMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const stop = afterSilence(silentMs, () => resolve(false));
    // Of a connection that ends meanwhile the callback comes with an error.
    const isSent = !this.#session.destroyed && this.#session.ping((error) => resolve(error === null));
    if (!isSent) resolve(false);
    const isThere = await promise;
    stop();
    this.#asking = undefined;
    if (isThere) this.#heard();
    else this.destroy();
    return isThere;
  }

  #heard(): void {
    this.#heardMs = performance.now();
  }

  /** Nobody waits; before long nobody is asked any more. */
  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#session.close(), IDLE_MS).unref();
  }
}

/**
 * Drops what is unsent of the request as well: a stream that is only closed may outlive its connection (`PeerStream`).
 */
export function cancelStream(stream: ClientHttp2Stream): void {
  stream.close(constants.NGHTTP2_CANCEL);
  stream.destroy();
}
