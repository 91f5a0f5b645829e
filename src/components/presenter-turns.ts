/**
 * Assigns executors to presentations. A presentation whose reader is slow gives its executor to those that wait.
 *
 *   F30 A waiting presentation gets a turn as soon as another one is over, or has waited for its reader for the maximum
 *       time: a slow reader does not block other presentations.
 *   F34 Components take turns: in each round every waiting component has one turn, however many presentations of another
 *       one wait before it. Within a component the longest waiting presentation is first.
 */

/** A presentation with a turn. */
export interface Turn {
  /** Its component; presentations of one component share its turns. */
  readonly component: string;
  /** Time that it has waited for its reader in this turn; undefined when it does not wait now. */
  waitedMs(): number | undefined;
  /** Asks it to end its turn soon. */
  suspend(): void;
}

interface Waiting {
  readonly turn: Turn;
  readonly begin: (isGiven: boolean) => void;
}

export interface TurnSettings {
  /** Maximum number of concurrent turns. */
  readonly runningMax: number;
  /** Maximum total wait for the reader in a turn, while others wait for one. */
  readonly readerWaitMs: number;
}

export class PresenterTurns {
  readonly #settings: TurnSettings;
  readonly #running: Set<Turn> = new Set();
  /** Running turns that were asked to end. */
  readonly #leaving: Set<Turn> = new Set();
  /** Components that had a turn in this round. */
  readonly #served: Set<string> = new Set();
  #waiting: Waiting[] = [];

  constructor(settings: TurnSettings) {
    this.#settings = settings;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Resolves with true when it has a turn, or with false after `leaveQueue`. */
  async begin(turn: Turn): Promise<boolean> {
    if (this.#running.size < this.#settings.runningMax) {
      // Nothing waits, so the round starts again.
      if (this.#running.size === 0) this.#served.clear();
      this.#give(turn);
      return true;
    }
    return new Promise((begin) => {
      this.#waiting.push({ turn, begin });
      this.consider();
    });
  }

  /** Removes it from the queue. */
  leaveQueue(turn: Turn): void {
    const left = this.#waiting.find((waiting) => waiting.turn === turn);
    this.#waiting = this.#waiting.filter((waiting) => waiting !== left);
    left?.begin(false);
  }

  end(turn: Turn): void {
    this.#running.delete(turn);
    this.#leaving.delete(turn);
    const next = this.#next();
    if (next === undefined) return;
    this.#waiting = this.#waiting.filter((waiting) => waiting !== next);
    this.#give(next.turn);
    next.begin(true);
  }

  #next(): Waiting | undefined {
    return this.#waiting.find(({ turn }) => !this.#served.has(turn.component)) ?? this.#waiting[0];
  }

  #give(turn: Turn): void {
    // A component gets a second turn only when no other waits for its first; then a new round starts.
    if (this.#served.has(turn.component)) this.#served.clear();
    this.#served.add(turn.component);
    this.#running.add(turn);
  }

  /** Called when a turn has reached its maximum wait. Suspends as many turns as others wait, longest waiting first. */
  consider(): void {
    const wanted = this.#waiting.length - this.#leaving.size;
    if (wanted <= 0) return;
    const overdue = [...this.#running].flatMap((turn) => {
      const waitedMs = this.#leaving.has(turn) ? undefined : turn.waitedMs();
      return waitedMs === undefined || waitedMs < this.#settings.readerWaitMs ? [] : [{ turn, waitedMs }];
    });
    for (const { turn } of overdue.toSorted((one, other) => other.waitedMs - one.waitedMs).slice(0, wanted)) {
      this.#leaving.add(turn);
      turn.suspend();
    }
  }
}
