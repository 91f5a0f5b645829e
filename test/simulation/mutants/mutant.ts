/** The types of a mutant: a small defect of the node, as data. */
import type { Modes } from '../modes.ts';

/** A file, a text in it (which must occur exactly once), and its replacement. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant extends Edit {
  readonly name: string;
  readonly breaks: string;
  /** Further edits, for a guarantee that several places keep. */
  readonly and?: readonly Edit[];
  /** A real bug of the same kind in another system. */
  readonly anchor?: string;
  /** Options of the simulation: modes, nodes (default 1), and seeds that contain rare faults, which run first. */
  readonly run?: Modes & { readonly nodes?: number; readonly first?: readonly number[] };
}

/** A change that looks like a mutant but breaks no guarantee. */
export interface Equivalent {
  readonly name: string;
  readonly breaks: string;
  readonly why: string;
}
