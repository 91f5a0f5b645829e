/**
 * The open connections of a server: their windows, their pings, their end.
 *
 * A connection that has not answered a ping in time is destroyed, which cancels its calls: a client that vanished
 * without a word does not hold subscriptions for ever.
 */
import type { ServerHttp2Session } from 'node:http2';

export interface SessionLimits {
  /** Every connection is pinged this often. */
  readonly pingEveryMs: number;
  /** A connection that has not answered a ping for so long is destroyed. */
  readonly pingTimeoutMs: number;
}

export class Sessions {
  readonly #open = new Set<ServerHttp2Session>();
  readonly #limits: SessionLimits;
  readonly #windowBytes: number;
  readonly #pings: NodeJS.Timeout;

  constructor(limits: SessionLimits, windowBytes: number) {
    this.#limits = limits;
    this.#windowBytes = windowBytes;
    this.#pings = setInterval(() => this.#pingAll(), limits.pingEveryMs).unref();
  }

  add(session: ServerHttp2Session): void {
    this.#open.add(session);
    session.setLocalWindowSize(this.#windowBytes);
    session.on('close', () => this.#open.delete(session));
    // A broken connection closes its session, and with it every call: nothing is left to do here.
    session.on('error', () => undefined);
  }

  /** Tells every client to go elsewhere; each connection closes with its last call. */
  closeGently(): void {
    for (const session of this.#open) session.close();
  }

  destroyAll(): void {
    for (const session of this.#open) session.destroy();
  }

  stop(): void {
    clearInterval(this.#pings);
  }

  #pingAll(): void {
    for (const session of this.#open) {
      if (session.destroyed || session.closed) continue;
      const timeout = setTimeout(() => session.destroy(), this.#limits.pingTimeoutMs).unref();
      session.ping(() => clearTimeout(timeout));
    }
  }
}
