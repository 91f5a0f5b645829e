/**
 * Sessions of node:http2, one for each connection whose settings are acknowledged (opening.ts).
 *
 * Every session is pinged. A ping without an answer in time destroys the session, which cancels its calls.
 */
import { performServerHandshake, type ServerHttp2Session, type ServerOptions } from 'node:http2';
import type { Socket } from 'node:net';
import type { ConnectionStreams } from './stream-limits.ts';

export interface SessionsOptions {
  readonly http2: ServerOptions;
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
  readonly onSession: (session: ServerHttp2Session, socket: Socket, streams: ConnectionStreams) => void;
}

const IGNORE = (): void => undefined;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #open = new Set<ServerHttp2Session>();
  #isClosing = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  open(socket: Socket, streams: ConnectionStreams): void {
    const session = performServerHandshake(socket, this.#options.http2);
    this.#open.add(session);
    const pinging = setInterval(() => this.#ping(session), this.#options.pingEveryMs).unref();
    session.once('close', () => {
      this.#open.delete(session);
      clearInterval(pinging);
    });
    // A session with an error is closed.
    session.on('error', IGNORE);
    this.#options.onSession(session, socket, streams);
    if (this.#isClosing) session.close();
  }

  /** Sends GOAWAY: no more streams are accepted, and each session ends with its last one. */
  close(): void {
    this.#isClosing = true;
    for (const session of this.#open) session.close();
  }

  destroy(): void {
    for (const session of this.#open) session.destroy();
  }

  #ping(session: ServerHttp2Session): void {
    // A ping of a destroyed session throws, and its 'close' event comes later.
    if (session.destroyed) return;
    const late = setTimeout(() => session.destroy(), this.#options.pingTimeoutMs).unref();
    const answered = (): void => clearTimeout(late);
    session.once('close', answered);
    session.ping((error) => {
      session.off('close', answered);
      if (error === null) answered();
    });
  }
}
