/**
 * A lease that limits how long the front may rely on its copy of the catalog. Every use of a name checks it first.
 *
 * ```
 *   none ── a use asks, and waits ──> held ── older than `renewMs`: the next use asks, and does not wait ──> held again
 *     ^                                 │
 *     └──────── nothing was answered for `leaseMs`, counted from the question ────────┘
 * ```
 * A lease is renewed by a read index on the catalog (R5). Its answer confirms that the local copy has every entry of
 * the catalog that was acknowledged before the request was sent. Time is monotonic, so that a process that was
 * suspended finds its lease expired. An idle node sends no requests.
 *
 *   C21  An operation on an instance runs only while the front holds the catalog's lease, and has checked it since its
 *        request arrived: the local catalog then has everything that was acknowledged until `leaseMs` ago. Data seen
 *        after the check may be older, but the request was concurrent then.
 */
import { DatabaseError } from '#base';
import type { CoreLimits } from '../limits.ts';
import { catalogAnswersLate, catalogNotConfirmed } from '../refusals.ts';

/** Attempts per use, when every answer arrives too late. */
const QUESTIONS_MAX = 3;

export interface CatalogLeasePorts {
  readonly limits: Pick<CoreLimits, 'leaseMs' | 'leaseRenewMs'>;
  /**
   * Asks the leader of the catalog for its read index, and waits until the local copy has reached it; then `confirmed`
   * is called. Rejects after a bounded time.
   */
  readonly ask: () => Promise<unknown>;
  readonly monotonicMs: () => number;
}

export class CatalogLease {
  readonly #ports: CatalogLeasePorts;
  readonly #bornMs: number;
  /** Send time of the last answered request; undefined before the first. */
  #askedMs: number | undefined;
  #renewMs = Number.NEGATIVE_INFINITY;
  #endMs = Number.NEGATIVE_INFINITY;
  #question: Promise<void> | undefined;
  #hasFailed = false;

  constructor(ports: CatalogLeasePorts) {
    this.#ports = ports;
    this.#bornMs = ports.monotonicMs();
  }

  /** True when the last request failed and the lease has expired: this node cannot serve. */
  get isLost(): boolean {
    return this.#hasFailed && this.#ports.monotonicMs() >= this.#endMs;
  }

  /**
   * Undefined while the lease is held. Otherwise resolves as soon as it is; all callers share one request.
   * @throws DatabaseError unavailable, reason `CatalogNotConfirmed`, without an answer; any other error of the node
   */
  take(): Promise<void> | undefined {
    const nowMs = this.#ports.monotonicMs();
    if (nowMs < this.#renewMs) return undefined;
    const question = this.#ask();
    return nowMs < this.#endMs ? undefined : this.#wait(question);
  }

  /** The request sent at this time was answered: the local catalog has everything acknowledged before. */
  confirmed(askedMs: number): void {
    if (this.#askedMs !== undefined && askedMs <= this.#askedMs) return;
    const { leaseMs, leaseRenewMs } = this.#ports.limits;
    this.#askedMs = askedMs;
    this.#renewMs = askedMs + leaseRenewMs;
    this.#endMs = askedMs + leaseMs;
    this.#hasFailed = false;
  }

  /** One request at a time. A failure is reported to callers that wait for the lease, and by `isLost`. */
  #ask(): Promise<void> {
    if (this.#question !== undefined) return this.#question;
    const question = this.#put();
    question.catch(() => undefined);
    this.#question = question;
    return question;
  }

  async #put(): Promise<void> {
    try {
      await this.#ports.ask();
    } catch (failure) {
      this.#hasFailed = true;
      throw failure;
    } finally {
      this.#question = undefined;
    }
  }

  /** On an overloaded node the answer may arrive after the lease it grants has expired; then it asks again. */
  async #wait(first: Promise<void>): Promise<void> {
    let question = first;
    for (let asked = 1; ; asked++) {
      await question.catch((failure: unknown) => {
        throw hasNoLeader(failure) ? this.#notConfirmed() : failure;
      });
      if (this.#ports.monotonicMs() < this.#endMs) return;
      if (asked === QUESTIONS_MAX) throw catalogAnswersLate(this.#ports.limits.leaseMs);
      question = this.#ask();
    }
  }

  #notConfirmed(): DatabaseError {
    const silentMs = this.#ports.monotonicMs() - (this.#askedMs ?? this.#bornMs);
    return catalogNotConfirmed(silentMs, this.#askedMs !== undefined);
  }
}

function hasNoLeader(failure: unknown): boolean {
  return failure instanceof DatabaseError && failure.details.reason === 'NoLeader';
}
