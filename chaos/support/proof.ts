/**
 * Checks after every restart that a database contains what its writers were acknowledged: every acknowledged
 * transaction once, at its revision and complete, no unknown transaction, and an unbroken chain of hashes. Each check
 * reads only what is new since the previous one.
 */
import { brokenLink, firstHash, type LoggedTransaction, readLog, textField } from './log-reader.ts';
import type { Ledger } from './writers.ts';

export interface ProofSummary {
  readonly acknowledged: number;
  readonly unknownButStored: number;
  readonly unknownAndAbsent: number;
  readonly refused: number;
  readonly revision: number;
  readonly events: number;
}

export class Proof {
  readonly #database: string;
  readonly #ledger: Ledger;
  readonly #revisionOf = new Map<string, number>();
  #revision = 0;
  #hash: Buffer;
  #events = 0;

  constructor(database: { readonly name: string; readonly databaseId: string }, ledger: Ledger) {
    this.#database = database.name;
    this.#ledger = ledger;
    this.#hash = firstHash(database.databaseId);
  }

  get revision(): number {
    return this.#revision;
  }

  /** Reads what is new at `address` and returns the ids of its events, in order. @throws Error for the first fault. */
  async check(address: string): Promise<readonly string[]> {
    const log = await readLog(address, this.#database, this.#revision + 1);
    const broken = brokenLink({ revision: this.#revision, hash: this.#hash }, log);
    if (broken !== undefined) throw new Error(broken);
    const eventIds = log.flatMap((transaction) => this.#take(transaction));
    this.#checkLedger();
    return eventIds;
  }

  summary(): ProofSummary {
    const attempts = Array.from(this.#ledger.values());
    const count = (kind: string): number => attempts.filter((attempt) => attempt.outcome.kind === kind).length;
    const unknown = attempts.filter((attempt) => attempt.outcome.kind === 'unknown');
    const stored = unknown.filter((attempt) => this.#revisionOf.has(attempt.transactionId)).length;
    return {
      acknowledged: count('acknowledged'),
      unknownButStored: stored,
      unknownAndAbsent: unknown.length - stored,
      refused: count('refused'),
      revision: this.#revision,
      events: this.#events,
    };
  }

  #take({ transactionId, revision, chainHash, events }: LoggedTransaction): readonly string[] {
    const attempt = this.#ledger.get(transactionId);
    if (attempt === undefined) throw new Error(`revision ${revision} holds ${transactionId}, which nobody wrote`);
    const twice = this.#revisionOf.get(transactionId);
    if (twice !== undefined) throw new Error(`${transactionId} is stored at revision ${twice} and at ${revision}`);
    const ids = events.map((event) => textField(event, 1) ?? '');
    if (ids.join() !== attempt.eventIds.join()) throw new Error(`revision ${revision} holds the events ${ids.join()}`);
    this.#revisionOf.set(transactionId, revision);
    this.#revision = revision;
    this.#hash = chainHash;
    this.#events += ids.length;
    return ids;
  }

  #checkLedger(): void {
    for (const { transactionId, outcome } of this.#ledger.values()) {
      const stored = this.#revisionOf.get(transactionId);
      if (outcome.kind === 'acknowledged' && stored !== outcome.revision) {
        const place = stored ?? 'none';
        throw new Error(`${transactionId} was acknowledged at revision ${outcome.revision} and is stored at ${place}`);
      }
      if (outcome.kind === 'refused' && stored !== undefined) {
        throw new Error(`${transactionId} was refused and is stored at revision ${stored}`);
      }
    }
  }
}
