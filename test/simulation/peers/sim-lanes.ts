// The links of one simulated process with the real lanes (src/transport/peer: records, greetings, pings and pauses)
// over simulated sockets (sim-wire.ts). Join requests are transported as in sim-links.ts.
//
// Every delivered frame must equal a sent one, bit for bit, or be refused. It must be for this process and arrive after
// all frames that were sent before it (frame-ledger.ts). A connection must not be used after a bit flip in its greeting
// or the answer to it.
import { type NodeId } from '#base';
import { type JoinReply, type JoinRequest, type Lane, nativeCrc32, type OpenPeerLinks, type Peer } from '#cluster';
import { LaneLinks } from '../../../src/transport/peer/lane-links.ts';
import { PEER_LIMITS } from '../../../src/transport/peer/limits.ts';
import type { Isolate } from '../engine/isolate.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { Station } from './exchange.ts';
import { PEER_PORT, type SimLinksParts } from './sim-links.ts';
import { type SimWire, SimWorld } from './sim-wire.ts';

export interface SimLanesParts extends SimLinksParts {
  readonly simulator: Simulator;
  /** Called when a lane has delivered a wrong frame. */
  readonly onFlaw: (what: string) => void;
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
    const { simulator, exchange, thread, options, onFlaw } = parts;
    this.#parts = parts;
    const onBelieved = (): void => onFlaw('a lane is used though its greeting or its answer had a turned bit');
    this.#world = new SimWorld({ simulator, exchange, thread, host: options.host, onBelieved });
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
    const { exchange } = this.#parts;
    const { ledger } = exchange;
    exchange.saw(frame);
    const digest = nativeCrc32(frame);
    ledger.offered(digest);
    const isTaken = this.#links.send(to, lane, frame);
    if (isTaken) ledger.taken(lane, frame, digest);
    return isTaken;
  }

  isOpen(to: NodeId, lane: Lane): boolean {
    return this.#links.isOpen(to, lane);
  }

  setPeers(peers: readonly Peer[]): void {
    this.#links.setPeers(peers);
  }

  onFrame(listener: OnFrame): void {
    this.#links.onFrame((frame, lane) => {
      const { exchange, options, onDeceived, onFlaw } = this.#parts;
      const before = this.#refused;
      const flaw = exchange.ledger.heard(lane, frame, nativeCrc32(frame), options.self);
      const taking = listener(frame, lane);
      if (flaw === 'changed' && this.#refused === before) onDeceived('another node');
      if (flaw === 'astray' || flaw === 'out of order') onFlaw(`a frame of lane ${lane} is ${flaw}`);
      const { reading } = this.#world;
      if (reading?.isHeld === true) onFlaw(`a frame of lane ${lane} is read while one before it is being taken`);
      if (taking !== undefined && reading !== undefined) hold(reading, taking);
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

  /** Ends the links of the dead process; with `isSilent` its machine is gone, too. */
  end(isSilent: boolean): void {
    this.#parts.exchange.leave(this, isSilent);
    this.#world.end(isSilent);
    this.#onJoin = undefined;
  }

  /** Accepts a connection like peer-port.ts, which distinguishes lanes from other requests. */
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

  /** Its sockets detect it themselves. */
  lost(): void {}
}

function hold(wire: SimWire, taking: Promise<void>): void {
  wire.isHeld = true;
  const goOn = (): void => void (wire.isHeld = false);
  taking.then(goOn, goOn);
}
