/**
 * What the core has to tell the front, gathered over a turn and sent as one report.
 */
import type { DatabaseError } from '#base';
import type { AppliedRevision, Report, Settlement, Token } from './link.ts';
import type { CatalogChange } from './node.ts';

export class Reporter {
  #catalog: CatalogChange[] = [];
  #applied: AppliedRevision[] = [];
  #settlements: Settlement[] = [];
  #listener: ((report: Report) => void) | undefined;

  onReport(listener: (report: Report) => void): void {
    this.#listener = listener;
  }

  settle(settlements: readonly Settlement[]): void {
    for (const settlement of settlements) this.#settlements.push(settlement);
  }

  refuse(tokens: readonly Token[], error: DatabaseError): void {
    for (const token of tokens) this.#settlements.push({ kind: 'refused', token, error });
  }

  applied(applied: AppliedRevision): void {
    this.#applied.push(applied);
  }

  catalog(changes: readonly CatalogChange[]): void {
    for (const change of changes) this.#catalog.push(change);
  }

  /** Sends what was gathered, if anything. */
  flush(): void {
    const { length } = this.#settlements;
    if (length === 0 && this.#applied.length === 0 && this.#catalog.length === 0) return;
    const report = {
      catalog: this.#catalog,
      applied: this.#applied,
      settlements: this.#settlements,
    };
    this.#catalog = [];
    this.#applied = [];
    this.#settlements = [];
    this.#listener?.(report);
  }
}
