/**
 * What the core has to tell the front, gathered over a turn and sent as one report.
 *
 * That rows were written is reported at once only to a front in which somebody waits for rows. Otherwise it comes with
 * the next report, or with the next tick: a lone writer costs the front one message and not two.
 */
import type { DatabaseError, GroupId, Revision } from '#base';
import type { CatalogChange } from '../node.ts';
import {
  type AppliedRevision,
  type GroupLeader,
  type HistoryNote,
  isForeign,
  type Report,
  type Settlement,
  type Token,
} from './link.ts';

/** What is known of the attempts of a request before the last one. */
export interface Doubt {
  /** Says that the outcome is not known. */
  readonly error: DatabaseError;
  /** One of them may still be on its way to a leader, and become an entry after this one. */
  readonly isDelayed: boolean;
}

export class Reporter {
  #catalog: CatalogChange[] = [];
  #catalogIndex = 0;
  #applied = new Map<GroupId, Revision>();
  #leaders: GroupLeader[] = [];
  #admitted: Token[] = [];
  #settlements: Settlement[] = [];
  #histories: HistoryNote[] = [];
  #isFollowed = false;
  #listener: ((report: Report) => void) | undefined;
  /** Requests that were proposed again although they may be entries already. */
  readonly #doubts = new Map<Token, Doubt>();
  readonly #refuseForeign: (token: Token, error: DatabaseError) => void;

  /** What other nodes have asked for is refused by `refuseForeign`; the rest of it they find out themselves. */
  constructor(refuseForeign: (token: Token, error: DatabaseError) => void) {
    this.#refuseForeign = refuseForeign;
  }

  onReport(listener: (report: Report) => void): void {
    this.#listener = listener;
  }

  get isFollowed(): boolean {
    return this.#isFollowed;
  }

  /** Whether somebody in the front waits for rows. */
  follow(isFollowed: boolean): void {
    this.#isFollowed = isFollowed;
  }

  settle(settlements: readonly Settlement[]): void {
    for (const settlement of settlements) {
      this.#settlements.push(this.#doubts.size === 0 ? settlement : this.#judged(settlement));
    }
  }

  /** From now on the request is refused only as one that may be an entry. */
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

  /** A refusal says nothing of an attempt before it; nor does a violation of one that may yet become an entry. */
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

  applied({ group, revision }: AppliedRevision): void {
    this.#applied.set(group, revision);
  }

  /** Who leads hurries nobody: it goes with what comes next. */
  led(leader: GroupLeader): void {
    this.#leaders.push(leader);
  }

  /** Whether there is a front, which hears of everything from now on. */
  get isHeard(): boolean {
    return this.#listener !== undefined;
  }

  /** The catalog has changed, up to an index of its log. */
  catalog(changes: readonly CatalogChange[], index: number): void {
    this.#catalogIndex = index;
    for (const change of changes) this.#catalog.push(change);
  }

  /** Sends what was gathered, if there is something that cannot wait. */
  flush(): void {
    const isAwaited = this.#isFollowed && this.#applied.size > 0;
    if (isAwaited || this.#hasAnswers) this.#send();
  }

  /** Sends what was gathered, if anything. */
  flushAll(): void {
    if (this.#applied.size + this.#leaders.length > 0 || this.#hasAnswers) this.#send();
  }

  get #hasAnswers(): boolean {
    return this.#settlements.length + this.#admitted.length + this.#catalog.length + this.#histories.length > 0;
  }

  #send(): void {
    const report = {
      catalog: this.#catalog,
      catalogIndex: this.#catalogIndex,
      applied: Array.from(this.#applied, ([group, revision]) => ({ group, revision })),
      leaders: this.#leaders,
      admitted: this.#admitted,
      settlements: this.#settlements,
      ...(this.#histories.length > 0 && { histories: this.#histories }),
    };
    this.#catalog = [];
    this.#catalogIndex = 0;
    this.#applied.clear();
    // Nobody listens while the core opens, and who leads is said once.
    if (this.#listener !== undefined) [this.#leaders, this.#histories] = [[], []];
    this.#admitted = [];
    this.#settlements = [];
    this.#listener?.(report);
  }
}
