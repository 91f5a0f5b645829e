/**
 * Listens, and hands each connection to grpc-js when its client has acknowledged how many streams it may open
 * (opening.ts). What grpc-js listens on by itself it hands to node:http2 at once.
 */
import { createServer, type Server, type Socket } from 'node:net';
import type { ByteBudget } from '../../byte-budget.ts';
import type { SecurePorts } from '../../secure.ts';
import { announceStreams } from './opening.ts';
import { type ReadingTurns, readHandleOf } from './reading-turns.ts';

export interface ConnectionsOptions {
  readonly streamsAtFirst: number;
  /** A client that has not acknowledged settings by then is gone. */
  readonly openingMs: number;
  readonly requests: ByteBudget;
  readonly reading: ReadingTurns;
  readonly onOpen: (socket: Socket) => void;
  /** Absent: there is no TLS. */
  readonly secure?: SecurePorts | undefined;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #server: Server;
  /** All that are open, those without a stream among them. */
  readonly #sockets = new Set<Socket>();
  /** Those that grpc-js does not have yet. */
  readonly #opening = new Set<Socket>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const accept = (socket: Socket): void => this.#accept(socket);
    this.#server = options.secure?.createServer(accept) ?? createServer({ noDelay: true }, accept);
  }

  /** Binds and answers the port that it got; rejects with what the system says. */
  listen({ host, port }: { readonly host: string; readonly port: number }): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  /** Takes no more. Resolves when every connection is closed. */
  close(): Promise<void> {
    for (const socket of this.#opening) socket.destroy();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  /** Ends them all, also one whose peer is asked to close it and does not. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    const { streamsAtFirst: streams, openingMs: withinMs, requests, reading, onOpen } = this.#options;
    this.#sockets.add(socket);
    this.#opening.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#opening.delete(socket);
    });
    const opened = (): void => {
      this.#opening.delete(socket);
      const handle = readHandleOf(socket);
      reading.opened(handle);
      socket.once('close', () => reading.closed(handle));
      onOpen(socket);
    };
    // One that is closed as it comes, for want of file descriptors, is told nothing: that is decided in this turn.
    process.nextTick(() => {
      if (!socket.destroyed) announceStreams({ socket, streams, withinMs, requests, onOpen: opened });
    });
  }
}
