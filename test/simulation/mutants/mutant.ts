/** What a mutant is: a small way to break the node, as data. */
import type { Modes } from '../modes.ts';

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
  /** Options of the simulation: modes, nodes (1 by default), and seeds with the rare faults, which come first. */
  readonly run?: Modes & { readonly nodes?: number; readonly first?: readonly number[] };
}

/** What looks like a mutant and breaks no promise. */
export interface Equivalent {
  readonly name: string;
  readonly breaks: string;
  readonly why: string;
}
