/**
 * A TCP proxy for one port of one node. While a direction is blocked, data in that direction waits and is not lost, as
 * with TCP retransmission. The same holds for the start and the end of a connection. A peer that times out closes its
 * connection and may open another one.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Current state of one direction between two nodes. */
export interface Way {
  readonly isOpen: boolean;
  readonly delayMs: number;
}

export interface Link {
  /** Number of the node that opened the connection. */
  readonly from: number;
  /** Direction from the opener to the node; `back` is the opposite one. */
  readonly there: Way;
  readonly back: Way;
}

export interface ProxyOptions {
  readonly target: { readonly host: string; readonly port: number };
  /** Number of the node behind the proxy. */
  readonly number: number;
  /** Returns the link of a connection from this address. */
  readonly linkOf: (address: string) => Link;
}

/** Maximum number of waiting bytes per direction of a connection; after that, the sender is paused. */
const WAITING_BYTES_MAX = 1 << 20;

export class Proxy {
  readonly number: number;
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.number = options.number;
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (dialler) => {
      const pair = new Pair(dialler, options.linkOf(dialler.remoteAddress ?? ''), options.target, () => {
        this.#pairs.delete(pair);
      });
      this.#pairs.add(pair);
      pair.goOn();
    });
  }

  /** Listens on `host`, at the port of the node or at `port`; 0 selects a free one. Returns the port. */
  async listen(host: string, port: number = this.#options.target.port): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject);
    this.#server.listen({ host, port }, resolve);
    await promise;
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** Called after a direction was blocked or unblocked. */
  goOn(): void {
    for (const pair of this.#pairs) pair.goOn();
  }

  /** Resets connections as the loss of a machine does, selected by their opener. */
  reset(isHit: (from: number) => boolean): void {
    for (const pair of this.#pairs) if (isHit(pair.link.from)) pair.reset();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.reset(() => true);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await promise;
  }
}

/** A connection to the proxy, and the one from the proxy to the node. */
class Pair {
  readonly link: Link;
  readonly #dialler: Socket;
  readonly #target: ProxyOptions['target'];
  readonly #onEnd: () => void;
  #lanes: readonly [Lane, Lane] | undefined;
  #isOver = false;

  constructor(dialler: Socket, link: Link, target: ProxyOptions['target'], onEnd: () => void) {
    this.link = link;
    this.#dialler = dialler;
    this.#target = target;
    this.#onEnd = onEnd;
    // Until the node is connected, a close by the opener ends the pair.
    dialler.once('close', () => {
      if (this.#lanes === undefined) this.reset();
    });
    dialler.on('error', () => undefined);
  }

  goOn(): void {
    const { there, back } = this.link;
    // A TCP handshake needs both directions.
    if (this.#lanes === undefined && there.isOpen && back.isOpen && !this.#isOver) this.#dial();
    for (const lane of this.#lanes ?? []) lane.goOn();
  }

  reset(): void {
    if (this.#isOver) return;
    for (const lane of this.#lanes ?? []) lane.end();
    this.#dialler.resetAndDestroy();
    this.#hasEnded();
  }

  #hasEnded(): void {
    this.#isOver = true;
    this.#onEnd();
  }

  #dial(): void {
    const socket = connect({ ...this.#target, allowHalfOpen: true, noDelay: true });
    socket.on('error', () => undefined);
    const onLost = (): void => this.reset();
    let open = 2;
    for (const each of [this.#dialler, socket]) {
      each.once('close', () => {
        open -= 1;
        if (open === 0) this.#hasEnded();
      });
    }
    this.#lanes = [
      new Lane(this.#dialler, socket, this.link.there, onLost),
      new Lane(socket, this.#dialler, this.link.back, onLost),
    ];
    this.#dialler.resume();
  }
}

type Waiting = { readonly dueMs: number; readonly what: Buffer | 'end' | 'lost' };

/** One direction of a connection. */
class Lane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #way: Way;
  readonly #onLost: () => void;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, way: Way, onLost: () => void) {
    this.#from = from;
    this.#to = to;
    this.#way = way;
    this.#onLost = onLost;
    from.on('data', (bytes: Buffer) => this.#take(bytes));
    from.on('end', () => this.#take('end'));
    from.on('close', (hadError: boolean) => {
      if (hadError || !from.readableEnded) this.#take('lost');
    });
    to.on('drain', () => this.goOn());
  }

  /** Forwards the data that is due. */
  goOn(): void {
    clearTimeout(this.#timer);
    while (this.#way.isOpen && !this.#to.writableNeedDrain) {
      const [first] = this.#waiting;
      if (first === undefined) break;
      const leftMs = first.dueMs - performance.now();
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.goOn(), leftMs);
        break;
      }
      this.#waiting.shift();
      this.#pass(first.what);
    }
    if (this.#waitingBytes < WAITING_BYTES_MAX) this.#from.resume();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#waiting.length = 0;
    this.#to.resetAndDestroy();
  }

  #take(what: Waiting['what']): void {
    this.#waiting.push({ dueMs: performance.now() + this.#way.delayMs, what });
    if (typeof what !== 'string') this.#waitingBytes += what.length;
    if (this.#waitingBytes >= WAITING_BYTES_MAX) this.#from.pause();
    this.goOn();
  }

  #pass(what: Waiting['what']): void {
    if (what === 'lost') this.#onLost();
    else if (what === 'end') this.#to.end();
    else {
      this.#waitingBytes -= what.length;
      this.#to.write(what);
    }
  }
}
