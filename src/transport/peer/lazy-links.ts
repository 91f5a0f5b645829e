/**
 * Links that cost a node that is alone next to nothing: a port is bound, and what speaks gRPC is loaded when the first
 * connection arrives or the first other node is named.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { DatabaseError, formatAddress } from '#base';
import type { Administer, FrameFault, JoinReply, JoinRequest, Lane, NodeId, OpenPeerLinks, Peer } from '#cluster';
import type { LaneLinks, LinksOptions } from './lane-links.ts';
import { PEER_LIMITS } from './limits.ts';
import type { PeerServer } from './peer-server.ts';
import type { SecureDoor } from './secure-door.ts';

type OnFrame = (frame: Uint8Array, lane: Lane) => void | Promise<void>;

/**
 * Listens when the promise resolves; dials nobody before `setPeers`.
 * @throws DatabaseError `unavailable` when the address cannot be had.
 */
export async function openPeerLinks(options: LinksOptions): Promise<OpenPeerLinks> {
  const links = new LazyPeerLinks(options);
  await links.listen();
  return links;
}

class LazyPeerLinks implements OpenPeerLinks {
  readonly #options: LinksOptions;
  readonly #server: Server;
  /** Accepted, and nobody is there yet to serve them. */
  readonly #waiting = new Set<Socket>();
  #port = 0;
  #loading: Promise<void> | undefined;
  #links: LaneLinks | undefined;
  #served: PeerServer | undefined;
  /** Where TLS is spoken, it comes first. */
  #door: SecureDoor | undefined;
  #peers: readonly Peer[] = [];
  #isClosed = false;
  #onFrame: OnFrame = () => undefined;
  #onUnreachable: (node: NodeId) => void = () => undefined;
  #onReachable: (node: NodeId) => void = () => undefined;
  #onJoin: (request: JoinRequest) => Promise<JoinReply> = async () => NOT_YET;
  #onAdmin: Administer = async () => NOT_YET;

  constructor(options: LinksOptions) {
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
      this.#server.once('error', (cause) => {
        const message = `Cannot listen for peers on ${formatAddress({ host, port })}: ${cause.message}`;
        reject(new DatabaseError('unavailable', message, { cause }));
      });
      this.#server.listen({ host, port }, () => {
        const address = this.#server.address();
        this.#port = typeof address === 'object' && address !== null ? address.port : port;
        resolve();
      });
    });
  }

  send(to: NodeId, lane: Lane, frame: Uint8Array): boolean {
    if (this.#links !== undefined) return this.#links.send(to, lane, frame);
    this.#options.observer.sendFailed(to, lane === 'beats');
    return false;
  }

  setPeers(peers: readonly Peer[]): void {
    this.#peers = peers;
    if (this.#links !== undefined) this.#links.setPeers(peers);
    else if (peers.some(({ node }) => node !== this.#options.self.node)) this.#load();
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

  onJoin(listener: (request: JoinRequest) => Promise<JoinReply>): void {
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
    const { clusterId, connectionsMax, tls } = this.#options;
    const limits = { ...PEER_LIMITS, ...this.#options.limits };
    const links = new Links({ ...this.#options, port: this.#port });
    const onRefused = (fault: FrameFault): void => links.refused(undefined, fault);
    const served = new Served({
      clusterId,
      limits,
      onRefused,
      onLane: (connection, first) => links.serve(connection, first),
      onJoin: (request) => this.#onJoin(request),
      onAdmin: (request, asker) => this.#onAdmin(request, asker),
    });
    links.onFrame((frame, lane) => this.#onFrame(frame, lane));
    links.onUnreachable((node) => this.#onUnreachable(node));
    links.onReachable((node) => this.#onReachable(node));
    this.#links = links;
    this.#served = served;
    const onConnection = (socket: Socket): void => served.take(socket);
    if (tls !== undefined) this.#door = new Door({ tls, limits, connectionsMax, onConnection, onRefused });
    links.setPeers(this.#peers);
    for (const socket of this.#waiting) (this.#door ?? served).take(socket);
    this.#waiting.clear();
  }
}

const NOT_YET = { kind: 'later', reason: 'the node is starting' } as const;
