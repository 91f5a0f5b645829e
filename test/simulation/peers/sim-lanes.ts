/**
 * The links of one simulated process as they are in a real one (src/transport/peer): lanes with records, greetings,
 * questions and pauses, over simulated sockets (sim-wire.ts). What stores ask who join is carried as in sim-links.ts.
 *
 * Every frame that is handed on must be one that the other end has sent, bit for bit, or be refused.
 */
import {
  type JoinReply,
  type JoinRequest,
  type Lane,
  type NodeId,
  nativeCrc32,
  type OpenPeerLinks,
  type Peer,
} from '#cluster';
import { LaneLinks } from '../../../src/transport/peer/lane-links.ts';
import { PEER_LIMITS } from '../../../src/transport/peer/limits.ts';
import type { Isolate } from '../engine/isolate.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { Station } from './exchange.ts';
import { PEER_PORT, type SimLinksParts } from './sim-links.ts';
import { type SimWire, SimWorld } from './sim-wire.ts';

export interface SimLanesParts extends SimLinksParts {
  readonly simulator: Simulator;
}

type OnFrame = (frame: Uint8Array, lane: Lane) => void | Promise<void>;

export class SimLanes implements OpenPeerLinks, Station {
  readonly port: number = PEER_PORT;
  readonly #parts: SimLanesParts;
  readonly #world: SimWorld;
  readonly #links: LaneLinks;
  #refused = 0;
  #onJoin: ((request: JoinRequest) => Promise<JoinReply>) | undefined;

  constructor(parts: SimLanesParts) {
    const { simulator, exchange, thread, options } = parts;
    this.#parts = parts;
    this.#world = new SimWorld({ simulator, exchange, thread, host: options.host });
    const draw = (): number => exchange.random.share();
    this.#links = new LaneLinks({ ...options, port: PEER_PORT, world: this.#world, draw });
    exchange.enter(this);
  }

  get host(): string {
    return this.#parts.options.host;
  }

  get thread(): Isolate {
    return this.#parts.thread;
  }

  refused(): void {
    this.#refused += 1;
  }

  send(to: NodeId, lane: Lane, frame: Uint8Array): boolean {
    this.#parts.exchange.sent(digestOf(frame));
    return this.#links.send(to, lane, frame);
  }

  setPeers(peers: readonly Peer[]): void {
    this.#links.setPeers(peers);
  }

  onFrame(listener: OnFrame): void {
    this.#links.onFrame((frame, lane) => {
      const before = this.#refused;
      const digest = digestOf(frame);
      const taking = listener(frame, lane);
      const { exchange, onDeceived } = this.#parts;
      if (!exchange.wasSent(digest) && this.#refused === before) onDeceived('another node');
      return taking;
    });
  }

  onUnreachable(listener: (node: NodeId) => void): void {
    this.#links.onUnreachable(listener);
  }

  onReachable(listener: (node: NodeId) => void): void {
    this.#links.onReachable(listener);
  }

  onJoin(listener: (request: JoinRequest) => Promise<JoinReply>): void {
    this.#onJoin = listener;
  }

  async close(): Promise<void> {
    await this.#links.close();
    this.end(false);
  }

  /** The process has ended; with `isSilent` its machine, too. */
  end(isSilent: boolean): void {
    this.#parts.exchange.leave(this, isSilent);
    this.#world.end(isSilent);
    this.#onJoin = undefined;
  }

  /** Serves a connection as peer-server.ts does, which tells lanes from those who ask. */
  accept(): SimWire {
    const wire = this.#world.open();
    const stopWaiting = this.#world.after(PEER_LIMITS.silentMs, () => wire.destroy());
    wire.on('close', stopWaiting);
    wire.on('error', () => undefined);
    wire.on('data', (first) => {
      stopWaiting();
      wire.removeAllListeners('data');
      this.#links.serve(wire, first);
    });
    return wire;
  }

  answer(request: JoinRequest): Promise<JoinReply> | undefined {
    return this.#onJoin?.(request);
  }

  take(): void {
    throw new Error('Lanes carry bytes, and no letters');
  }

  /** Its sockets hear of it themselves. */
  lost(): void {}
}

function digestOf(frame: Uint8Array): number {
  return nativeCrc32(frame);
}
