/**
 * Work that connections want of a server, begun a little in each turn of the event loop and by connection in turn.
 *
 * ```
 *   begin ── none waits, and the turn has room ──> begun at once
 *     └──> queue of its connection ── its turn ──> begun
 *                └── the call has ended ──> forgotten
 * ```
 *
 * A read of a socket brings hundreds of calls, and every connection is read in each turn of the loop. Begun at once,
 * the calls of a client with many of them would delay all other clients for seconds. So would the slices of hundreds
 * of readers that are all ready for their next one, and JSON that takes tens of milliseconds per megabyte.
 *
 *   T10  A connection with few calls does not wait for all calls of another one: calls that have arrived are begun by
 *        connection in turn, and not at all when their connection has gone. So are slices of streams read.
 */
import { Link } from '#base';
import { type Line, Lines, TurnsByLine } from './turns-by-line.ts';

/** Bytes that are read, framed and sent in one turn, in some milliseconds. The last piece of work may exceed it. */
const BYTES_PER_TURN = 512 * 1024;
const MS_PER_TURN = 5;

/** A call takes as long as so many bytes of a slice, and a slice as long as one that is larger by twice as much. */
const CALL_BYTES = 8 * 1024;
const AROUND_SLICE_BYTES: number = 2 * CALL_BYTES;

export interface TurnTime {
  readonly nowMs: () => number;
  /** Runs the work when everything that has arrived by then had its turn. */
  readonly later: (work: () => void) => void;
}

const REAL_TIME: TurnTime = { nowMs: () => performance.now(), later: setImmediate };

/** Work that was not begun yet. */
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

  /** It need not be begun any more; nothing when it was. */
  forget(): void {
    this.#waiting.remove(this.line, this.link);
  }
}

export class WorkQueue {
  readonly #waiting = new TurnsByLine<Waiting>();
  readonly #lines = new Lines<Waiting>();
  readonly #time: TurnTime;
  /** Rest of the turn. */
  #leftBytes = BYTES_PER_TURN;
  #leftMs = MS_PER_TURN;
  /** Whether the next turn is scheduled, which begins with room anew. */
  #isTurning = false;

  constructor(time: TurnTime = REAL_TIME) {
    this.#time = time;
  }

  /** Does the work now, or when it is the turn of the connection. */
  begin(connection: object, work: () => void, bytes: number = CALL_BYTES): Waiting | undefined {
    this.#awaitTurn();
    if (this.#waiting.first() === undefined && this.#hasRoom) {
      this.#do(work, bytes);
      return undefined;
    }
    const line = this.#lines.of(connection);
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
