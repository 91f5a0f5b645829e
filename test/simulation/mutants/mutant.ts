/** What a mutant is: a small way to break the node, as data. */
import type { Modes } from '../modes.ts';

/** Which file, which text of it (exactly once), and what instead. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** The modes are what of the simulation it takes. */
export interface Mutant extends Edit, Modes {
  readonly name: string;
  readonly breaks: string;
  /** What has to be broken as well, because either of several places keeps the promise. */
  readonly and?: readonly Edit[];
  /** A real bug of the same kind elsewhere. */
  readonly anchor?: string;
  /** How many nodes it takes; one when it is not said. */
  readonly nodes?: number;
  /** Seeds that have the rare faults that it takes; they are tried first. */
  readonly first?: readonly number[];
}

/** What looks like a mutant and breaks no promise. */
export interface Equivalent {
  readonly name: string;
  readonly breaks: string;
  readonly why: string;
}
