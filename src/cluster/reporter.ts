/**
 * Collects the reports of the core to the front over a turn, and sends them as one.
 *
 * Written rows are reported at once only to a front with clients that wait for rows. Otherwise they are part of the
 * next report, or of the next tick: a single writer then costs the front one message instead of two.
 */
import type { DatabaseError, GroupId, Revision } from '#base';
import {
  type GroupLeader,
  type HistoryNote,
  isForeign,
  type ReadableRevision,
  type Report,
  type Settlement,
  type Token,
} from './link.ts';
import type { CatalogChange } from './node.ts';

/** State of earlier attempts of a request. */
export interface Doubt {
  /** Error for an unknown outcome. */
  readonly error: DatabaseError;
  /** An attempt may still be on its way to a leader, and become an entry after this one. */
  readonly isDelayed: boolean;
}

export class Reporter {
  #catalog: CatalogChange[] = [];
  #catalogIndex = 0;
  #readable = new Map<GroupId, Revision>();
  #leaders: GroupLeader[] = [];
  #admitted: Token[] = [];
  #settlements: Settlement[] = [];
  #histories: HistoryNote[] = [];
  #isFollowed = false;
  #listener: ((report: Report) => void) | undefined;
  /** Requests that were proposed again although they may be entries already. */
  readonly #doubts = new Map<Token, Doubt>();
  readonly #refuseForeign: (token: Token, error: DatabaseError) => void;

  /** `refuseForeign` refuses requests of other nodes; their other outcomes are found there. */
  constructor(refuseForeign: (token: Token, error: DatabaseError) => void) {
    this.#refuseForeign = refuseForeign;
  }

  onReport(listener: (report: Report) => void): void {
    this.#listener = listener;
  }

  get isFollowed(): boolean {
    return this.#isFollowed;
  }

  /** Sets whether a client of the front waits for rows. */
  follow(isFollowed: boolean): void {
    this.#isFollowed = isFollowed;
  }

  settle(settlements: readonly Settlement[]): void {
    for (const settlement of settlements) {
      this.#settlements.push(this.#doubts.size === 0 ? settlement : this.#judged(settlement));
    }
  }

  /** From now on the request is refused only as one with an unknown outcome. */
  doubt(token: Token, doubt: Doubt): void {
    const isDelayed = doubt.isDelayed || this.#doubts.get(token)?.isDelayed === true;
    this.#doubts.set(token, { ...doubt, isDelayed });
  }

  refuse(tokens: readonly Token[], error: DatabaseError): void {
    for (const token of tokens) {
      if (isForeign(token)) this.#refuseForeign(token, error);
      else this.settle([{ kind: 'refused', token, error }]);
    }
  }

  /**
   * A refusal does not apply to earlier attempts; a violation does not apply while an attempt may still become an
   * entry.
   */
  #judged(settlement: Settlement): Settlement {
    const { kind, token } = settlement;
    const doubt = this.#doubts.get(token);
    this.#doubts.delete(token);
    const isCommitted =
      kind === 'outcome' && settlement.outcome.kind !== 'violated' && settlement.outcome.kind !== 'too-broad';
    const isSure = isCommitted || (kind === 'outcome' && doubt?.isDelayed === false);
    return doubt === undefined || isSure ? settlement : { kind: 'refused', token, error: doubt.error };
  }

  admitted(token: Token): void {
    this.#admitted.push(token);
  }

  noteHistory(note: HistoryNote): void {
    this.#histories.push(note);
  }

  wrote({ group, revision }: ReadableRevision): void {
    this.#readable.set(group, revision);
  }

  /** A changed leader is not urgent: it is part of the next report. */
  led(leader: GroupLeader): void {
    this.#leaders.push(leader);
  }

  /** True when there is a front that receives every report from now on. */
  get isHeard(): boolean {
    return this.#listener !== undefined;
  }

  /** The catalog has changed, up to an index of its log. */
  catalog(changes: readonly CatalogChange[], index: number): void {
    this.#catalogIndex = index;
    for (const change of changes) this.#catalog.push(change);
  }

  /** Sends the collected report, if it contains something urgent. */
  flush(): void {
    const isAwaited = this.#isFollowed && this.#readable.size > 0;
    if (isAwaited || this.#hasAnswers) this.#send();
  }

  /** Sends the collected report, if it is not empty. */
  flushAll(): void {
    if (this.#readable.size + this.#leaders.length > 0 || this.#hasAnswers) this.#send();
  }

  get #hasAnswers(): boolean {
    return this.#settlements.length + this.#admitted.length + this.#catalog.length + this.#histories.length > 0;
  }

  #send(): void {
    const report = {
      catalog: this.#catalog,
      catalogIndex: this.#catalogIndex,
      readable: Array.from(this.#readable, ([group, revision]) => ({ group, revision })),
      leaders: this.#leaders,
      admitted: this.#admitted,
      settlements: this.#settlements,
      ...(this.#histories.length > 0 && { histories: this.#histories }),
    };
    this.#catalog = [];
    this.#catalogIndex = 0;
    this.#readable.clear();
    // Without a listener, while the core opens, leaders are kept for the first report.
    if (this.#listener !== undefined) [this.#leaders, this.#histories] = [[], []];
    this.#admitted = [];
    this.#settlements = [];
    this.#listener?.(report);
  }
}
