// The sockets of the lanes of one simulated process: what a socket of Node does, over the ways of wire-way.ts. The
// lanes themselves are those of src/transport/peer.
//
// A thread hears of what has happened to a connection when it reads or writes. When a process ends its system closes
// its connections; when a machine loses its power nobody does, and what is sent to it later is answered with a reset.
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
  /** What somebody said first was turned on its way, and was believed. */
  readonly onBelieved: () => void;
}

type Listeners = {
  data: ((chunk: Uint8Array) => void)[];
  error: ((failure: Error) => void)[];
  close: (() => void)[];
};

/** When a connection is asked for again that nobody has answered. */
const DIAL_AGAIN_US = [1_000_000, 2_000_000] as const;

/** Time and connections of one process, for its lanes. */
export class SimWorld implements LaneWorld {
  readonly #parts: WorldParts;
  readonly #wires = new Set<SimWire>();
  /** Whoever hears what has arrived hears it of this one. */
  reading: SimWire | undefined;

  constructor(parts: WorldParts) {
    this.#parts = parts;
  }

  connect({ host }: Address): SimWire {
    const wire = this.open();
    this.#dial(wire, host, [...DIAL_AGAIN_US]);
    return wire;
  }

  /** A socket that belongs to this process. */
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

  /** The process has ended; with `isSilent` its machine, too. */
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
  /** Written before there was a connection. */
  readonly #early: (() => void)[] = [];
  #isConnected = false;
  #isPaused = false;
  #isCorked = false;
  #isReset = false;
  #isLeft = false;
  #isDelivering = false;
  destroyed = false;
  isGone = false;
  /** What came by it is being taken: nothing that comes later is to be read. */
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

  /** Makes one connection with a socket that was accepted. */
  joinTo(accepted: SimWire): void {
    const { simulator, exchange, onBelieved } = this.#parts;
    const fate = { isHole: false, isFirstTurned: false };
    // Who has dialled goes on only when both have said who they are, and have understood it.
    this.#out = new WireWay({ simulator, exchange, from: this, to: accepted, fate, onMore: onBelieved });
    this.#in = new WireWay({ simulator, exchange, from: accepted, to: this, fate });
    accepted.#out = this.#in;
    accepted.#in = this.#out;
    accepted.#isConnected = true;
  }

  /** The other side has accepted: what was written until now leaves. */
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

  /** Something can be read, when the thread gets to it. */
  arrived(): void {
    if (this.#isDelivering || this.#isPaused || this.isDeaf || !this.#isConnected) return;
    this.#isDelivering = true;
    this.#parts.thread.arrive('lane is read', () => {
      this.#isDelivering = false;
      this.#read();
    });
  }

  /** The other side does not know the connection, or something between them has broken it. */
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
      // Whoever hears it first may hand the connection on.
      const listeners = this.#listeners.data.slice();
      this.#world.reading = this;
      for (const listener of listeners) listener(bytes);
      this.#world.reading = undefined;
    }
    // Whoever has heard everything and the end says nothing more, either.
    if (!this.#isPaused && this.#in?.isOver === true) this.destroy();
  }

  /** What was not read is known to be lost by whoever sent it. */
  #close(): readonly ((failure?: Error | null) => void)[] {
    const hasUnread = (this.#in?.arrivedBytes ?? 0) > 0;
    const lost = hasUnread ? this.#out?.breakOff() : this.#out?.abandon();
    this.#world.closed(this);
    return lost ?? [];
  }
}
