/**
 * Where the open groups of a node are in their logs, all together: numbers that do not grow in number with the groups.
 * Each group adds what it moves, so that nobody has to go through ten thousand of them.
 */
import { lastId, type RaftState } from '#raft';

/** Of all open groups; indexes are sums. */
export interface RaftLevels {
  /** The highest that any group of this process has been in. */
  readonly term: number;
  readonly lastIndex: number;
  readonly committedIndex: number;
  /** Applied, with the rows in the store. */
  readonly appliedIndex: number;
}

export class RaftTotals {
  #term = 0;
  #lastIndex = 0;
  #committedIndex = 0;
  #appliedIndex = 0;
  #logBytes = 0;

  /** What the entries take that the logs have in memory. */
  get logBytes(): number {
    return this.#logBytes;
  }

  get levels(): RaftLevels {
    return {
      term: this.#term,
      lastIndex: this.#lastIndex,
      committedIndex: this.#committedIndex,
      appliedIndex: this.#appliedIndex,
    };
  }

  opened(state: RaftState): void {
    this.#add(state, 1);
  }

  /** A group went from one state to the next. */
  moved(before: RaftState, after: RaftState): void {
    if (before === after) return;
    this.#add(before, -1);
    this.#add(after, 1);
  }

  closed(state: RaftState): void {
    this.#add(state, -1);
  }

  #add(state: RaftState, sign: 1 | -1): void {
    this.#term = Math.max(this.#term, state.hardState.term);
    this.#lastIndex += sign * lastId(state.log).index;
    this.#committedIndex += sign * state.commit;
    this.#appliedIndex += sign * state.applied;
    this.#logBytes += sign * state.log.bytes;
  }
}
