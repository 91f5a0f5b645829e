/**
 * Work of a server for its connections: a little is begun in each turn of the event loop, by connection in turn.
 *
 * ```
 *   begin ── none waits, and the turn has room ──> begun at once
 *     └──> queue of its connection ── its turn ──> begun
 *                └── the call has ended ──> forgotten
 * ```
 *
 * One read of a socket brings hundreds of calls, and every connection is read in each turn of the loop. If all of them
 * began at once, a client with many calls would delay all other clients for seconds. So would the slices of hundreds of
 * readers that are ready for the next one, and JSON, which takes tens of milliseconds per megabyte.
 *
 *   T10  A connection with few calls does not wait for all calls of another one: calls that have arrived are begun by
 *        connection in turn, and not at all when their connection is closed. Slices of streams are read likewise.
 */
import { Link } from '#base';
import { Line, TurnsByLine } from './turns-by-line.ts';

/** Bytes that are read, framed and sent in one turn, in some milliseconds. The last piece of work may exceed it. */
const BYTES_PER_TURN = 512 * 1024;
const MS_PER_TURN = 5;

/** Fixed cost of a call and of a slice, in bytes of a slice that take as long. */
const CALL_BYTES = 8 * 1024;
const AROUND_SLICE_BYTES: number = 2 * CALL_BYTES;

export interface TurnTime {
  readonly nowMs: () => number;
  /** Runs the work when everything that has arrived by then had its turn. */
  readonly later: (work: () => void) => void;
}

const REAL_TIME: TurnTime = { nowMs: () => performance.now(), later: setImmediate };

/** Work that has not begun yet. */
export class Waiting {
  readonly link: Link<Waiting> = new Link<Waiting>(this);
  readonly line: Line<Waiting>;
  readonly work: () => void;
  readonly bytes: number;
  readonly #waiting: TurnsByLine<Waiting>;

  constructor(waiting: TurnsByLine<Waiting>, { line, work, bytes }: Pick<Waiting, 'line' | 'work' | 'bytes'>) {
    this.#waiting = waiting;
    this.line = line;
    this.work = work;
    this.bytes = bytes;
  }

  /** Removes it from the queue; does nothing when it has begun. */
  forget(): void {
    this.#waiting.remove(this.line, this.link);
  }
}

export class WorkQueue {
  readonly #waiting = new TurnsByLine<Waiting>();
  /** The keys are connections. */
  readonly #lines = new WeakMap<object, Line<Waiting>>();
  readonly #time: TurnTime;
  /** Bytes and time that are left in this turn. */
  #leftBytes = BYTES_PER_TURN;
  #leftMs = MS_PER_TURN;
  /** True when the next turn is scheduled, which resets both. */
  #isTurning = false;

  constructor(time: TurnTime = REAL_TIME) {
    this.#time = time;
  }

  /** Does the work now, or when the connection has its turn. */
  begin(connection: object, work: () => void, bytes: number = CALL_BYTES): Waiting | undefined {
    this.#awaitTurn();
    if (this.#waiting.first() === undefined && this.#hasRoom) {
      this.#do(work, bytes);
      return undefined;
    }
    const line = this.#lines.get(connection) ?? new Line<Waiting>();
    this.#lines.set(connection, line);
    const waiting = new Waiting(this.#waiting, { line, work, bytes });
    this.#waiting.add(line, waiting.link);
    return waiting;
  }

  /** Nothing, or a promise of the turn for a slice of so many bytes. It rejects when the signal comes first. */
  slice(connection: object, bytes: number, signal: AbortSignal): Promise<void> | undefined {
    const turn = Promise.withResolvers<void>();
    const waiting = this.begin(connection, turn.resolve, AROUND_SLICE_BYTES + bytes);
    return waiting === undefined ? undefined : awaited(waiting, turn, signal);
  }

  /** Runs a piece of long work in its turn, and returns or throws what it does. */
  run<Result>(connection: object, work: () => Result): Promise<Result> {
    return new Promise((resolve) => {
      this.begin(connection, () => resolve(settled(work)), 0);
    });
  }

  get #hasRoom(): boolean {
    return this.#leftBytes > 0 && this.#leftMs > 0;
  }

  #awaitTurn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#time.later(() => this.#turn());
  }

  #turn(): void {
    this.#isTurning = false;
    this.#leftBytes = BYTES_PER_TURN;
    this.#leftMs = MS_PER_TURN;
    for (let next = this.#waiting.first(); next !== undefined && this.#hasRoom; next = this.#waiting.first()) {
      this.#waiting.serve(next.line, next.link);
      this.#awaitTurn();
      this.#do(next.work, next.bytes);
    }
    if (this.#waiting.first() !== undefined) this.#awaitTurn();
  }

  #do(work: () => void, bytes: number): void {
    const beganMs = this.#time.nowMs();
    work();
    this.#leftBytes -= bytes;
    this.#leftMs -= this.#time.nowMs() - beganMs;
  }
}

async function awaited(waiting: Waiting, turn: PromiseWithResolvers<void>, signal: AbortSignal): Promise<void> {
  const giveUp = (): void => turn.resolve();
  signal.addEventListener('abort', giveUp);
  await turn.promise;
  signal.removeEventListener('abort', giveUp);
  waiting.forget();
  signal.throwIfAborted();
}

/** Runs the work now, and turns what it throws into a rejection. */
async function settled<Result>(work: () => Result): Promise<Result> {
  return work();
}
