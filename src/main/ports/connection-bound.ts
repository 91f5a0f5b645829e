/**
 * Limits the number of connections, so that they do not use the last file descriptors of the process and one port does
 * not use those of another. Log and store must be able to open files; operators and other nodes must be able to
 * connect.
 *
 * ```
 *   |<── log, store ──>|<─ metrics ─>|<─── peers ───>|<──────────────────── clients ────────────────────>|
 *    108, and           32, or an     512, or a       HTTP alone |<─── shared by both ────>| gRPC alone
 *    an eighth or 256   eighth        quarter         a quarter              half            a quarter
 * ```
 * Segments of histories get the eighth, which is that of the limit. The other shares divide the file descriptors that
 * remain after those of log and store. Half of the share of peers is for incoming connections.
 *
 * When a share is used up, a new connection replaces one that waits for a request, if there is one (ADR 0015).
 *
 * LevelDB does not recover from a failure to open a file: every later write fails, and the process has to exit.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { DatabaseError } from '#base';
import type { Logger, Metrics } from '#observability';
import { segmentFilesMax } from '#storage';

/** Without segments an idle node has about 40 open; a start, a compaction and a checkpoint take a few more. */
const RESERVED = 108;
/** With less than 32 connections a node is of no use. */
const FILES_MIN = 160;
/** Well above the number of scrapers, and of nodes in the largest clusters. */
const METRICS_MAX = 32;
const PEERS_MAX = 512;
const METRICS_PART = 1 / 8;
const PEERS_PART = 1 / 4;
/** Maximum share of the connections of clients that one port may use. */
const PORT_PART = 3 / 4;
/** Diagnostics channels of Node.js: a server has accepted a connection; this process has opened one. */
const ACCEPTED = 'net.server.socket';
const DIALLED = 'net.client.socket';
/** Maximum numbers of connections. */
export interface ConnectionShares {
  /** Client connections of all ports, including those that this node opens to relay requests. */
  readonly clients: number;
  /** Client connections of one port, gRPC or HTTP. */
  readonly clientsOfPort: number;
  readonly metrics: number;
  /** Incoming connections of other nodes; this node may open as many to them. */
  readonly peers: number;
}

/** @throws DatabaseError when the limit leaves no room for connections. */
export function connectionShares(filesMax: number, { hasPeers }: { readonly hasPeers: boolean }): ConnectionShares {
  if (filesMax < FILES_MIN) {
    const message = `This process may have ${filesMax} files open at a time, and a node needs ${FILES_MIN} at least: raise the limit (ulimit -n, LimitNOFILE)`;
    throw new DatabaseError('invalid_argument', message, { details: { reason: 'TooFewDescriptors' } });
  }
  const all = filesMax - RESERVED - segmentFilesMax(filesMax);
  const metrics = Math.min(METRICS_MAX, Math.floor(all * METRICS_PART));
  const peers = hasPeers ? Math.min(PEERS_MAX, Math.floor(all * PEERS_PART)) : 0;
  const clients = all - metrics - peers;
  return { clients, clientsOfPort: Math.floor(clients * PORT_PART), metrics, peers: Math.floor(peers / 2) };
}

const CLIENT_SERVERS = ['grpc', 'http', 'mcp'] as const;

type ClientServer = (typeof CLIENT_SERVERS)[number];

export type ServerName = ClientServer | 'metrics';

/** Closes the least useful connection of a port; returns false when all of them have a request in progress. */
export type MakeRoom = () => boolean;

/** A connection that was closed when it was accepted. */
export interface ClosedConnection {
  readonly server: ClientServer;
  /** The exceeded limit, and its value. */
  readonly bound: 'of the port' | 'of all clients';
  readonly countMax: number;
}

/** Counts the connections of the process, and closes idle or new ones beyond the shares. */
export class ConnectionBound implements Disposable {
  readonly #shares: ConnectionShares;
  readonly #onClosed: (closed: ClosedConnection) => void;
  readonly #servers = new Map<number, ServerName>();
  readonly #makesRoom = new Map<ServerName, MakeRoom>();
  readonly #open = { grpc: 0, http: 0, mcp: 0 };
  #clients = 0;
  readonly #onAccepted = (message: unknown): void => this.#accepted(message);
  readonly #onDialled = (message: unknown): void => this.#dialled(message);

