// Connections between processes for relayed requests, with the behaviour of HTTP/2 over TCP: order is kept, lost data
// is sent again, and a blocked direction swallows everything from then on. A waiting process pings the other one with
// the intervals of src/transport/grpc/relay-connections.ts.
import type { Isolate } from '../engine/isolate.ts';
import type { SimService } from '../node/sim-service.ts';
import type { PeerExchange } from './exchange.ts';

/** The endpoint of one process for such connections. */
export interface RelayEnd {
  readonly host: string;
  /** Thread that serves clients. */
  readonly thread: Isolate;
  readonly service: SimService;
  /** Ends the process with a failure. */
  readonly fail: (failure: unknown) => void;
}

/** A request on a connection, until no process waits for it any more. */
export interface RelayStream {
  /** The target process. */
  readonly end: RelayEnd;
  /** Runs work at the target, after the latency of the connection. */
  readonly there: (label: string, work: () => void) => void;
  /** Runs work at the requesting process, after the latency of the connection. */
  readonly back: (label: string, work: () => void) => void;
  readonly close: () => void;
  /** Reports that the target has accepted a write, or is about to answer it. */
  readonly heard: (word: RelayedWrite['word']) => void;
}

/** State of a write at the target, for targeted faults. */
export interface RelayedWrite {
  readonly word: 'taken' | 'answered';
  /** Hosts of the requesting and of the target process. */
  readonly from: string;
  readonly to: string;
  /** The target resets the connection: its further messages are lost. */
  readonly reset: () => void;
  /** The connection silently stops delivering answers. */
  readonly silence: () => void;
}

type WriteListener = (write: RelayedWrite) => void;

interface LineParts {
  readonly from: RelayEnd;
  /** The target process, and whether a process listens at its host now. */
  readonly to: RelayEnd;
  readonly isListening: () => boolean;
  readonly onWrite: WriteListener;
}

interface Listeners {
  /** Called at the requesting process when no more data will come. */
  readonly onLost: () => void;
  /** Called at the target when no process waits any more. */
  readonly onLeft: () => void;
}

type Direction = 'there' | 'back';

const DIAL_US = 1_000_000;
const FRESH_US = 1_000_000;
const SILENT_US = 2_000_000;
/** Time until TCP sends lost data again. */
const AGAIN_US = 200_000;

export class RelayLines {
  readonly #exchange: PeerExchange;
  readonly #ends = new Map<string, RelayEnd>();
  readonly #lines = new Map<string, Line>();
  #listeners: readonly WriteListener[] = [];

  constructor(exchange: PeerExchange) {
    this.#exchange = exchange;
  }

  /** Calls the listener for each state of a write, before it is reported, until the returned function is called. */
  listen(listener: WriteListener): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => void (this.#listeners = this.#listeners.filter((each) => each !== listener));
  }

  /** Registers a process that accepts requests. */
  enter(end: RelayEnd): void {
    this.#ends.set(end.host, end);
  }

