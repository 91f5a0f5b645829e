/**
 * Listens. A connection becomes a session of node:http2 when its client has acknowledged the settings (opening.ts).
 *
 * Every session is pinged. A ping without an answer in time destroys the session, which cancels its calls.
 */
import { performServerHandshake, type ServerHttp2Session, type ServerOptions } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { ConnectionPlaces, type Waiting } from '../../connection-places.ts';
import type { FrameFloods } from '../../frame-floods.ts';
import { type HeldPort, listenOptions } from '../../held-port.ts';
import type { MemoryBudget } from '../../memory-budget.ts';
import { announceSettings, NO_HPACK_TABLE } from '../../opening.ts';
import type { SecurePorts } from '../../secure.ts';
import { type ReadingTurns, readHandleOf } from './reading-turns.ts';
import { ConnectionStreams } from './stream-limits.ts';

export interface ConnectionsOptions {
  /** Streams of a connection at a time. */
  readonly streams: number;
  readonly connectionsMax: number;
  /** A connection was closed for a new one. */
  readonly onDisplaced: (waiting: Waiting) => void;
  /** A client that has not acknowledged settings by then is disconnected. */
  readonly openingMs: number;
  readonly requests: MemoryBudget;
  readonly reading: ReadingTurns;
  readonly floods: FrameFloods;
  readonly http2: ServerOptions;
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
  readonly onSession: (session: ServerHttp2Session, socket: Socket, streams: ConnectionStreams) => void;
  /** Absent: there is no TLS. */
  readonly secure?: SecurePorts | undefined;
}

/** Where to listen. */
export interface ListenPlace {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Absent: the port is bound now. */
  readonly held?: HeldPort | undefined;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #server: Server;
  /** All open connections, including those without a stream. */
  readonly #sockets = new Set<Socket>();
  /** Connections without a session. */
  readonly #opening = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #places: ConnectionPlaces;
  #isClosing = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#places = new ConnectionPlaces(options.connectionsMax, options.onDisplaced);
    const accept = (socket: Socket): void => this.accept(socket);
    this.#server = options.secure?.createServer(accept) ?? createServer({ noDelay: true }, accept);
  }

  /** Binds and returns the port; rejects with the error of the system. */
  listen(place: ListenPlace): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(listenOptions(place, place.held), () => {
        this.#server.off('error', reject);
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : place.port);
      });
    });
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
    for (const session of this.#sessions) session.close();
    for (const socket of this.#opening) socket.destroy();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  /** Ends all connections, even if their clients do not close them. */
  cut(): void {
    // The end of the socket alone does not cancel calls at once.
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
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
    socket.once('close', () => place.leave());
    const { streams, openingMs: withinMs, requests, reading, floods } = this.#options;
    this.#sockets.add(socket);
    this.#opening.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#opening.delete(socket);
    });
    const opened = (): void => {
      this.#opening.delete(socket);
      const handle = readHandleOf(socket);
      reading.opened(handle);
      socket.once('close', () => reading.closed(handle));
      place.waits('idle');
      connection = new ConnectionStreams(streams, place);
      this.#begin(socket, connection);
    };
    // A connection that was closed at once, for lack of file descriptors, receives nothing: that is decided in this
    // turn.
    process.nextTick(() => {
      if (!socket.destroyed)
        announceSettings({ socket, streams, own: NO_HPACK_TABLE, withinMs, requests, floods, onOpen: opened });
    });
  }

  #begin(socket: Socket, streams: ConnectionStreams): void {
    const { http2, onSession } = this.#options;
    const session = performServerHandshake(socket, http2);
    this.#sessions.add(session);
    this.#keepAlive(session);
    session.once('close', () => this.#sessions.delete(session));
    // A session with an error is closed.
    session.on('error', () => undefined);
    onSession(session, socket, streams);
    if (this.#isClosing) session.close();
  }

  /** Pings at intervals, one ping at a time, and destroys a session that does not answer. */
  #keepAlive(session: ServerHttp2Session): void {
    const { pingEveryMs, pingTimeoutMs } = this.#options;
    let late: NodeJS.Timeout | undefined;
    const pinging = setInterval(() => {
      // A ping of a destroyed session throws, and its 'close' event comes later.
      if (session.destroyed || late !== undefined) return;
      late = setTimeout(() => session.destroy(), pingTimeoutMs).unref();
      session.ping(() => {
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