  constructor(shares: ConnectionShares, onClosed: (closed: ClosedConnection) => void) {
    this.#shares = shares;
    this.#onClosed = onClosed;
    subscribe(ACCEPTED, this.#onAccepted);
    subscribe(DIALLED, this.#onDialled);
  }

  /**
   * Registers the port of a server, and how it frees a connection. Without `makeRoom`, new connections beyond the share
   * are closed. The metrics server limits its connections itself.
   */
  name(port: number, server: ServerName, makeRoom?: MakeRoom): void {
    this.#servers.set(port, server);
    if (makeRoom !== undefined) this.#makesRoom.set(server, makeRoom);
  }

  [Symbol.dispose](): void {
    unsubscribe(ACCEPTED, this.#onAccepted);
    unsubscribe(DIALLED, this.#onDialled);
  }

  #accepted(message: unknown): void {
    const socket = socketOf(message);
    const server = this.#servers.get(socket?.localPort ?? 0);
    if (socket === undefined || server === undefined || server === 'metrics') return;
    const { clients, clientsOfPort } = this.#shares;
    const isCrowded = this.#open[server] >= clientsOfPort;
    const isFull = isCrowded || this.#clients >= clients;
    // The evicted connection has no descriptor any more; it is counted out by its close event.
    if (!isFull || (this.#hasMadeRoom(server, isCrowded) && !socket.destroyed)) {
      this.#count(socket, server);
      return;
    }
    socket.destroy();
    if (isCrowded) this.#onClosed({ server, bound: 'of the port', countMax: clientsOfPort });
    else this.#onClosed({ server, bound: 'of all clients', countMax: clients });
  }

  /** The port evicts one of its own connections if it has used up its share; else ports with more connections may. */
  #hasMadeRoom(server: ClientServer, isCrowded: boolean): boolean {
    const others = isCrowded ? [] : CLIENT_SERVERS.filter((other) => this.#open[other] > this.#open[server]);
    return [server, ...others].some((name) => this.#makesRoom.get(name)?.() === true);
  }

  /** An outgoing connection serves a client, so it is counted but not closed. */
  #dialled(message: unknown): void {
    const socket = socketOf(message);
    if (socket !== undefined) this.#count(socket);
  }

  #count(socket: Socket, server?: ClientServer): void {
    this.#clients += 1;
    if (server !== undefined) this.#open[server] += 1;
    // Every node of a process counts all outgoing connections, and Node.js would warn of a leak.
    socket.setMaxListeners(socket.getMaxListeners() + 1);
    socket.once('close', () => {
      this.#clients -= 1;
      if (server !== undefined) this.#open[server] -= 1;
    });
  }
}

function socketOf(message: unknown): Socket | undefined {
  const socket = typeof message === 'object' && message !== null && 'socket' in message ? message.socket : undefined;
  return socket instanceof Socket ? socket : undefined;
}

/** Minimum time between two log lines about closed connections. */
const NOTE_EVERY_MS = 60_000;

/** Counts connections that were closed to save file descriptors, and logs some of them. */
export function closedConnections(logger: Logger, metrics: Metrics): (closed: ClosedConnection) => void {
  const total = metrics.counter('cairn_connections_closed_total', {});
  let notedMs = Number.NEGATIVE_INFINITY;
  return ({ server, bound, countMax }) => {
    total.add();
    const nowMs = performance.now();
    if (nowMs - notedMs < NOTE_EVERY_MS) return;
    notedMs = nowMs;
    const message = `${countMax} connections ${bound} are open, the maximum for the limit of open files; a new one of ${server} was closed. Raise the limit (ulimit -n, LimitNOFILE)`;
    logger.warn('connection-closed', { port: server, countMax, message });
  };
}
