/** The peer port: bound before the identity of the node is known, and its links from then on. */
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
import { LaneLinks, type LinksOptions } from './lane-links.ts';
import { PEER_LIMITS } from './limits.ts';
import type { PeerServer } from './peer-server.ts';
import type { SecureDoor } from './secure-door.ts';
import type { Wire } from './wire.ts';

interface PortOptions extends PeerPortOptions, Pick<LinksOptions, 'limits' | 'draw' | 'world' | 'tls'> {
  readonly logger: ErrorLog;
}

/** Servers of the connections. The door verifies them first, where TLS is used. */
interface Serving {
  readonly server: PeerServer;
  readonly door: SecureDoor | undefined;
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

/** Opens the links of a node whose id is known; dials no node before `setPeers`. */
export async function openPeerLinks(options: LinksOptions & PortOptions): Promise<OpenPeerLinks> {
  return (await openPeerPort(options)).openLinks(options);
}

class BoundPort implements PeerPort {
  readonly #options: PortOptions;
  readonly #server: Server;
  #port = 0;
  #serving: Promise<Serving> | undefined;
  #belonging: Belonging = { kind: 'starting' };
  #links: LaneLinks | undefined;
  #isClosed = false;
  #onJoin: (request: JoinRequest, asker: Asker) => Promise<JoinReply> = async () => NOT_YET;
  #onAdmin: Administer = async () => NOT_YET;

  constructor(options: PortOptions) {
    this.#options = options;
    this.#server = createServer((socket) => void this.#accept(socket));
    if (options.connectionsMax !== undefined) this.#server.maxConnections = options.connectionsMax;
  }

  get port(): number {
    return this.#port;
  }

  async listen(): Promise<void> {
    const { host, port, logger } = this.#options;
    this.#port = await listen(this.#server, { host, port }, { what: 'peers', setting: '--peer-port' }, logger);
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
    this.#isClosed = true;
    this.#server.close();
    const serving = await this.#serving;
    serving?.door?.close();
    await links.close();
    serving?.server.close();
  }

  async #accept(socket: Socket): Promise<void> {
    socket.once('error', () => undefined);
    this.#serving ??= this.#serve();
    const { door, server } = await this.#serving;
    if (this.#isClosed) socket.destroy();
    else if (!socket.destroyed) (door ?? server).take(socket);
  }

  /** Loads the servers, which a node without others does not need. */
  async #serve(): Promise<Serving> {
    const [{ PeerServer: Served }, { SecureDoor: Door }] = await Promise.all([
      import('./peer-server.ts'),
      import('./secure-door.ts'),
    ]);
    const limits = { ...PEER_LIMITS, ...this.#options.limits };
    const { connectionsMax, tls, logger } = this.#options;
    const onRefused = (fault: FrameFault): void => this.#links?.refused(undefined, fault);
    const server = new Served({
      belonging: () => this.#belonging,
      limits,
      connectionsMax,
      logger,
      onRefused,
      onLane: (connection, first) => this.#serveLane(connection, first),
      onJoin: (request, asker) => this.#join(request, asker),
      onAdmin: (request, asker) => this.#onAdmin(request, asker),
    });
    const onConnection = (socket: Socket): void => server.take(socket);
    return { server, door: tls && new Door({ tls, limits, connectionsMax, onConnection, onRefused }) };
  }

  /** A copy of a node must not replace the address of the original in the catalog (TP12). */
  #join(request: JoinRequest, asker: Asker): Promise<JoinReply> {
    const { registration, run } = request;
    const fault = this.#links?.duplicate(registration.storeId, { run, address: registration.peer });
    if (fault === undefined) return this.#onJoin(request, asker);
    this.#links?.refused(undefined, fault);
    return Promise.resolve({ kind: 'later', reason: fault.words });
  }

  #serveLane(connection: Wire, first: Uint8Array): void {
    if (this.#links !== undefined) return this.#links.serve(connection, first);
    // No answer, because the caller would interpret it as a refusal, and this node is starting, or belongs to no
    // cluster yet.
    connection.destroy();
  }
}

const NOT_YET = { kind: 'later', reason: 'the node is starting' } as const;
