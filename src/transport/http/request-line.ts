/**
 * Handles the requests of a connection one after the other.
 *
 * A client may send requests without waiting for replies. Node parses hundreds from one read of the socket. Handled at
 * once, their replies would occupy memory until the previous ones are sent.
 *
 * ```
 *   arrived ── none before it ────> handled ── reply sent ──> the next
 *      ├────── others before it ──> waits; the connection is not read meanwhile
 *      └────── too many wait ─────> dropped; the connection ends after the last waiting one
 * ```
 */
import type { RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Exchange } from '../http-connections.ts';

interface Line {
  handled: ServerResponse;
  readonly waiting: Exchange[];
  /** Set when a request was dropped: no later one is handled. */
  isOver: boolean;
}

export class RequestLines {
  readonly #lines = new WeakMap<Duplex, Line>();
  readonly #waitingMax: number;

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** Wraps a listener, so that it gets a request of a connection when the previous one was answered. */
  inTurn(handle: RequestListener): RequestListener {
    return (request, response) => {
      const { socket } = request;
      const line = this.#lines.get(socket);
      if (line === undefined) {
        const begun = { handled: response, waiting: [], isOver: false };
        this.#lines.set(socket, begun);
        this.#handle({ request, response }, begun, handle);
      } else this.#wait({ request, response }, line);
    };
  }

  /** The reply that is being made or sent. */
  handled(socket: Duplex): ServerResponse | undefined {
    return this.#lines.get(socket)?.handled;
  }

  /**
   * The reply to the last complete request, until it is sent. A truncated request is forgotten, unless it is being
   * handled already.
   */
  lastWhole(socket: Duplex): ServerResponse | undefined {
    const line = this.#lines.get(socket);
    if (line === undefined) return undefined;
    if (line.waiting.at(-1)?.request.complete === false) line.waiting.pop();
    return line.waiting.at(-1)?.response ?? line.handled;
  }

  #wait(exchange: Exchange, line: Line): void {
    const { waiting } = line;
    if (line.isOver) return;
    if (waiting.length < this.#waitingMax) {
      waiting.push(exchange);
      exchange.request.socket.pause();
      return;
    }
    line.isOver = true;
    const last = waiting.at(-1);
    if (last !== undefined) last.response.shouldKeepAlive = false;
  }

  #handle({ request, response }: Exchange, line: Line, handle: RequestListener): void {
    const { socket } = request;
    line.handled = response;
    response.once('close', () => {
      const next = socket.destroyed ? undefined : line.waiting.shift();
      if (next === undefined) this.#lines.delete(socket);
      else this.#handle(next, line, handle);
    });
    if (line.waiting.length === 0 && socket.isPaused()) socket.resume();
    handle(request, response);
  }
}
