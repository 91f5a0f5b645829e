/**
 * Sums of the log indexes of all open groups of a node. Each group adds its changes, so that no loop over ten thousand
 * groups is needed.
 */
import { lastId, type RaftState } from '#raft';

/** Totals of all open groups; indexes are sums. */
export interface RaftLevels {
  /** The highest term of any group of this process. */
  readonly term: number;
  readonly lastIndex: number;
  readonly committedIndex: number;
  /** Applied index whose rows are in the store. */
  readonly appliedIndex: number;
}

export class RaftTotals {
  #term = 0;
  #lastIndex = 0;
  #committedIndex = 0;
  #appliedIndex = 0;
  #logBytes = 0;

  /** Memory of the entries in all logs. */
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

  /** Accounts for a state change of a group. */
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
