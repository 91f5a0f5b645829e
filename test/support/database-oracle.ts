// Computes the correct answers of a database in the simplest way: a list of transactions, and loops over all of their
// events. It is based on the specification and its decisions, and shares no logic with #database.
import type { Constraint, Selector } from '#model';
import { holds, matches } from './naive-constraints.ts';

export interface OracleEvent {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly stream: string;
  readonly subject?: string | undefined;
  /** Effective time; absent: the recorded time. */
  readonly time?: OracleTime | undefined;
}

export interface OracleTime {
  readonly seconds: number;
  readonly nanos: number;
}

export interface OracleRequest {
  readonly transactionId: string;
  readonly stampedMs: number;
  readonly events: readonly OracleEvent[];
  readonly constraints: readonly Constraint[];
}

export interface OracleStored extends OracleEvent {
  readonly revision: number;
  readonly index: number;
  readonly storedId: string;
  readonly effective: OracleTime;
}

export interface OracleTransaction {
  readonly transactionId: string;
  readonly revision: number;
  readonly recordedTimeMs: number;
  readonly events: readonly OracleStored[];
}

export type OracleOutcome =
  | { readonly kind: 'committed'; readonly revision: number; readonly renamed: readonly (readonly [number, string])[] }
  | { readonly kind: 'replayed'; readonly revision: number }
  | { readonly kind: 'violated'; readonly found: readonly (readonly [number, number])[] };

export class DatabaseOracle {
  readonly transactions: OracleTransaction[] = [];
  readonly #createdAtMs: number;

  constructor(createdAtMs: number) {
    this.#createdAtMs = createdAtMs;
  }

  get revision(): number {
    return this.transactions.length;
  }

  /** All events of the revisions up to `at`, in order of position. */
  events(at: number = this.revision): readonly OracleStored[] {
    return this.transactions.slice(0, at).flatMap((transaction) => transaction.events);
  }

  latest(selector: Selector | undefined): number {
    if (selector === undefined) return this.revision;
    return Math.max(0, ...this.events().map((event) => (matches(selector, event) ? event.revision : 0)));
  }

  apply(request: OracleRequest): OracleOutcome {
    const recorded = this.transactions.find((transaction) => transaction.transactionId === request.transactionId);
    if (recorded !== undefined) return { kind: 'replayed', revision: recorded.revision };
    const found: [number, number][] = [];
    for (const [index, constraint] of request.constraints.entries()) {
      const latest = this.latest(constraint.selector);
      if (!holds(constraint, latest)) found.push([index, latest]);
    }
    if (found.length > 0) return { kind: 'violated', found };
    return this.#commit(request);
  }

  #commit(request: OracleRequest): OracleOutcome {
    const revision = this.revision + 1;
    const recordedTimeMs = Math.max(request.stampedMs, this.transactions.at(-1)?.recordedTimeMs ?? this.#createdAtMs);
    const taken = new Set(this.events().map((event) => JSON.stringify([event.stream, event.storedId])));
    const recorded = { seconds: Math.floor(recordedTimeMs / 1000), nanos: (recordedTimeMs % 1000) * 1_000_000 };
    const events = request.events.map((event, index) => {
      let storedId = event.id;
      while (taken.has(JSON.stringify([event.stream, storedId]))) storedId += `~${revision}.${index}`;
      taken.add(JSON.stringify([event.stream, storedId]));
      return { ...event, revision, index, storedId, effective: event.time ?? recorded };
    });
    this.transactions.push({ transactionId: request.transactionId, revision, recordedTimeMs, events });
    const renamed = events.filter((event) => event.storedId !== event.id);
    return { kind: 'committed', revision, renamed: renamed.map((event) => [event.index, event.storedId]) };
  }
}
