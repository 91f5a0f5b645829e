/**
 * How many streams may come in one turn of the event loop, on all connections together.
 *
 * What has been read of a socket is nghttp2's, which tells of all streams in it at once; and each costs some ten to
 * twenty microseconds before anybody can decide about it. So when as many have come in a turn as there should be, no
 * socket is read any more until the next turn: what its client sends beyond that waits in the kernel. One read brings
 * 64 KiB at most, some hundreds of calls.
 *
 * ```
 *   read ── too many have come in this turn ──> nobody is read ── next turn ──> those who had nothing read meanwhile
 *     ^                                                                            │ all of them had their turn, or
 *     └────────────────────────────────────────────────────────────────────────────┘ there was room for all
 * ```
 *
 * The kernel names sockets in the same order each time: whoever has been read waits for the others, or the first of
 * them would always be the one that is read.
 *
 *   T13  In a turn of the event loop come no more streams than there should be, and what one read brings; and every
 *        connection is read again before another one is read a second time.
 *
 * node:http2 reads no more of a socket itself while that does not take what is written, and would keep whatever came if
 * it were started all the same. So such sockets are left alone.
 */

import { assert } from '#base';

/** What is stopped and started of a socket: the handle underneath, which node:http2 reads past the socket. */
export interface ReadHandle {
  readStop(): unknown;
  readStart(): unknown;
  /** Bytes that the kernel has not taken yet. */
  readonly writeQueueSize: number;
}

export interface ReadingTurnsOptions {
  readonly perTurn?: number;
  /** Runs the work when everything that is read in this turn was. Real time unless a test decides. */
  readonly later?: (work: () => void) => void;
}

const STREAMS_PER_TURN = 256;

export class ReadingTurns {
  readonly #perTurn: number;
  readonly #later: (work: () => void) => void;
  readonly #open = new Set<ReadHandle>();
  readonly #stopped = new Set<ReadHandle>();
  /** Those that were read since the others were stopped. */
  readonly #served = new Set<ReadHandle>();
  #left: number;
  #isTurning = false;

  constructor({ perTurn = STREAMS_PER_TURN, later = setImmediate }: ReadingTurnsOptions = {}) {
    this.#perTurn = perTurn;
    this.#later = later;
    this.#left = perTurn;
  }

  /** Of a connection that begins to be read. */
  opened(handle: ReadHandle): void {
    this.#open.add(handle);
  }

  closed(handle: ReadHandle): void {
    this.#open.delete(handle);
    this.#stopped.delete(handle);
    this.#served.delete(handle);
  }

  /** A stream has come. */
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

/** Of a socket, also where node:http2 has it. */
export function readHandleOf(socket: object): ReadHandle {
  const handle: unknown = Reflect.get(socket, '_handle');
  assert(isReadHandle(handle), 'An open socket has a handle that can be stopped');
  return handle;
}

function isReadHandle(handle: unknown): handle is ReadHandle {
  return typeof handle === 'object' && handle !== null && 'readStop' in handle && 'writeQueueSize' in handle;
}
