/**
 * Which presentations have an executor. Those that make nothing because nobody takes what they have made give theirs to
 * those that wait.
 *
 *   F30 A presentation that waits gets a turn as soon as one is over, or one stands still that has stood for as long as
 *       it may: as little as its reader takes, it keeps no other from being made.
 *   F34 Components take turns: in each round each that waits has one, however many presentations of another wait before
 *       it. Within a component it is the one that has waited longest.
 */

/** One that has a turn. */
export interface Turn {
  /** Of what it is one: those of one share what is given to each. */
  readonly component: string;
  /** How long it has stood in this turn; undefined: it is not standing now. */
  stoodMs(): number | undefined;
  /** Has it end its turn, soon. */
  putAway(): void;
}

interface Waiting {
  readonly turn: Turn;
  readonly begin: (isGiven: boolean) => void;
}

export interface TurnSettings {
  /** Turns at a time. */
  readonly runningMax: number;
  /** How long one may stand in its turn, all in all, while others wait. */
  readonly standMs: number;
}

export class PresenterTurns {
  readonly #settings: TurnSettings;
  readonly #running: Set<Turn> = new Set();
  /** Those of the running ones that were told to go. */
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

  /** Resolves when it is its turn; false: it was told to wait no longer. */
  async begin(turn: Turn): Promise<boolean> {
    if (this.#running.size < this.#settings.runningMax) {
      // Nobody waits for anything: what was given before is forgotten.
      if (this.#running.size === 0) this.#served.clear();
      this.#give(turn);
      return true;
    }
    return new Promise((begin) => {
      this.#waiting.push({ turn, begin });
      this.consider();
    });
  }

  /** It waits no longer. */
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
    // One that has had its turn gets another only when no other component waits for its first: a round begins.
    if (this.#served.has(turn.component)) this.#served.clear();
    this.#served.add(turn.component);
    this.#running.add(turn);
  }

  /** To be called when one has stood for as long as it may. Puts away as many as wait, the longest standing first. */
  consider(): void {
    const wanted = this.#waiting.length - this.#leaving.size;
    if (wanted <= 0) return;
    const standing = [...this.#running].flatMap((turn) => {
      const stoodMs = this.#leaving.has(turn) ? undefined : turn.stoodMs();
      return stoodMs === undefined || stoodMs < this.#settings.standMs ? [] : [{ turn, stoodMs }];
    });
    for (const { turn } of standing.toSorted((one, other) => other.stoodMs - one.stoodMs).slice(0, wanted)) {
      this.#leaving.add(turn);
      turn.putAway();
    }
  }
}
