/**
 * What connections want of the node, such as calls that have arrived, begun a little in each turn of the event loop and
 * by connection in turn.
 *
 * Invariant:
 *   T10  A connection with few calls does not wait for all calls of another one: what has arrived is begun by
 *        connection in turn, and not at all when its connection has gone. So are slices of streams read.
 *
 * A read of a socket brings hundreds of calls, and every connection is read in each turn of the loop. Begun at once,
 * the calls of a client with many of them would keep everybody else waiting for seconds, for each of the turns that a
 * new connection needs; and so would the answers that follow.
 *
 * ```
 *   begin ── nobody waits, and the turn has room ──> begun at once
 *     └──> line of its connection ── its turn ──> begun
 *                └── the call has ended ──> forgotten
 * ```
 */
import { Link } from '#base';
import { type Line, TurnsByLine } from '../../turns-by-line.ts';

/** Beginning one takes some ten microseconds, answering it some hundred. */
const CALLS_PER_TURN = 64;

/** A few calls take much longer; the last of a turn overshoots. */
const MS_PER_TURN = 5;

/** A call that was not begun yet. */
export class Waiting {
  readonly link: Link<Waiting> = new Link<Waiting>(this);
  readonly line: Line<Waiting>;
  readonly work: () => void;
  readonly cost: number;
  readonly #rounds: Rounds;

  /** For the rounds alone. */
  constructor(rounds: Rounds, { line, work, cost }: Pick<Waiting, 'line' | 'work' | 'cost'>) {
    this.#rounds = rounds;
    this.line = line;
    this.work = work;
    this.cost = cost;
  }

  /** It need not be begun any more; nothing when it was. */
  forget(): void {
    this.#rounds.forget(this);
  }
}

export interface RoundsTime {
  readonly nowMs: () => number;
  /** Runs the work when everything that has arrived by then had its turn. */
  readonly later: (work: () => void) => void;
}

const REAL_TIME: RoundsTime = { nowMs: () => performance.now(), later: setImmediate };

export interface RoundsOptions {
  /** What those cost that are begun in one turn of the event loop; the last of them overshoots. */
  readonly perTurn?: number;
  /** Real time unless a test decides. */
  readonly time?: RoundsTime;
}

export class Rounds {
  readonly #waiting = new TurnsByLine<Waiting>();
  readonly #time: RoundsTime;
  readonly #perTurn: number;
  #waitingCount = 0;
  /** What is left of the turn. */
  #left: number;
  #leftMs = MS_PER_TURN;
  /** Whether the next turn is awaited, which begins with room anew. */
  #isTurning = false;

  constructor({ perTurn = CALLS_PER_TURN, time = REAL_TIME }: RoundsOptions = {}) {
    this.#time = time;
    this.#perTurn = perTurn;
    this.#left = perTurn;
  }

  /** Calls that were not begun yet. */
  get waiting(): number {
    return this.#waitingCount;
  }

  /** Does the work now, or when it is the turn of its line. */
  begin(line: Line<Waiting>, work: () => void, cost = 1): Waiting | undefined {
    this.#awaitTurn();
    if (this.#waitingCount === 0 && this.#hasRoom) {
      this.#do(work, cost);
      return undefined;
    }
    const waiting = new Waiting(this, { line, work, cost });
    this.#waiting.add(line, waiting.link);
    this.#waitingCount += 1;
    return waiting;
  }

  /** For those who wait alone. */
  forget({ line, link }: Waiting): void {
    if (this.#waiting.remove(line, link)) this.#waitingCount -= 1;
  }

  get #hasRoom(): boolean {
    return this.#left > 0 && this.#leftMs > 0;
  }

  #awaitTurn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#time.later(() => this.#turn());
  }

  #turn(): void {
    this.#isTurning = false;
    this.#left = this.#perTurn;
    this.#leftMs = MS_PER_TURN;
    while (this.#hasRoom) {
      const next = this.#waiting.first();
      if (next === undefined) return;
      this.#waiting.serve(next.line, next.link);
      this.#waitingCount -= 1;
      this.#awaitTurn();
      this.#do(next.work, next.cost);
    }
  }

  #do(work: () => void, cost: number): void {
    const beganMs = this.#time.nowMs();
    work();
    this.#left -= cost;
    this.#leftMs -= this.#time.nowMs() - beganMs;
  }
}
