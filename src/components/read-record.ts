/**
 * What a decision has seen of the database, and what has to hold so that it would see the same again.
 *
 * Events are appended and never changed, so of what is read at a revision only that can change which later events may
 * join:
 *
 * ```
 * read                                        changes when, behind the revision, there is    guard
 * events, fewer than the limit                any event of the selector                      MaxRevision(at, selector)
 * events, as many as the limit                nothing: later ones stand behind the last      none
 * a State View                                any event of its selector, parameters bound    MaxRevision(at, selector)
 * the database                                any transaction                                MaxRevision(at)
 * ```
 * L, which a guard looks at, is that of the transaction's own place in the log, so a guard that holds there says that
 * nobody came between.
 *
 *   F20 A transaction that its guards let through has the events that the command, decided at the revision which the
 *       transaction is committed on top of, would have.
 */
import { toHex } from '#base';
import { type Constraint, checkConstraints, encodeSelector, Faults, type Selector } from '#model';

export class ReadRecord {
  /** By their canonical bytes: what is read twice is guarded once. */
  readonly #selectors: Map<string, Selector> = new Map();
  #hasSeenDatabase = false;

  /** Everything that a selector selects was seen, up to the revision. */
  sawAll(selector: Selector): void {
    this.#selectors.set(toHex(encodeSelector(selector)), selector);
  }

  /** Its revision was seen. */
  sawDatabase(): void {
    this.#hasSeenDatabase = true;
  }

  /** Where there are more selectors than a transaction may be constrained by, nothing at all may have come. */
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

/** Nothing was committed behind the revision: whatever was read, it has not changed. */
export function unchanged(at: number): Constraint {
  return { kind: 'max-revision', revision: at };
}
