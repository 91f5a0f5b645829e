/** Listens, and hands each connection on when its client has acknowledged how many streams it may open (opening.ts). */
import { createServer, type Server, type Socket } from 'node:net';
import type { ByteBudget } from '../../byte-budget.ts';
import { ConnectionPlaces, type Place, type Waiting } from '../../connection-places.ts';
import type { FrameFloods } from '../../frame-floods.ts';
import { type HeldPort, listenOptions } from '../../held-port.ts';
import { announceSettings, NO_HPACK_TABLE } from '../../opening.ts';
import type { SecurePorts } from '../../secure.ts';
import { type ReadHandle, type ReadingTurns, readHandleOf } from './reading-turns.ts';

export interface ConnectionsOptions {
  /** Streams of a connection at a time. */
  readonly streams: number;
  readonly connectionsMax: number;
  /** One was closed for one that came. */
  readonly onDisplaced: (waiting: Waiting) => void;
  /** A client that has not acknowledged settings by then is gone. */
  readonly openingMs: number;
  readonly requests: ByteBudget;
  readonly reading: ReadingTurns;
  readonly floods: FrameFloods;
  readonly onOpen: (socket: Socket) => void;
  /** Absent: there is no TLS. */
  readonly secure?: SecurePorts | undefined;
}

/** Where to listen. */
export interface ListenPlace {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Absent: the port is bound now. */
  readonly held?: HeldPort | undefined;
}

/** The streams of a connection, by which it is known what it waits for. */
interface Held {
  readonly place: Place;
  open: number;
  /** Number of streams among them whose request is incomplete. */
  arriving: number;
  /** Tells its client which calls were not looked at. */
  end: (() => void) | undefined;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #server: Server;
  /** All that are open, those without a stream among them. */
  readonly #sockets = new Set<Socket>();
  /** Connections without a session. */
  readonly #opening = new Set<Socket>();
  readonly #places: ConnectionPlaces;
  readonly #held = new WeakMap<ReadHandle, Held>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#places = new ConnectionPlaces(options.connectionsMax, options.onDisplaced);
    const accept = (socket: Socket): void => this.#accept(socket);
    this.#server = options.secure?.createServer(accept) ?? createServer({ noDelay: true }, accept);
  }

  /** Binds and answers the port that it got; rejects with what the system says. */
  listen(place: ListenPlace): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(listenOptions(place, place.held), () => {
        this.#server.off('error', reject);
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : place.port);
      });
    });
  }

  /** Closes the connection that has waited longest for a whole request; false: none waits. */
  makeRoom(): boolean {
    return this.#places.makeRoom();
  }

  /** A stream has come; `end` ends its connection with a word to its client. */
  streamCame(handle: ReadHandle, end: () => void): void {
    this.#change(handle, { open: 1, arriving: 1, end });
  }

  /** The request of a stream is complete, or is not read any more. */
  streamIsWhole(handle: ReadHandle): void {
    this.#change(handle, { open: 0, arriving: -1 });
  }

  streamClosed(handle: ReadHandle): void {
    this.#change(handle, { open: -1, arriving: 0 });
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

  #change(handle: ReadHandle, { open, arriving, end }: Pick<Held, 'open' | 'arriving'> & Partial<Held>): void {
    const held = this.#held.get(handle);
    if (held === undefined) return;
    held.open += open;
    held.arriving += arriving;
    held.end ??= end;
    if (held.open === 0) held.place.waits('idle');
    else if (held.arriving < held.open) held.place.works();
    // A client that begins another one has not waited for less long.
    else if (held.open === open || arriving < 0) held.place.waits('body');
  }

  #accept(socket: Socket): void {
    const holder = { end: (): void => void socket.destroy() };
    const place = this.#places.enter(holder);
    if (place === undefined) {
      socket.destroy();
      return;
    }
    const held: Held = { place, open: 0, arriving: 0, end: undefined };
    holder.end = () => {
      held.end?.();
      socket.destroy();
    };
    socket.once('close', () => place.leave());
    const { streams, openingMs: withinMs, requests, reading, floods, onOpen } = this.#options;
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
      this.#held.set(handle, held);
      place.waits('idle');
      onOpen(socket);
    };
    // One that is closed as it comes, for want of file descriptors, receives nothing: that is decided in this turn.
    process.nextTick(() => {
      if (!socket.destroyed)
        announceSettings({ socket, streams, own: NO_HPACK_TABLE, withinMs, requests, floods, onOpen: opened });
    });
  }
}
