/**
 * Keeps connections from taking the last file descriptors of the process, and the connections of one port from taking
 * those of another: log and store must be able to open files, operators and other nodes must get in.
 *
 * ```
 *   |<── log, store ──>|<─ metrics ─>|<─── peers ───>|<──────────────────── clients ────────────────────>|
 *    128                32, or an     512, or a       HTTP alone |<──── whoever comes ────>| gRPC alone
 *                       eighth        quarter         a quarter              half            a quarter
 * ```
 * The shares are of what is left of the limit behind log and store. Half of those of peers are for whoever dials this
 * node.
 *
 * A further connection replaces one that waits for a request (ADR 0015), if there is one.
 *
 * LevelDB never gets over a file that it could not open: every later write fails, and the process has to end.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { DatabaseError } from '#base';
import type { Logger, Metrics } from '#observability';

/** An idle node has about 40 open; a start, a compaction and a checkpoint take a few more at a time. */
const RESERVED = 128;
/** A node that can serve nobody is of no use. */
const CONNECTIONS_MIN = 32;
/** Far more than there are scrapers, and a few hundred nodes. */
const METRICS_MAX = 32;
const PEERS_MAX = 512;
const METRICS_PART = 1 / 8;
const PEERS_PART = 1 / 4;
/** Of the connections of clients, what one port may have. */
const PORT_PART = 3 / 4;
/** Node's names for: a server has accepted a connection, and this process dials somebody. */
const ACCEPTED = 'net.server.socket';
const DIALLED = 'net.client.socket';
/** Linux: the soft limit, which Node has raised to the hard one by then. */
const LIMIT_LINE = /^Max open files\s+(\d+)/m;

/** How many files the process may have open; undefined where that cannot be read, or is not limited. */
export function openFilesMax(): number | undefined {
  try {
    const [, soft] = LIMIT_LINE.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** The most connections at a time. */
export interface ConnectionShares {
  /** Of clients on all ports; what this node dials for them counts, too. */
  readonly clients: number;
  /** Of those, on the port of gRPC or of HTTP. */
  readonly clientsOfPort: number;
  readonly metrics: number;
  /** That other nodes have dialled; this one may have dialled as many. */
  readonly peers: number;
}

/** @throws DatabaseError when the limit leaves no room for connections. */
export function connectionShares(filesMax: number, { hasPeers }: { readonly hasPeers: boolean }): ConnectionShares {
  const all = filesMax - RESERVED;
  if (all < CONNECTIONS_MIN) {
    const message = `This process may have ${filesMax} files open at a time, and a node needs ${RESERVED + CONNECTIONS_MIN} at least: raise the limit (ulimit -n, LimitNOFILE)`;
    throw new DatabaseError('invalid_argument', message, { details: { reason: 'TooFewDescriptors' } });
  }
  const metrics = Math.min(METRICS_MAX, Math.floor(all * METRICS_PART));
  const peers = hasPeers ? Math.min(PEERS_MAX, Math.floor(all * PEERS_PART)) : 0;
  const clients = all - metrics - peers;
  return { clients, clientsOfPort: Math.floor(clients * PORT_PART), metrics, peers: Math.floor(peers / 2) };
}

const CLIENT_SERVERS = ['grpc', 'http', 'mcp'] as const;

export type ServerName = (typeof CLIENT_SERVERS)[number] | 'metrics';

/** Closes the connection of a port that is worth least; false: all are being answered. */
export type MakeRoom = () => boolean;

/** A connection that was closed as it came. */
export interface ClosedConnection {
  readonly server: 'grpc' | 'http' | 'mcp';
  /** Which of the two was reached, and how many that is. */
  readonly bound: 'of the port' | 'of all clients';
  readonly countMax: number;
}

/** From its making on, of connections beyond the shares closes those that are worth least, or as they come. */
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
   * Says whose port it is, and how it makes room; absent: what comes beyond its share is closed. The server of metrics
   * bounds its connections itself.
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
    if (isCrowded || this.#clients >= clients) {
      // What that closes is counted out when its end is told of; it has no descriptor any more.
      if (this.#hasMadeRoom(server, isCrowded) && !socket.destroyed) {
        this.#count(socket, server);
        return;
      }
      socket.destroy();
      const reached = isCrowded
        ? ({ bound: 'of the port', countMax: clientsOfPort } as const)
        : ({ bound: 'of all clients', countMax: clients } as const);
      this.#onClosed({ server, ...reached });
      return;
    }
    this.#count(socket, server);
  }

  /** The port itself has to, if it has its share; else those with more connections may, too. */
  #hasMadeRoom(server: Exclude<ServerName, 'metrics'>, isCrowded: boolean): boolean {
    const others = isCrowded ? [] : CLIENT_SERVERS.filter((other) => this.#open[other] > this.#open[server]);
    return [server, ...others].some((name) => this.#makesRoom.get(name)?.() === true);
  }

  #count(socket: Socket, server: Exclude<ServerName, 'metrics'>): void {
    this.#clients += 1;
    this.#open[server] += 1;
    whenClosed(socket, () => {
      this.#clients -= 1;
      this.#open[server] -= 1;
    });
  }

  /** It serves connections that have come, so it is not closed. */
  #dialled(message: unknown): void {
    const socket = socketOf(message);
    if (socket === undefined) return;
    this.#clients += 1;
    whenClosed(socket, () => {
      this.#clients -= 1;
    });
  }
}

const leaving = new WeakMap<Socket, (() => void)[]>();

/**
 * Every node of a process counts what any of them dials. They share one listener on each socket: Node warns of a leak
 * where one has more than ten.
 */
function whenClosed(socket: Socket, leave: () => void): void {
  const known = leaving.get(socket);
  if (known !== undefined) {
    known.push(leave);
    return;
  }
  const all = [leave];
  leaving.set(socket, all);
  socket.once('close', () => {
    for (const each of all) each();
  });
}

function socketOf(message: unknown): Socket | undefined {
  const socket = typeof message === 'object' && message !== null && 'socket' in message ? message.socket : undefined;
  return socket instanceof Socket ? socket : undefined;
}

/** The log names a repeated crowd at most once in this time. */
const NOTE_EVERY_MS = 60_000;

/** Counts connections that were closed for want of file descriptors, and logs some of them. */
export function closedConnections(logger: Logger, metrics: Metrics): (closed: ClosedConnection) => void {
  const total = metrics.counter('cairn_connections_closed_total', {});
  let notedMs = Number.NEGATIVE_INFINITY;
  return ({ server, bound, countMax }) => {
    total.add();
    const nowMs = performance.now();
    if (nowMs - notedMs < NOTE_EVERY_MS) return;
    notedMs = nowMs;
    const message = `${countMax} connections ${bound} are open, which is the most within the limit of open files; another one of ${server} was closed as it came. Raise the limit (ulimit -n, LimitNOFILE)`;
    logger.warn('connection-closed', { port: server, countMax, message });
  };
}
