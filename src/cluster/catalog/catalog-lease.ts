/**
 * For how long the front may believe its copy of the catalog: whoever works on an instance of a name asks here first.
 *
 * ```
 *   none ── a use asks, and waits ──> held ── older than `renewMs`: the next use asks, and does not wait ──> held anew
 *     ^                                 │
 *     └──────── nothing was answered for `leaseMs`, counted from the question ────────┘
 * ```
 * A question is a read index on the catalog (R5): asked at a time and answered, it says that the copy here holds every
 * entry of the catalog that was acknowledged before that time. Time is monotonic, so that a process that stood still
 * finds its lease over. Nobody who is idle asks anything.
 *
 *   C21  Whoever works on an instance does so while the front holds the catalog's lease, and has looked since his
 *        request came: the catalog here then holds all that was acknowledged until `leaseMs` ago. What is seen after
 *        the look may be older; the request had begun by then.
 */
import { DatabaseError } from '#base';
import type { CoreLimits } from '../limits.ts';
import { catalogAnswersLate, catalogNotConfirmed } from '../requests/refusals.ts';

/** Of one use, when every answer comes too late. */
const QUESTIONS_MAX = 3;

export interface CatalogLeasePorts {
  readonly limits: Pick<CoreLimits, 'leaseMs' | 'leaseRenewMs'>;
  /**
   * Asks whoever leads the catalog how far it is, and waits until the copy here is so far; `confirmed` is called then.
   * Rejects after a bounded time.
   */
  readonly ask: () => Promise<unknown>;
  readonly monotonicMs: () => number;
}

export class CatalogLease {
  readonly #ports: CatalogLeasePorts;
  readonly #bornMs: number;
  /** When the last question that has an answer was asked; undefined: none has. */
  #askedMs: number | undefined;
  #renewMs = Number.NEGATIVE_INFINITY;
  #endMs = Number.NEGATIVE_INFINITY;
  #question: Promise<void> | undefined;
  #hasFailed = false;

  constructor(ports: CatalogLeasePorts) {
    this.#ports = ports;
    this.#bornMs = ports.monotonicMs();
  }

  /** Whether the last question had no answer, and the lease is over: this node cannot serve. */
  get isLost(): boolean {
    return this.#hasFailed && this.#ports.monotonicMs() >= this.#endMs;
  }

  /**
   * Undefined while the lease is held. Otherwise resolves as soon as it is: one question for all who wait.
   * @throws DatabaseError unavailable, reason `CatalogNotConfirmed`, when there is no answer; whatever else the node
   * says
   */
  take(): Promise<void> | undefined {
    const nowMs = this.#ports.monotonicMs();
    if (nowMs < this.#renewMs) return undefined;
    const question = this.#ask();
    return nowMs < this.#endMs ? undefined : this.#wait(question);
  }

  /** A question of that time has its answer: the catalog here holds what was acknowledged before. */
  confirmed(askedMs: number): void {
    if (this.#askedMs !== undefined && askedMs <= this.#askedMs) return;
    const { leaseMs, leaseRenewMs } = this.#ports.limits;
    this.#askedMs = askedMs;
    this.#renewMs = askedMs + leaseRenewMs;
    this.#endMs = askedMs + leaseMs;
    this.#hasFailed = false;
  }

  /** One at a time. A failure is told to whoever waits for the lease, and asked about by `isLost`. */
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

  /**
   * An answer may come so late that it says nothing of now, at a node that has too much to do: then it is asked again.
   */
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
