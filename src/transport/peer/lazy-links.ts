/**
 * Links that cost a single node little: the port is bound, and gRPC is loaded with the first connection or the first
 * other node.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { cannotListen } from '#base';
import type {
  Administer,
  Asker,
  Belonging,
  FrameFault,
  JoinReply,
  JoinRequest,
  Lane,
  Newcomer,
  NodeId,
  OpenPeerLinks,
  Peer,
  PeerLinksOptions,
  PeerPort,
  PeerPortOptions,
} from '#cluster';
import type { LaneLinks, LinksOptions } from './lane-links.ts';
import { PEER_LIMITS } from './limits.ts';
import type { PeerServer } from './peer-server.ts';
import type { SecureDoor } from './secure-door.ts';
import type { Wire } from './wire.ts';

type OnFrame = (frame: Uint8Array, lane: Lane) => void | Promise<void>;

type PortOptions = PeerPortOptions & Pick<LinksOptions, 'limits' | 'draw' | 'world' | 'tls'>;

/**
 * Listens when the promise resolves.
 * @throws DatabaseError `unavailable` when the address cannot be bound.
 */
export async function openPeerPort(options: PortOptions): Promise<PeerPort> {
  const port = new LazyPeerLinks(options);
  await port.listen();
  return port;
}

/** Opens the links of a node whose id is known; dials no node before `setPeers`. */
export async function openPeerLinks(options: LinksOptions): Promise<OpenPeerLinks> {
  return (await openPeerPort(options)).openLinks(options);
}

class LazyPeerLinks implements OpenPeerLinks, PeerPort {
  readonly #options: PortOptions;
  readonly #server: Server;
  /** Connections that were accepted before their server was loaded. */
  readonly #waiting = new Set<Socket>();
  #port = 0;
  #loading: Promise<void> | undefined;
  #belonging: Belonging = { kind: 'starting' };
  /** Options of the node, once it is known. */
  #own: PeerLinksOptions | undefined;
  #links: LaneLinks | undefined;
  #served: PeerServer | undefined;
  /** Handles TLS first, where it is used. */
  #door: SecureDoor | undefined;
  #peers: readonly Peer[] = [];
  #isClosed = false;
  #onFrame: OnFrame = () => undefined;
  #onUnreachable: (node: NodeId) => void = () => undefined;
  #onReachable: (node: NodeId) => void = () => undefined;
  #onJoin: (request: JoinRequest, asker: Asker) => Promise<JoinReply> = async () => NOT_YET;
  #onAdmin: Administer = async () => NOT_YET;

  constructor(options: PortOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
    if (options.connectionsMax !== undefined) this.#server.maxConnections = options.connectionsMax;
  }

  get port(): number {
    return this.#port;
  }

