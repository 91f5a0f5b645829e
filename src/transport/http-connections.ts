/**
 * The connections of a server of node:http: how many there are, what each of them waits for, and whether those that are
 * read, or read, keep a pace.
 *
 * ```
 *   asks ── its body comes ── at no pace ──> makes room before those that keep one (connection-places.ts)
 *    └── is answered ── takes too little of it, look after look ──> cut off
 * ```
 *
 * Of an answer the kernel takes what its buffers hold, whoever reads it; the pace is of what has left this process.
 * Looks are counted, not time: a node that is late itself finds nobody slow.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ConnectionPlaces, type Place, type Waiting } from './connection-places.ts';

/** What a client takes of an answer that waits for it, and in how much time. */
export interface AnswerPace {
  readonly bytes: number;
  readonly ms: number;
}

export interface HttpConnectionsOptions {
  /** Connections at a time. */
  readonly max: number;
  /** Those of the server are told of above TLS, and the others beneath it. */
  readonly isSecure: boolean;
  readonly answerPace: AnswerPace;
  /** One was closed for one that came. */
  readonly onDisplaced: (waiting: Waiting) => void;
}

/** Slower than any reader that somebody waits for; as long as gRPC gives for the same. */
export const ANSWER_PACE: AnswerPace = { bytes: 64 * 1024, ms: 60_000 };

/** An idle connection is kept this long, longer than the idle time of common load balancers (60 s). */
export const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** A body that brings so much between two looks is not one that stands still. */
const BODY_BYTES_PER_LOOK = 2 * 1024;
const LOOK_MS = 1_000;

interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class HttpConnections {
  readonly #options: HttpConnectionsOptions;
  readonly #places: ConnectionPlaces;
  readonly #open = new Set<Connection>();
  readonly #bySocket = new WeakMap<object, Connection>();
  /** Those in their handshake. */
  readonly #byPeer = new Map<string, Connection>();
  readonly #looking: NodeJS.Timeout;

  constructor(server: Server, options: HttpConnectionsOptions) {
    this.#options = options;
    this.#places = new ConnectionPlaces(options.max, options.onDisplaced);
    const asked = (request: IncomingMessage, response: ServerResponse): void => {
      this.#bySocket.get(request.socket)?.asked({ request, response });
    };
    server.on('connection', (socket: Socket) => this.#came(socket));
    if (options.isSecure) server.on('secureConnection', (socket: Socket) => this.#secured(socket));
    server.on('request', asked).on('checkContinue', asked);
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Closes the connection that has waited longest for a whole request; false: none waits. */
  makeRoom(): boolean {
    return this.#places.makeRoom();
  }

  close(): void {
    clearInterval(this.#looking);
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
    if (this.#options.isSecure) this.#byPeer.set(peer, connection);
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

  #look(): void {
    const looksMax = Math.max(1, Math.round(this.#options.answerPace.ms / LOOK_MS));
    for (const connection of this.#open) {
      connection.lookAtBody();
      if (connection.missesPace(this.#options.answerPace.bytes, looksMax)) connection.end();
    }
  }
}

class Connection {
  place: Place | undefined;
  /** Above TLS, as soon as there is one. */
  socket: Socket;
  readonly #beneath: Socket;
  #last: Asked | undefined;
  #unanswered = 0;
  #isArriving = false;
  #readBytes = 0;
  #takenBytes = 0;
  #looks = 0;

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

  asked(asked: Asked): void {
    const { request, response } = asked;
    this.#last = asked;
    this.#unanswered += 1;
    if (hasBody(request)) request.once('end', () => this.#settle());
    response.once('close', () => {
      this.#unanswered -= 1;
      this.#settle();
    });
    this.#settle();
  }

  /** Whoever brings something of a body is asked to make room behind those who do not. */
  lookAtBody(): void {
    if (!this.#isArriving) return;
    const { bytesRead } = this.socket;
    if (bytesRead - this.#readBytes >= BODY_BYTES_PER_LOOK) this.place?.waits('body');
    this.#readBytes = bytesRead;
  }

  /** Counts a look; whether there were so many in which too little was taken of what waits to be. */
  missesPace(bytes: number, looksMax: number): boolean {
    const { unsent, taken } = outgoing(this.socket);
    if (unsent === 0 || taken - this.#takenBytes >= bytes) {
      this.#takenBytes = taken;
      this.#looks = 0;
      return false;
    }
    this.#looks += 1;
    return this.#looks > looksMax;
  }

  #settle(): void {
    this.#isArriving = this.#awaitsBody();
    if (this.#unanswered === 0) this.place?.waits('idle');
    else if (this.#isArriving) {
      this.#readBytes = this.socket.bytesRead;
      this.place?.waits('body');
    } else this.place?.works();
  }

  /** Nothing but a request is there that has not come whole, and nobody has begun to answer it. */
  #awaitsBody(): boolean {
    const { request, response } = this.#last ?? {};
    if (request === undefined || response === undefined || this.#unanswered !== 1) return false;
    return hasBody(request) && !request.complete && !response.headersSent;
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** What waits to be taken by the kernel, and what that has taken. Node tells of both beneath its sockets only. */
function outgoing(socket: Socket): { readonly unsent: number; readonly taken: number } {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (!isWriting(handle)) return { unsent: 0, taken: 0 };
  const { writeQueueSize, bytesWritten } = handle;
  return { unsent: writeQueueSize, taken: bytesWritten - writeQueueSize };
}

interface Writing {
  readonly writeQueueSize: number;
  readonly bytesWritten: number;
}

function isWriting(handle: unknown): handle is Writing {
  return typeof handle === 'object' && handle !== null && 'writeQueueSize' in handle && 'bytesWritten' in handle;
}

/** Of the two sockets of a connection, the one beneath and the one above, the same. */
function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
