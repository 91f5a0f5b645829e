// The sockets of one simulated process for the lanes of src/transport/peer: they behave like sockets of Node.js, over
// the byte streams of wire-way.ts.
//
// A thread detects the end of a connection when it reads or writes. When a process ends, its system closes its
// connections. When a machine loses power, they stay open, and later data is answered with a reset.
import type { Address } from '#base';
import type { LaneWorld, Wire } from '../../../src/transport/peer/wire.ts';
import type { Isolate } from '../engine/isolate.ts';
import type { Simulator } from '../engine/simulator.ts';
import type { PeerExchange } from './exchange.ts';
import { type WayEnd, WireWay } from './wire-way.ts';

export interface WorldParts {
  readonly simulator: Simulator;
  readonly exchange: PeerExchange;
  readonly thread: Isolate;
  readonly host: string;
  /** Called when a corrupted initial message was accepted. */
  readonly onBelieved: () => void;
}

type Listeners = {
  data: ((chunk: Uint8Array) => void)[];
  error: ((failure: Error) => void)[];
  close: (() => void)[];
};

/** Retransmission times of a connection request without an answer. */
const DIAL_AGAIN_US = [1_000_000, 2_000_000] as const;

/** Clock and connections of one process, for its lanes. */
export class SimWorld implements LaneWorld {
  readonly #parts: WorldParts;
  readonly #wires = new Set<SimWire>();
  /** The socket whose data is being delivered. */
  reading: SimWire | undefined;

  constructor(parts: WorldParts) {
    this.#parts = parts;
  }

  connect({ host }: Address): SimWire {
    const wire = this.open();
    this.#dial(wire, host, [...DIAL_AGAIN_US]);
    return wire;
  }

  /** Creates a socket of this process. */
  open(): SimWire {
    const wire = new SimWire(this.#parts, this);
    this.#wires.add(wire);
    return wire;
  }

  nowMs(): number {
    return this.#parts.thread.nowUs / 1000;
  }

  after(delayMs: number, run: () => void): () => void {
    let isStopped = false;
    this.#parts.thread.after(delayMs * 1000, 'lane timer', () => {
      if (!isStopped) run();
    });
    return () => void (isStopped = true);
  }

  every(intervalMs: number, run: () => void): () => void {
    let stop: () => void = () => undefined;
    const next = (): void => {
      stop = this.after(intervalMs, () => {
        next();
        run();
      });
    };
    next();
    return () => stop();
  }

  afterArrivals(run: () => void): void {
    this.#parts.thread.turn('lane arrivals', run);
  }

  closed(wire: SimWire): void {
    this.#wires.delete(wire);
  }

  /** Ends all sockets; with `isSilent` the machine is gone, too. */
  end(isSilent: boolean): void {
    for (const wire of this.#wires) wire.leave(isSilent);
    this.#wires.clear();
  }

  #dial(wire: SimWire, host: string, again: number[]): void {
    const { simulator, exchange, host: own } = this.#parts;
    const station = exchange.at(host);
    const isHeard = exchange.isOpen(own, host) && exchange.isOpen(host, own);
    if (!isHeard) {
      const waitUs = again.shift();
      if (waitUs !== undefined) simulator.after(waitUs, 'lane is dialled again', () => this.#dial(wire, host, again));
      return;
    }
    simulator.after(exchange.latencyUs(), 'lane is dialled', () => {
      const isThere = exchange.at(host) === station && !wire.isDeaf;
      const other = isThere ? station?.accept?.() : undefined;
      if (other instanceof SimWire) wire.joinTo(other);
      simulator.after(exchange.latencyUs(), 'lane is there', () => {
        if (other === undefined) wire.refuse();
        else wire.connected();
      });
    });
  }
}

export class SimWire implements Wire, WayEnd {
  readonly host: string;
  readonly #parts: WorldParts;
  readonly #world: Pick<SimWorld, 'closed' | 'reading'>;
  readonly #listeners: Listeners = { data: [], error: [], close: [] };
  #out: WireWay | undefined;
  #in: WireWay | undefined;
  /** Data written before the connection was established. */
  readonly #early: (() => void)[] = [];
  #isConnected = false;
  #isPaused = false;
  #isCorked = false;
  #isReset = false;
  #isLeft = false;
  #isDelivering = false;
  destroyed = false;
  isGone = false;
  /** True while received data is being processed: nothing more is read. */
  isHeld = false;

