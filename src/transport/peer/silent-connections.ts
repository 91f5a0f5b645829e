/**
 * Ends connections to other nodes on which nothing was ever heard.
 *
 * grpc-js waits without end for the first word of whoever it has connected to, and so does a connection to a machine
 * that is gone until the operating system gives up, which takes minutes. A process that is stopped, or an address that
 * has become somebody else's, would keep a lane from being dialled again for so long. What is dialled in this thread
 * comes by Node's diagnostics channel of sockets.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';

const DIALLED = 'net.client.socket';

export class SilentConnections implements Disposable {
  readonly #isPeer: (port: number) => boolean;
  readonly #afterMs: number;
  readonly #onDialled = (message: unknown): void => this.#watch(message);

  /** `isPeer` tells the ports of other nodes from those of whatever else this thread may dial. */
  constructor(isPeer: (port: number) => boolean, afterMs: number) {
    this.#isPeer = isPeer;
    this.#afterMs = afterMs;
    subscribe(DIALLED, this.#onDialled);
  }

  [Symbol.dispose](): void {
    unsubscribe(DIALLED, this.#onDialled);
  }

  #watch(message: unknown): void {
    const socket = typeof message === 'object' && message !== null && 'socket' in message ? message.socket : undefined;
    if (!(socket instanceof Socket)) return;
    socket.once('connectionAttempt', (_address: string, port: number) => {
      if (!this.#isPeer(port)) return;
      const timer = setTimeout(() => {
        if (socket.bytesRead === 0) socket.destroy(new Error(`nothing was heard within ${this.#afterMs} ms`));
      }, this.#afterMs);
      socket.once('close', () => clearTimeout(timer));
    });
  }
}
