// Nodes that only have peer links, over loopback, and a TCP proxy between them that can be cut and held.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { ByteReader, ByteWriter, type NodeId, toNodeId } from '#base';
import {
  beginFrame,
  type FrameFault,
  type FrameHeader,
  type Lane,
  nativeCrc32,
  type OpenPeerLinks,
  type Peer,
  type PeerIdentity,
  type PeerNote,
  type PeerObserver,
  toStoreId,
} from '#cluster';
import { openPeerPort, type PeerLimits, type PeerTls } from '#transport/peer';
import { type FrameContent, sealFrame } from '../../src/cluster/peer/frame.ts';
import { type LaneWorld, NET } from '../../src/transport/peer/wire.ts';
import { LoggedErrors } from './logged-errors.ts';

export const CLUSTER = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';
export const OTHER_CLUSTER = '0199a5c8-3c1e-7a2b-9f00-ffffffffffff';

/** Limits with short delays. */
export const QUICK: Partial<PeerLimits> = { backoffFirstMs: 10, backoffLastMs: 40 };

/** The same without pings, so that a link is lost only when its connection reports it. */
export const UNPINGED: Partial<PeerLimits> = { ...QUICK, pingEveryMs: 3_600_000 };

export function placeOf(node: number, store: number = node): PeerIdentity {
  return { node: toNodeId(node), store: toStoreId(`0199a5c8-3c1e-7a2b-9f00-${String(store).padStart(12, '0')}`) };
}

const HEADER_BYTES = 76;

/** A frame whose content is a number and this many additional bytes. */
export function numbered(header: FrameHeader, number: number, bytes = 0, content?: FrameContent): Uint8Array {
  const writer = new ByteWriter();
  beginFrame(writer, header, content);
  writer.u64le(number);
  writer.bytes(new Uint8Array(bytes));
  return sealFrame(writer.take(), nativeCrc32);
}

function numberIn(frame: Uint8Array): number {
  return new ByteReader(frame, HEADER_BYTES).u64le();
}

export interface Arrival {
  readonly lane: Lane;
  readonly number: number;
}

interface Both {
  sent: number;
  received: number;
}

/** Records the events of a node's links. */
export class Observed implements PeerObserver {
  readonly bytes: Both = { sent: 0, received: 0 };
  readonly failed: Both = { sent: 0, received: 0 };
  readonly trips: number[] = [];
  readonly notes: PeerNote[] = [];
  readonly drops: FrameFault['kind'][] = [];
  stops = 0;
  readonly refusedBy: NodeId[] = [];
  readonly duplicates: (string | undefined)[] = [];
  readonly reached: Map<NodeId, boolean> = new Map();

  sent(_node: NodeId, bytes: number): void {
    this.bytes.sent += bytes;
  }

  sendFailed(): void {
    this.failed.sent += 1;
  }

  received(_node: NodeId, bytes: number): void {
    this.bytes.received += bytes;
  }

  receiveFailed(_node: NodeId | undefined, { kind }: FrameFault): void {
    this.failed.received += 1;
    this.drops.push(kind);
  }

  stoppedReading(): void {
    this.stops += 1;
  }

  active(node: NodeId, isActive: boolean): void {
    this.reached.set(node, isActive);
  }

  refuses(node: NodeId): void {
    this.refusedBy.push(node);
  }

  duplicate(reason: string | undefined): void {
    this.duplicates.push(reason);
  }

  roundTrip(_node: NodeId, elapsedMs: number): void {
    this.trips.push(elapsedMs);
  }

  note(note: PeerNote): void {
    this.notes.push(note);
  }
}

/** Each node has another run id, like a separate process. */
let runs = 0;

export interface NodeOptions {
  readonly clusterId?: string;
  readonly limits?: Partial<PeerLimits>;
  readonly port?: number;
  readonly connectionsMax?: number;
  readonly tls?: PeerTls;
  readonly run?: number;
  readonly onDuplicate?: (words: string) => void;
  readonly world?: LaneWorld;
}

export class LinkedNode {
  readonly place: PeerIdentity;
  readonly clusterId: string;
  readonly run: number;
  readonly links: OpenPeerLinks;
  readonly observed: Observed;
  readonly logged: LoggedErrors['errors'];
  readonly arrived: Arrival[] = [];
  readonly unreachable: NodeId[] = [];
  readonly reachable: NodeId[] = [];
  /** Called for each frame, in addition to recording it. */
  onFrame: (frame: Uint8Array, lane: Lane) => void | Promise<void> = () => undefined;

  static async open(place: PeerIdentity, options: NodeOptions = {}): Promise<LinkedNode> {
    const { clusterId = CLUSTER, limits = QUICK, port = 0, connectionsMax, tls, run = ++runs } = options;
    const { onDuplicate, world = NET } = options;
    const observed = new Observed();
    const host = '127.0.0.1';
    const logger = new LoggedErrors();
    const parts = { observer: observed, logger, limits, connectionsMax, tls, world };
    const known = { clusterId, self: place, run, host, port, ...parts };
    const all = onDuplicate === undefined ? known : { ...known, onDuplicate };
    const links = (await openPeerPort(all)).openLinks(all);
    return new LinkedNode({ place, clusterId, run, observed, logged: logger.errors }, links);
  }

  private constructor(
    {
      place,
      clusterId,
      run,
      observed,
      logged,
    }: Pick<LinkedNode, 'place' | 'clusterId' | 'run' | 'observed' | 'logged'>,
    links: OpenPeerLinks,
  ) {
    this.place = place;
    this.clusterId = clusterId;
    this.run = run;
    this.links = links;
    this.observed = observed;
    this.logged = logged;
    links.onFrame((frame, lane) => {
      this.arrived.push({ lane, number: numberIn(frame) });
      return this.onFrame(frame, lane);
    });
    links.onUnreachable((node) => this.unreachable.push(node));
    links.onReachable((node) => this.reachable.push(node));
  }

  get peer(): Peer {
    return { ...this.place, host: '127.0.0.1', port: this.links.port };
  }

  send(to: PeerIdentity, lane: Lane, number: number, bytes = 0): boolean {
    const header = { clusterId: this.clusterId, from: this.place, to };
    return this.links.send(to.node, lane, numbered(header, number, bytes));
  }

  numbersOf(lane: Lane): readonly number[] {
    return this.arrived.filter((each) => each.lane === lane).map(({ number }) => number);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.links.close();
  }
}

/** A proxy to another port of this machine, which can be held. */
export class Wire {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isHeld = false;
  /** Number of connections so far. */
  dialled = 0;

  static async to(port: number): Promise<Wire> {
    const wire = new Wire(port);
    wire.#server.listen(0, '127.0.0.1');
    await once(wire.#server, 'listening');
    return wire;
  }

  private constructor(port: number) {
    this.#server = createServer((near) => {
      this.dialled += 1;
      const far = connect(port, '127.0.0.1');
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.on('data', (chunk) => {
          if (!this.#isHeld) other.write(chunk);
        });
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
      }
    });
  }

  get port(): number {
    const address: AddressInfo | string | null = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The wire is not there');
    return address.port;
  }

  get connectionCount(): number {
    return this.#sockets.size / 2;
  }

  /** Resets every connection; new ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Holds back all data without notice. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
  }

  [Symbol.dispose](): void {
    this.cut();
    this.#server.close();
  }
}
