/**
 * The requests of a connection, handled one after the other.
 *
 * A client may send requests without awaiting answers. Node hands all of them over as they are parsed, hundreds from
 * one read of the socket; handled at once, each would gather its answer in memory until the ones before it have left.
 *
 * ```
 *   arrived ── nobody before it ──> handled ── its answer has left ──> the next
 *      ├────── others before it ──> waits; the connection is not read meanwhile
 *      └────── too many wait ─────> dropped: the connection ends behind the last of those that wait
 * ```
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Line {
  handled: ServerResponse;
  readonly waiting: Exchange[];
  /** Set when a request was dropped: none behind it is handled either. */
  isOver: boolean;
}

export class RequestLines {
  readonly #lines = new WeakMap<Duplex, Line>();
  readonly #waitingMax: number;

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** A listener that calls the other one for a request of a connection when the one before has been answered. */
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

  /** The answer that is being made, or sent. */
  handled(socket: Duplex): ServerResponse | undefined {
    return this.#lines.get(socket)?.handled;
  }

  /**
   * The answer that the last request that came whole gets, until it has left. A request that is cut off is forgotten,
   * unless it is being handled already.
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
