// Connections between processes for requests that one node passes on to another, as HTTP/2 over TCP has them: what is
// sent keeps its order, what is lost is sent again, and a way that is closed swallows everything from then on. Whoever
// waits asks again and again whether the other process is there, by the same times as
// src/transport/grpc/relay-connections.ts.
import type { Isolate } from '../engine/isolate.ts';
import type { SimService } from '../node/sim-service.ts';
import type { PeerExchange } from './exchange.ts';

/** The end of such connections that one process has. */
export interface RelayEnd {
  readonly host: string;
  /** The thread that serves clients. */
  readonly thread: Isolate;
  readonly service: SimService;
  /** What ends the process. */
  readonly fail: (failure: unknown) => void;
}

/** A request on a line, from its beginning until nobody waits for it any more. */
export interface RelayStream {
  /** The process that was asked. */
  readonly end: RelayEnd;
  /** Brings something to the process that was asked. */
  readonly there: (label: string, work: () => void) => void;
  /** Brings something to the process that asks. */
  readonly back: (label: string, work: () => void) => void;
  readonly close: () => void;
  /** The process that was asked has taken a write in, or goes to answer it. */
  readonly heard: (word: RelayedWrite['word']) => void;
}

/** What the process that was asked does with a write, for faults that aim. */
export interface RelayedWrite {
  readonly word: 'taken' | 'answered';
  /** The hosts: who asks, and who was asked. */
  readonly from: string;
  readonly to: string;
  /** Whoever was asked ends the connection: what it says from now on gets nowhere. */
  readonly reset: () => void;
  /** Nothing gets back by the connection any more. */
  readonly silence: () => void;
}

type WriteListener = (write: RelayedWrite) => void;

interface LineParts {
  readonly from: RelayEnd;
  /** The process that is asked, and whether one listens at its host now. */
  readonly to: RelayEnd;
  readonly isListening: () => boolean;
  readonly onWrite: WriteListener;
}

interface Listeners {
  /** The process that asks learns that nothing more will come. */
  readonly onLost: () => void;
  /** The process that was asked learns that nobody waits. */
  readonly onLeft: () => void;
}

type Direction = 'there' | 'back';

const DIAL_US = 1_000_000;
const FRESH_US = 1_000_000;
const SILENT_US = 2_000_000;
/** Until TCP sends again what was lost. */
const AGAIN_US = 200_000;

export class RelayLines {
  readonly #exchange: PeerExchange;
  readonly #ends = new Map<string, RelayEnd>();
  readonly #lines = new Map<string, Line>();
  #listeners: readonly WriteListener[] = [];

  constructor(exchange: PeerExchange) {
    this.#exchange = exchange;
  }

  /** Hears what becomes of writes, before it is told, until the function that is returned is called. */
  listen(listener: WriteListener): () => void {
    this.#listeners = [...this.#listeners, listener];
    return () => void (this.#listeners = this.#listeners.filter((each) => each !== listener));
  }

  /** A process begins to take requests. */
  enter(end: RelayEnd): void {
    this.#ends.set(end.host, end);
  }

  /** It has ended: the system of its machine tells whoever had a connection to it, if anybody is there to. */
  leave(end: RelayEnd, isSilent: boolean): void {
    if (this.#ends.get(end.host) === end) this.#ends.delete(end.host);
    for (const line of this.#lines.values()) line.ended(end, isSilent);
  }

  /** A connection to the process at the host that has said just now, or lately, that it is there. */
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
    // Two that dial at the same time have a connection each, of which the last one stays.
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
  /** Requests for which the process that asks waits. */
  readonly #waiting = new Set<Listeners>();
  /** Those that the other one has not heard the end of. */
  readonly #served = new Set<Listeners>();
  readonly #lastUs = { there: 0, back: 0 };
  /** Ways of which something was swallowed. */
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

  /** Whether the other process answers, by what it has said lately or says now; otherwise the connection is gone. */
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

  /** One of the two processes has ended. */
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
    // A machine that is there again says at once that it does not know the connection.
    if (direction === 'there' && !far.thread.isAlive && this.#isListening())
      return this.#carry('back', 'relay reset', () => this.#break());
    const { random, conditions } = this.#exchange;
    const { nowUs } = far.thread;
    const againUs = random.chance(conditions.lossShare) ? AGAIN_US : 0;
    const atUs = Math.max(this.#lastUs[direction], nowUs + this.#exchange.latencyUs() + againUs);
    this.#lastUs[direction] = atUs;
    far.thread.after(atUs - nowUs, label, work);
  }

  /** Asks again and again, while somebody waits. */
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

  /** To the process that asks it is gone. */
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
