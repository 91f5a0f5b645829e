/**
 * The peer port: bound before the identity of the node is known, and its links from then on. It serves gRPC and
 * lanes of other nodes; the first bytes of a connection decide which of them.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { type ErrorLog, listen } from '#base';
import type {
  Administer,
  Asker,
  Belonging,
  FrameFault,
  JoinReply,
  JoinRequest,
  Newcomer,
  OpenPeerLinks,
  PeerLinksOptions,
  PeerPort,
  PeerPortOptions,
} from '#cluster';
import { createByteBudgets } from '../byte-budgets.ts';
import type { MethodMeter } from '../grpc/wire/method-traits.ts';
import type { WireLimits } from '../grpc/wire/parts.ts';
import { ENDED, refusalsOf } from '../grpc/wire/refusals.ts';
import { WireServer } from '../grpc/wire/server.ts';
import { STATUS_OF_CODE } from '../grpc/wire/status.ts';
import { LaneLinks, type LinksOptions } from './lane-links.ts';
import { HELLO_BEGINS, writeAnswer } from './lane-words.ts';
import { PEER_LIMITS, type PeerLimits } from './limits.ts';
import { peerMethods } from './peer-methods.ts';
import { SPEAKS_NO_TLS } from './peer-tls.ts';
import { SecureDoor, TLS_BEGINS } from './secure-door.ts';

interface PortOptions extends PeerPortOptions, Pick<LinksOptions, 'limits' | 'draw' | 'world' | 'tls'> {
  readonly logger: ErrorLog;
}

/**
 * Listens when the promise resolves.
 * @throws DatabaseError `unavailable` when the address cannot be bound.
 */
export async function openPeerPort(options: PortOptions): Promise<PeerPort> {
  const port = new BoundPort(options);
  await port.listen();
  return port;
}

/** Maximum number of gRPC connections, and their share of all. One more replaces an idle one. */
const CONNECTIONS_MAX = 64;
const CONNECTIONS_PART = 1 / 4;
/** Streams of one gRPC connection: no client needs more at once. */
const STREAMS_PER_CONNECTION = 16;
/** Bytes of a request to join, or of an admin request; and of all requests that arrive. */
const REQUEST_BYTES_MAX = 64 * 1024;
const REQUESTS_BYTES_MAX = 8 * 2 ** 20;
/** Bytes of unsent replies: some descriptions of many databases. */
const UNSENT_BYTES_MAX = 128 * 2 ** 20;
/** Time for a request to arrive, and for a reply to be read. */
const TRANSFER_MS = 30_000;

const NOTHING = (): void => undefined;
const UNMETERED: MethodMeter = { started: NOTHING, received: NOTHING, sent: NOTHING, ended: NOTHING };

class BoundPort implements PeerPort {
  readonly #options: PortOptions;
  readonly #limits: PeerLimits;
  readonly #listener: Server;
  readonly #server: WireServer;
  /** Accepted connections that are neither a lane nor gRPC yet. */
  readonly #unserved = new Set<Socket>();
  /** Verifies connections first, where TLS is used. */
  readonly #door: SecureDoor | undefined;
  #port = 0;
  #belonging: Belonging = { kind: 'starting' };
  #links: LaneLinks | undefined;
  #onJoin: (request: JoinRequest, asker: Asker) => Promise<JoinReply> = async () => NOT_YET;
  #onAdmin: Administer = async () => NOT_YET;

  constructor(options: PortOptions) {
    const { connectionsMax, tls } = options;
    this.#options = options;
    this.#limits = { ...PEER_LIMITS, ...options.limits };
    const limits = this.#limits;
    this.#server = this.#wireServer(limitsOf(limits, connectionsMax));
    const onConnection = (socket: Socket): void => this.#take(socket);
    const onRefused = (fault: FrameFault): void => this.#refused(fault);
    const door = tls && new SecureDoor({ tls, limits, connectionsMax, onConnection, onRefused });
    this.#door = door;
    this.#listener = createServer(door === undefined ? onConnection : (socket) => door.take(socket));
    if (connectionsMax !== undefined) this.#listener.maxConnections = connectionsMax;
  }

