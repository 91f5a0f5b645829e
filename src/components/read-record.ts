/**
 * Records the reads of a decision, and derives the guards under which it would read the same again.
 *
 * Events are never changed, so a read at a revision can only change by later events:
 *
 * ```
 * read                                        changes when, after the revision, there is     guard
 * events, fewer than the limit                any event of the selector                      MaxRevision(at, selector)
 * events, as many as the limit                nothing: later ones come after the last        none
 * a State View                                any event of its selector, parameters bound    MaxRevision(at, selector)
 * the database                                any transaction                                MaxRevision(at)
 * ```
 * A guard is evaluated at the position of the transaction in the log, so a guard that holds there proves that no such
 * event was added in between.
 *
 *   F20 A transaction that passes its guards has the events that the command would have if it were decided at the
 *       revision before that of the transaction.
 */
import { toHex } from '#base';
import { type Constraint, checkConstraints, encodeSelector, Faults, type Selector } from '#model';

export class ReadRecord {
  /** Keyed by canonical bytes, so that a repeated read has one guard. */
  readonly #selectors: Map<string, Selector> = new Map();
  #hasSeenDatabase = false;

  /** Records a read of all events of a selector, up to the revision. */
  sawAll(selector: Selector): void {
    this.#selectors.set(toHex(encodeSelector(selector)), selector);
  }

  /** Records a read of the database's revision. */
  sawDatabase(): void {
    this.#hasSeenDatabase = true;
  }

  /** With more selectors than a transaction may have constraints, a single guard on the whole database is used. */
  guards(at: number): readonly Constraint[] {
    if (this.#hasSeenDatabase) return [unchanged(at)];
    const guards = Array.from(
      this.#selectors.values(),
      (selector): Constraint => ({ kind: 'max-revision', revision: at, selector }),
    );
    const faults = new Faults();
    checkConstraints(guards, 'guards', faults);
    return faults.none ? guards : [unchanged(at)];
  }
}

/** The guard that nothing was committed after the revision. */
export function unchanged(at: number): Constraint {
  return { kind: 'max-revision', revision: at };
}
