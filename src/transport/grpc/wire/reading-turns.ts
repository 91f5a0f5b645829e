/**
 * Limits the streams that arrive in one turn of the event loop, on all connections together.
 *
 * nghttp2 reports all streams in the bytes of a read at once, and each costs ten to twenty microseconds before the
 * server can decide about it. So when enough streams have arrived in a turn, no socket is read until the next turn:
 * further bytes wait in the kernel. One read brings 64 KiB at most, some hundreds of calls.
 *
 * ```
 *   read ── too many have come in this turn ──> none is read ── next turn ──> connections that were not read yet
 *     ^                                                                          │ all of them had their turn, or
 *     └──────────────────────────────────────────────────────────────────────────┘ there was room for all
 * ```
 *
 * The kernel returns sockets in the same order each time. So a connection that was read waits for the others; otherwise
 * the first one would always be read.
 *
 *   T13  The new streams of an event-loop turn exceed the limit by those of one read at most, and every connection is
 *        read before another one is read again.
 *
 * node:http2 itself stops reading a socket whose output is blocked, and would buffer its input if it were started
 * nevertheless. So such sockets are left alone.
 */

import { assert } from '#base';

/** Native handle of a socket, which is stopped and started: node:http2 reads it without the socket. */
export interface ReadHandle {
  readStop(): unknown;
  readStart(): unknown;
  /** Bytes that the kernel has not accepted yet. */
  readonly writeQueueSize: number;
}

export interface ReadingTurnsOptions {
  readonly perTurn?: number;
  /** Runs the work after all reads of this turn. Real time except in tests. */
  readonly later?: (work: () => void) => void;
}

const STREAMS_PER_TURN = 256;

export class ReadingTurns {
  readonly #perTurn: number;
  readonly #later: (work: () => void) => void;
  readonly #open = new Set<ReadHandle>();
  readonly #stopped = new Set<ReadHandle>();
  /** Handles that were read since the others were stopped. */
  readonly #served = new Set<ReadHandle>();
  #left: number;
  #isTurning = false;

  constructor({ perTurn = STREAMS_PER_TURN, later = setImmediate }: ReadingTurnsOptions = {}) {
    this.#perTurn = perTurn;
    this.#later = later;
    this.#left = perTurn;
  }

  /** Adds the handle of a new connection. */
  opened(handle: ReadHandle): void {
    this.#open.add(handle);
  }

  closed(handle: ReadHandle): void {
    this.#open.delete(handle);
    this.#stopped.delete(handle);
    this.#served.delete(handle);
  }

  came(handle: ReadHandle): void {
    this.#awaitTurn();
    this.#served.add(handle);
    this.#left -= 1;
    if (this.#left !== 0) return;
    for (const each of this.#open) {
      if (each.writeQueueSize > 0) continue;
      each.readStop();
      this.#stopped.add(each);
    }
  }

  #awaitTurn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#later(() => this.#turn());
  }

  #turn(): void {
    this.#isTurning = false;
    const others = this.#left > 0 ? [] : [...this.#stopped].filter((each) => !this.#served.has(each));
    this.#left = this.#perTurn;
    if (others.length === 0) this.#served.clear();
    for (const each of others.length === 0 ? [...this.#stopped] : others) {
      this.#stopped.delete(each);
      each.readStart();
    }
    if (this.#stopped.size > 0) this.#awaitTurn();
  }
}

/** Returns the native handle of a socket, also one that node:http2 uses. */
export function readHandleOf(socket: object): ReadHandle {
  const handle: unknown = Reflect.get(socket, '_handle');
  assert(isReadHandle(handle), 'An open socket has a handle that can be stopped');
  return handle;
}

function isReadHandle(handle: unknown): handle is ReadHandle {
  return typeof handle === 'object' && handle !== null && 'readStop' in handle && 'writeQueueSize' in handle;
}
