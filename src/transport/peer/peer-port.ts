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
import { PeerServer } from './peer-server.ts';
import { SecureDoor } from './secure-door.ts';
import type { Wire } from './wire.ts';

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

/** Opens the links of a node whose id is known; dials no node before `setPeers`. */
export async function openPeerLinks(options: LinksOptions & PortOptions): Promise<OpenPeerLinks> {
  return (await openPeerPort(options)).openLinks(options);
}

class BoundPort implements PeerPort {
  readonly #options: PortOptions;
  readonly #listener: Server;
  readonly #server: PeerServer;
  /** Verifies connections first, where TLS is used. */
  readonly #door: SecureDoor | undefined;
  #port = 0;
  #belonging: Belonging = { kind: 'starting' };
  #links: LaneLinks | undefined;
  #onJoin: (request: JoinRequest, asker: Asker) => Promise<JoinReply> = async () => NOT_YET;
  #onAdmin: Administer = async () => NOT_YET;

  constructor(options: PortOptions) {
    const { connectionsMax, tls, logger } = options;
    const limits = { ...PEER_LIMITS, ...options.limits };
    const onRefused = (fault: FrameFault): void => this.#links?.refused(undefined, fault);
    this.#options = options;
    this.#server = new PeerServer({
      belonging: () => this.#belonging,
      limits,
      connectionsMax,
      logger,
      onRefused,
      onLane: (connection, first) => this.#serveLane(connection, first),
      onJoin: (request, asker) => this.#join(request, asker),
      onAdmin: (request, asker) => this.#onAdmin(request, asker),
    });
    const onConnection = (socket: Socket): void => this.#server.take(socket);
    this.#door = tls && new SecureDoor({ tls, limits, connectionsMax, onConnection, onRefused });
    const served = this.#door ?? this.#server;
    this.#listener = createServer((socket) => served.take(socket));
    if (connectionsMax !== undefined) this.#listener.maxConnections = connectionsMax;
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
    this.#server.close();
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