  /** Unregisters an ended process. Unless it is silent, its machine closes the connections. */
  leave(end: RelayEnd, isSilent: boolean): void {
    if (this.#ends.get(end.host) === end) this.#ends.delete(end.host);
    for (const line of this.#lines.values()) line.ended(end, isSilent);
  }

  /** Opens or reuses a connection to the process at the host, which must have answered recently. */
  async open(from: RelayEnd, host: string): Promise<Line | undefined> {
    const way = `${from.host} ${host}`;
    const known = this.#lines.get(way);
    if (known?.from === from && !known.isBroken && (await known.isThere())) return known;
    const to = this.#ends.get(host);
    if (to === undefined && this.#exchange.isOpen(from.host, host)) {
      await from.thread.sleep(2 * this.#exchange.latencyUs(), 'relay refused');
      return undefined;
    }
    if (to === undefined) {
      await from.thread.sleep(DIAL_US, 'relay dial');
      return undefined;
    }
    const onWrite: WriteListener = (write) => {
      for (const listener of this.#listeners) listener(write);
    };
    const dialled = new Line(this.#exchange, { from, to, isListening: () => this.#ends.has(host), onWrite });
    // Two concurrent attempts open a connection each; the last one is kept.
    this.#lines.set(way, dialled);
    return (await dialled.isThere()) ? dialled : undefined;
  }
}

export class Line {
  readonly from: RelayEnd;
  readonly to: RelayEnd;
  readonly #exchange: PeerExchange;
  readonly #isListening: () => boolean;
  readonly #onWrite: WriteListener;
  /** Requests for which the requesting process waits. */
  readonly #waiting = new Set<Listeners>();
  /** Requests whose end the target does not know yet. */
  readonly #served = new Set<Listeners>();
  readonly #lastUs = { there: 0, back: 0 };
  /** Directions in which data was swallowed. */
  readonly #cut = new Set<Direction>();
  #heardUs = Number.NEGATIVE_INFINITY;
  #isWatched = false;
  #isBroken = false;

  constructor(exchange: PeerExchange, { from, to, isListening, onWrite }: LineParts) {
    this.#exchange = exchange;
    this.from = from;
    this.to = to;
    this.#isListening = isListening;
    this.#onWrite = onWrite;
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** True when the other process answers or has answered recently; otherwise the connection is broken. */
  async isThere(): Promise<boolean> {
    return this.from.thread.nowUs < this.#heardUs + FRESH_US || this.#ask(DIAL_US);
  }

  begin(listeners: Listeners): RelayStream {
    this.#waiting.add(listeners);
    this.#served.add(listeners);
    this.#watch();
    return {
      end: this.to,
      there: (label, work) => this.#carry('there', label, work),
      back: (label, work) =>
        this.#carry('back', label, () => {
          this.#heardUs = this.from.thread.nowUs;
          if (this.#waiting.has(listeners)) work();
        }),
      close: () => {
        this.#waiting.delete(listeners);
        this.#served.delete(listeners);
      },
      heard: (word) => this.#heard(word),
    };
  }

  /** Called when one of the two processes has ended. */
  ended(end: RelayEnd, isSilent: boolean): void {
    if (isSilent) return;
    if (end === this.to) this.#carry('back', 'relay reset', () => this.#break());
    if (end === this.from) this.#carry('there', 'relay reset', () => this.#leave());
  }

  #heard(word: RelayedWrite['word']): void {
    const reset = (): void => this.#carry('back', 'relay reset', () => this.#break());
    const silence = (): void => void this.#cut.add('back');
    this.#onWrite({ word, from: this.from.host, to: this.to.host, reset, silence });
  }

  #carry(direction: Direction, label: string, work: () => void): void {
    const [near, far] = direction === 'there' ? [this.from, this.to] : [this.to, this.from];
    if (!this.#exchange.isOpen(near.host, far.host)) this.#cut.add(direction);
    if (this.#cut.has(direction) || this.#isBroken) return;
    // A restarted machine immediately reports that it does not know the connection.
    if (direction === 'there' && !far.thread.isAlive && this.#isListening())
      return this.#carry('back', 'relay reset', () => this.#break());
    const { random, conditions } = this.#exchange;
    const { nowUs } = far.thread;
    const againUs = random.chance(conditions.lossShare) ? AGAIN_US : 0;
    const atUs = Math.max(this.#lastUs[direction], nowUs + this.#exchange.latencyUs() + againUs);
    this.#lastUs[direction] = atUs;
    far.thread.after(atUs - nowUs, label, work);
  }

  /** Pings the target while a request waits. */
  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.from.thread.after(FRESH_US, 'relay watch', () => {
      this.#isWatched = false;
      if (this.#waiting.size === 0 || this.#isBroken) return;
      this.#watch();
      void this.#ask(SILENT_US);
    });
  }

  async #ask(limitUs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const askedUs = this.from.thread.nowUs;
    const pong = (): void => {
      this.#heardUs = this.from.thread.nowUs;
      resolve(true);
    };
    this.#carry('there', 'relay ping', () => this.#carry('back', 'relay pong', pong));
    this.from.thread.after(limitUs, 'relay silence', () => {
      if (this.#heardUs < askedUs) this.#break();
      resolve(this.#heardUs >= askedUs);
    });
    return promise;
  }

  /** Breaks the connection for the requesting process. */
  #break(): void {
    this.#carry('there', 'relay reset', () => this.#leave());
    this.#isBroken = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const { onLost } of waiting) onLost();
  }

  #leave(): void {
    const served = [...this.#served];
    this.#served.clear();
    for (const { onLeft } of served) onLeft();
  }
}
