/** What a mutant is: a small way to break the node, as data. */

/** Which file, which text of it (exactly once), and what instead. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant extends Edit {
  readonly name: string;
  readonly breaks: string;
  /** What has to be broken as well, because either of several places keeps the promise. */
  readonly and?: readonly Edit[];
  /** A real bug of the same kind elsewhere. */
  readonly anchor?: string;
  /** How many nodes it takes; one when it is not said. */
  readonly nodes?: number;
  /** Whether faults that aim do better than those of the seeds. */
  readonly aimed?: boolean;
  /** Whether it takes the real lanes between nodes. */
  readonly lanes?: boolean;
  /** Whether somebody has to define components. */
  readonly definitions?: boolean;
  /** Whether the invariants of #raft are what notices it: they are checked after every step, then. */
  readonly steps?: boolean;
  /** Seeds that have the rare faults that it takes; they are tried first. */
  readonly first?: readonly number[];
}

/** What looks like a mutant and breaks no promise. */
export interface Equivalent {
  readonly name: string;
  readonly breaks: string;
  readonly why: string;
}