  constructor(parts: WorldParts, world: Pick<SimWorld, 'closed' | 'reading'>) {
    this.#parts = parts;
    this.#world = world;
    this.host = parts.host;
  }

  get writableLength(): number {
    return this.#out?.waitingBytes ?? 0;
  }

  get isDeaf(): boolean {
    return this.destroyed || this.#isLeft;
  }

  /** Connects this socket with an accepted one. */
  joinTo(accepted: SimWire): void {
    const { simulator, exchange, onBelieved } = this.#parts;
    const fate = { isHole: false, isFirstTurned: false };
    // The connecting side may only continue when both have introduced themselves and understood each other.
    this.#out = new WireWay({ simulator, exchange, from: this, to: accepted, fate, onMore: onBelieved });
    this.#in = new WireWay({ simulator, exchange, from: accepted, to: this, fate });
    accepted.#out = this.#in;
    accepted.#in = this.#out;
    accepted.#isConnected = true;
  }

  /** The other side has accepted: sends what was written before. */
  connected(): void {
    if (this.isDeaf) return this.#out?.end();
    this.#isConnected = true;
    for (const write of this.#early.splice(0)) write();
    this.#out?.move();
    this.arrived();
  }

  refuse(): void {
    this.#parts.thread.turn('lane is refused', () => this.destroy(new Error('connect ECONNREFUSED')));
  }

  write(bytes: Uint8Array, done?: (failure?: Error | null) => void): void {
    if (this.destroyed) return queueMicrotask(() => done?.(new Error('the stream was destroyed')));
    if (!this.#isConnected) return void this.#early.push(() => this.#out?.write(bytes, done));
    this.#out?.write(bytes, done);
    if (this.#isReset) this.#parts.thread.turn('lane is broken', () => this.destroy(new Error('write EPIPE')));
    else if (!this.#isCorked) this.#out?.move();
  }

  cork(): void {
    this.#isCorked = true;
  }

  uncork(): void {
    this.#isCorked = false;
    if (!this.destroyed && this.#isConnected) this.#out?.move();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.arrived();
  }

  end(): void {
    if (this.#isConnected) this.#out?.end();
    else this.#early.push(() => this.#out?.end());
  }

  destroy(failure?: Error): void {
    if (this.destroyed) return;
    this.destroyed = true;
    const lost = this.#close();
    queueMicrotask(() => {
      for (const done of lost) done(failure ?? new Error('the stream was destroyed'));
      if (failure !== undefined) for (const listener of this.#listeners.error) listener(failure);
      for (const listener of this.#listeners.close) listener();
    });
  }

  on<Event extends keyof Listeners>(event: Event, listener: Listeners[Event][number]): void {
    (this.#listeners[event] as Listeners[Event][number][]).push(listener);
  }

  removeAllListeners(event: 'data'): void {
    this.#listeners[event].length = 0;
  }

  /** The process has ended. */
  leave(isSilent: boolean): void {
    this.#isLeft = true;
    if (isSilent) this.isGone = true;
    else if (!this.destroyed) this.#close();
  }

  /** Data can be read when the thread gets to it. */
  arrived(): void {
    if (this.#isDelivering || this.#isPaused || this.isDeaf || !this.#isConnected) return;
    this.#isDelivering = true;
    this.#parts.thread.arrive('lane is read', () => {
      this.#isDelivering = false;
      this.#read();
    });
  }

  /** The other side does not know the connection, or the network has broken it. */
  reset(): void {
    this.#isReset = true;
    this.#out?.shut();
    this.arrived();
  }

  #read(): void {
    if (this.#isPaused || this.destroyed) return;
    if (this.#isReset) return this.destroy(new Error('read ECONNRESET'));
    if ((this.#in?.arrivedBytes ?? 0) > 0) {
      const bytes = this.#in?.read() ?? new Uint8Array(0);
      // The first listener may pass the connection on.
      const listeners = this.#listeners.data.slice();
      this.#world.reading = this;
      for (const listener of listeners) listener(bytes);
      this.#world.reading = undefined;
    }
    // A socket that has read everything including the end closes, too.
    if (!this.#isPaused && this.#in?.isOver === true) this.destroy();
  }

  /** The sender learns that unread data is lost. */
  #close(): readonly ((failure?: Error | null) => void)[] {
    const hasUnread = (this.#in?.arrivedBytes ?? 0) > 0;
    const lost = hasUnread ? this.#out?.breakOff() : this.#out?.abandon();
    this.#world.closed(this);
    return lost ?? [];
  }
}