  #wireServer(limits: WireLimits): WireServer {
    return new WireServer({
      methods: peerMethods({
        belonging: () => this.#belonging,
        onJoin: (request, asker) => this.#join(request, asker),
        onAdmin: (request, asker) => this.#onAdmin(request, asker),
      }),
      limits,
      ...createByteBudgets({ requestBytesMax: REQUESTS_BYTES_MAX, unsentBytesMax: UNSENT_BYTES_MAX }),
      meterOf: () => UNMETERED,
      logger: this.#options.logger,
      statusOf: (failure, _method, onBug) => onBug(failure),
      onRefused: NOTHING,
      onConnectionEnded: (why, { socket }) => this.#refuse(socket, { kind: 'malformed', words: ENDED[why] }),
      refusals: refusalsOf(limits.callsMax, ({ code, message }, as = STATUS_OF_CODE[code]) => ({ code: as, message })),
    });
  }

  get port(): number {
    return this.#port;
  }

  async listen(): Promise<void> {
    const { host, port, logger } = this.#options;
    this.#port = await listen(this.#listener, { host, port }, { what: 'peers', setting: '--peer-port' }, logger);
  }

  introduce(newcomer: Newcomer): void {
    this.#belonging = newcomer;
  }

  openLinks(options: PeerLinksOptions): OpenPeerLinks {
    const links = new LaneLinks({ ...this.#options, ...options, port: this.#port });
    this.#links = links;
    this.#belonging = { kind: 'member', clusterId: options.clusterId };
    return {
      port: this.#port,
      send: (to, lane, frame) => links.send(to, lane, frame),
      isOpen: (to, lane) => links.isOpen(to, lane),
      setPeers: (peers) => links.setPeers(peers),
      onFrame: (listener) => links.onFrame(listener),
      onUnreachable: (listener) => links.onUnreachable(listener),
      onReachable: (listener) => links.onReachable(listener),
      onJoin: (listener) => {
        this.#onJoin = listener;
      },
      onAdmin: (listener) => {
        this.#onAdmin = listener;
      },
      close: () => this.#close(links),
    };
  }

  async #close(links: LaneLinks): Promise<void> {
    this.#listener.close();
    this.#door?.close();
    await links.close();
    for (const connection of this.#unserved) connection.destroy();
    this.#server.cut();
  }

  /** Serves a connection. Its first bytes tell what it is. */
  #take(connection: Socket): void {
    const silence = setTimeout(() => connection.destroy(), this.#limits.silentMs);
    const served = (): void => {
      clearTimeout(silence);
      this.#unserved.delete(connection);
      connection.off('close', served);
    };
    this.#unserved.add(connection);
    connection.once('close', served).once('error', NOTHING);
    connection.once('data', (first: Buffer) => {
      if (first[0] === TLS_BEGINS) return this.#refuseTls(connection);
      served();
      if (first[0] === HELLO_BEGINS) return this.#serveLane(connection.setNoDelay(true), first);
      connection.pause();
      connection.unshift(first);
      this.#server.connections.accept(connection);
    });
  }

  #refused(fault: FrameFault): void {
    this.#links?.refused(undefined, fault);
  }

  #refuse({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>, fault: FrameFault): void {
    this.#refused({ ...fault, words: `${remoteAddress}:${remotePort}: ${fault.words}` });
  }

  /** Without TLS, the other side recognises any answer as such, and ends; if it does not, a timeout ends it. */
  #refuseTls(connection: Socket): void {
    const words = 'it speaks TLS, and this node was started without --peer-secret-file and --peer-tls-cert-file';
    this.#refuse(connection, { kind: 'handshake', words });
    connection.end(writeAnswer({ kind: 'refused', reason: SPEAKS_NO_TLS }));
    connection.resume();
  }

  /** A copy of a node must not replace the address of the original in the catalog (TP12). */
  #join(request: JoinRequest, asker: Asker): Promise<JoinReply> {
    const { registration, run } = request;
    const fault = this.#links?.duplicate(registration.storeId, { run, address: registration.peer });
    if (fault === undefined) return this.#onJoin(request, asker);
    this.#refused(fault);
    return Promise.resolve({ kind: 'later', reason: fault.words });
  }

  #serveLane(connection: Socket, first: Uint8Array): void {
    if (this.#links !== undefined) return this.#links.serve(connection, first);
    // No answer, because the caller would interpret it as a refusal, and this node is starting, or belongs to no
    // cluster yet.
    connection.destroy();
  }
}

const NOT_YET = { kind: 'later', reason: 'the node is starting' } as const;

function limitsOf(limits: PeerLimits, connectionsMax: number = Number.POSITIVE_INFINITY): WireLimits {
  return {
    requestBytesMax: REQUEST_BYTES_MAX,
    streamsPerConnectionMax: STREAMS_PER_CONNECTION,
    lastingStreamsMax: STREAMS_PER_CONNECTION,
    openingMs: limits.silentMs,
    connectionsMax: Math.max(1, Math.min(CONNECTIONS_MAX, Math.floor(connectionsMax * CONNECTIONS_PART))),
    callsMax: { waiting: 0, reading: 0 },
    pingEveryMs: limits.pingEveryMs,
    pingTimeoutMs: limits.pingTimeoutMs,
    receiveMs: TRANSFER_MS,
    lingerMs: TRANSFER_MS,
  };
}