  listen(): Promise<void> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once('error', (cause) => reject(cannotListen('peers', '--peer-port', { host, port }, cause)));
      this.#server.listen({ host, port }, () => {
        const address = this.#server.address();
        this.#port = typeof address === 'object' && address !== null ? address.port : port;
        resolve();
      });
    });
  }

  introduce(newcomer: Newcomer): void {
    this.#belonging = newcomer;
  }

  openLinks(options: PeerLinksOptions): OpenPeerLinks {
    this.#own = options;
    this.#belonging = { kind: 'member', clusterId: options.clusterId };
    // A previous question has loaded the code that links need.
    if (this.#loading !== undefined) this.#loading = this.#loading.then(() => this.#open());
    return this;
  }

  send(to: NodeId, lane: Lane, frame: Uint8Array): boolean {
    if (this.#links !== undefined) return this.#links.send(to, lane, frame);
    this.#own?.observer.sendFailed(to, lane === 'beats');
    return false;
  }

  isOpen(to: NodeId, lane: Lane): boolean {
    return this.#links?.isOpen(to, lane) ?? false;
  }

  setPeers(peers: readonly Peer[]): void {
    this.#peers = peers;
    if (this.#links !== undefined) this.#links.setPeers(peers);
    else if (peers.some(({ node }) => node !== this.#own?.self.node)) this.#load();
  }

  onFrame(listener: OnFrame): void {
    this.#onFrame = listener;
  }

  onUnreachable(listener: (node: NodeId) => void): void {
    this.#onUnreachable = listener;
  }

  onReachable(listener: (node: NodeId) => void): void {
    this.#onReachable = listener;
  }

  onJoin(listener: (request: JoinRequest, asker: Asker) => Promise<JoinReply>): void {
    this.#onJoin = listener;
  }

  onAdmin(listener: Administer): void {
    this.#onAdmin = listener;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#onFrame = () => undefined;
    this.#onUnreachable = () => undefined;
    this.#onReachable = () => undefined;
    this.#server.close();
    for (const socket of this.#waiting) socket.destroy();
    await this.#loading;
    this.#door?.close();
    await this.#links?.close();
    this.#served?.close();
  }

  #accept(socket: Socket): void {
    if (this.#isClosed) return void socket.destroy();
    if (this.#served !== undefined) return (this.#door ?? this.#served).take(socket);
    socket.once('error', () => undefined);
    socket.once('close', () => this.#waiting.delete(socket));
    this.#waiting.add(socket);
    this.#load();
  }

  #load(): void {
    this.#loading ??= this.#open();
  }

  async #open(): Promise<void> {
    const [{ LaneLinks: Links }, { PeerServer: Served }, { SecureDoor: Door }] = await Promise.all([
      import('./lane-links.ts'),
      import('./peer-server.ts'),
      import('./secure-door.ts'),
    ]);
    if (this.#isClosed) return;
    const limits = { ...PEER_LIMITS, ...this.#options.limits };
    if (this.#own !== undefined && this.#links === undefined) {
      this.#links = this.#linked(new Links({ ...this.#options, ...this.#own, port: this.#port }));
    }
    if (this.#served !== undefined) return;
    const { connectionsMax, tls } = this.#options;
    const onRefused = (fault: FrameFault): void => this.#links?.refused(undefined, fault);
    const served = new Served({
      belonging: () => this.#belonging,
      limits,
      connectionsMax,
      onRefused,
      onLane: (connection, first) => this.#serveLane(connection, first),
      onJoin: (request, asker) => this.#join(request, asker),
      onAdmin: (request, asker) => this.#onAdmin(request, asker),
    });
    this.#served = served;
    const onConnection = (socket: Socket): void => served.take(socket);
    if (tls !== undefined) this.#door = new Door({ tls, limits, connectionsMax, onConnection, onRefused });
    for (const socket of this.#waiting) (this.#door ?? served).take(socket);
    this.#waiting.clear();
  }

  /** A copy of a node must not replace the address of the original in the catalog (TP12). */
  #join(request: JoinRequest, asker: Asker): Promise<JoinReply> {
    const { registration, run } = request;
    const fault = this.#links?.duplicate(registration.storeId, { run, address: registration.peer });
    if (fault === undefined) return this.#onJoin(request, asker);
    this.#links?.refused(undefined, fault);
    return Promise.resolve({ kind: 'later', reason: fault.words });
  }

  #linked(links: LaneLinks): LaneLinks {
    links.onFrame((frame, lane) => this.#onFrame(frame, lane));
    links.onUnreachable((node) => this.#onUnreachable(node));
    links.onReachable((node) => this.#onReachable(node));
    links.setPeers(this.#peers);
    return links;
  }

  #serveLane(connection: Wire, first: Uint8Array): void {
    if (this.#links !== undefined) return this.#links.serve(connection, first);
    // No answer, because the caller would interpret it as a refusal, and this node is starting, or belongs to no
    // cluster yet.
    connection.destroy();
  }
}

const NOT_YET = { kind: 'later', reason: 'the node is starting' } as const;
