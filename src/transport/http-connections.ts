/**
 * The connections of a server of node:http: their number, their states, and the progress of bodies and of answers. A
 * client that reads nothing of its answer for a minute is cut off.
 *
 * ```
 *   asks ── its body comes ── without progress ──> evicted before those that make some (connection-places.ts)
 *    └── is answered ── takes nothing of what waits for it, for a minute ──> cut off
 * ```
 *
 * The socket timeout of node:http counts bytes that the kernel has accepted as progress.
 */
import type { ServerOptions as HttpOptions, IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorLog, formatAddress, listen } from '#base';
import { ConnectionPlaces, type Place, type Waiting } from './connection-places.ts';
import type { SecurePorts } from './secure.ts';
import { type ListenPlace, listenAddress } from './server-options.ts';

// An import would also load what node:http loads lazily: a client for the web.
const { createServer } = process.getBuiltinModule('node:http');

export interface HttpConnectionsOptions {
  readonly max: number;
  /** With TLS a request names the TLS socket, and the connection event the TCP socket beneath it. */
  readonly isSecure: boolean;
  /** A client that takes nothing of a waiting answer for so long is disconnected. Default: `STALLED_ANSWER_MS`. */
  readonly answerMs?: number | undefined;
  /** Called for a connection that is closed for a new one. */
  readonly onDisplaced: (waiting: Waiting) => void;
}

/** Limit without progress. gRPC's `lingerMs` is as long, but limits the whole time after a call has ended. */
export const STALLED_ANSWER_MS = 60_000;

/** Idle timeout of a connection, longer than that of common load balancers (60 s). */
export const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** Period of checks for the timeouts of requests. */
export const TIMEOUT_LOOK_MS = 1_000;

/** A server of node:http with these bounds on its requests. */
export function createHttpServer(
  secure: SecurePorts | undefined,
  bounds: Pick<HttpOptions, 'maxHeaderSize' | 'headersTimeout' | 'requestTimeout' | 'requireHostHeader'>,
  listener: RequestListener,
): Server {
  const times = { connectionsCheckingInterval: TIMEOUT_LOOK_MS, keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS };
  return (secure?.createHttpServer ?? createServer)({ ...bounds, ...times }, listener);
}

/** A body that brings so much between two checks makes progress. */
const BODY_BYTES_PER_LOOK = 2 * 1024;
const LOOK_MS = 1_000;

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class HttpConnections {
  readonly #server: Server;
  readonly #isSecure: boolean;
  readonly #places: ConnectionPlaces;
  readonly #open = new Set<Connection>();
  readonly #bySocket = new WeakMap<object, Connection>();
  /** Connections in their TLS handshake. */
  readonly #byPeer = new Map<string, Connection>();
  readonly #looking: NodeJS.Timeout;

  constructor(server: Server, options: HttpConnectionsOptions) {
    this.#server = server;
    this.#isSecure = options.isSecure;
    server.timeout = options.answerMs ?? STALLED_ANSWER_MS;
    this.#places = new ConnectionPlaces(options.max, options.onDisplaced);
    const asked = (request: IncomingMessage, response: ServerResponse): void => {
      this.#bySocket.get(request.socket)?.asked({ request, response });
    };
    server.on('connection', (socket: Socket) => this.#came(socket));
    if (options.isSecure) server.on('secureConnection', (socket: Socket) => this.#secured(socket));
    server.on('request', asked).on('checkContinue', asked);
    this.#looking = setInterval(() => this.#open.forEach((each) => each.lookAtBody()), LOOK_MS).unref();
  }

  /** Closes the connection that has waited longest for a complete request; false: none waits. */
  makeRoom(): boolean {
    return this.#places.makeRoom();
  }

  /** Listens, and returns the URL. @throws DatabaseError `unavailable` when the address cannot be bound. */
  async listen(place: ListenPlace, port: Parameters<typeof listen>[2], logger: ErrorLog): Promise<string> {
    const bound = await listen(this.#server, listenAddress(place), port, logger);
    return `${this.#isSecure ? 'https' : 'http'}://${formatAddress({ host: place.host, port: bound })}`;
  }

  /** Stops listening, waits for the end of streams, and closes idle connections; at the deadline all. */
  async close(deadlineMs: number, endStreams: () => Promise<void> = async () => undefined): Promise<void> {
    clearInterval(this.#looking);
    // Node counts connections that have sent nothing, or have got everything, as busy.
    for (const { socket } of this.#open) if (socket.bytesRead === 0 || socket.writableFinished) socket.destroy();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    await endStreams();
    this.#server.closeIdleConnections();
    const deadline = setTimeout(() => this.#server.closeAllConnections(), deadlineMs);
    await closed;
    clearTimeout(deadline);
  }

  #came(socket: Socket): void {
    const connection = new Connection(socket);
    const place = this.#places.enter(connection);
    if (place === undefined) {
      socket.destroy();
      return;
    }
    connection.place = place;
    this.#open.add(connection);
    this.#bySocket.set(socket, connection);
    const peer = peerOf(socket);
    if (this.#isSecure) this.#byPeer.set(peer, connection);
    socket.once('close', () => {
      place.leave();
      this.#open.delete(connection);
      if (this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer);
    });
  }

  #secured(socket: Socket): void {
    const peer = peerOf(socket);
    const connection = this.#byPeer.get(peer);
    this.#byPeer.delete(peer);
    if (connection === undefined) return;
    connection.socket = socket;
    this.#bySocket.set(socket, connection);
  }
}

class Connection {
  place: Place | undefined;
  /** The TLS socket, once there is one. */
  socket: Socket;
  readonly #beneath: Socket;
  #last: Exchange | undefined;
  #unanswered = 0;
  #isArriving = false;
  #readBytes = 0;

  constructor(socket: Socket) {
    this.socket = socket;
    this.#beneath = socket;
  }

  end(): void {
    this.#beneath.destroy();
    this.socket.destroy();
  }

  isBusy(): boolean {
    return this.#isArriving && !this.#awaitsBody();
  }

  asked(asked: Exchange): void {
    const { request, response } = asked;
    this.#last = asked;
    this.#unanswered += 1;
    if (hasBody(request)) request.once('end', () => this.#settle());
    // Without a listener node:http would also close a connection whose request is being handled.
    response.on('timeout', () => {
      if (this.socket.writableLength > 0) this.end();
    });
    response.once('close', () => {
      this.#unanswered -= 1;
      this.#settle();
    });
    this.#settle();
  }

  /** A connection whose body makes progress is evicted after those whose body does not. */
  lookAtBody(): void {
    if (!this.#isArriving) return;
    const { bytesRead } = this.socket;
    if (bytesRead - this.#readBytes >= BODY_BYTES_PER_LOOK) this.place?.waits('body');
    this.#readBytes = bytesRead;
  }

  #settle(): void {
    this.#isArriving = this.#awaitsBody();
    if (this.#unanswered === 0) this.place?.waits('idle');
    else if (this.#isArriving) {
      this.#readBytes = this.socket.bytesRead;
      this.place?.waits('body');
    } else this.place?.works();
  }

  /** True when its only request is incomplete, and no answer has begun. */
  #awaitsBody(): boolean {
    const { request, response } = this.#last ?? {};
    if (request === undefined || response === undefined || this.#unanswered !== 1) return false;
    return hasBody(request) && !request.complete && !response.headersSent;
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Key of a connection: the same for its TCP socket and its TLS socket. */
function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
