/** Metrics of the service; each child of a metric is created once. */

import { type Constraint, ORIGIN, type Origin } from '#model';
import type { Count, CounterLabels, Level, Metrics, Observe, TransactionResult } from '#observability';

const STREAM_OPERATIONS = ['query', 'scan', 'scan_batches', 'subscribe'] as const;
export type StreamOperation = (typeof STREAM_OPERATIONS)[number];
type MeteredOrigin = CounterLabels['cairn_transactions_total']['origin'];
type ConstraintKind = CounterLabels['cairn_constraint_checks_total']['kind'];
type ConstraintResult = CounterLabels['cairn_constraint_checks_total']['result'];

const KIND_LABELS: Readonly<Record<Constraint['kind'], ConstraintKind>> = {
  'min-revision': 'min_revision',
  'max-revision': 'max_revision',
  'revision-range': 'revision_range',
};

export class ServiceMeters {
  readonly transactionEvents: Observe;
  readonly transactionBytes: Observe;
  readonly eventsReturned: Count;
  readonly catchupLag: Observe;
  readonly tooLarge: Count;
  readonly #transactions: (origin: MeteredOrigin, result: TransactionResult) => Count;
  readonly #constraints: (kind: ConstraintKind, result: ConstraintResult) => Count;
  readonly #queries: (op: string) => Observe;
  readonly #streams: (op: StreamOperation) => Level;

  constructor(metrics: Metrics) {
    this.transactionEvents = metrics.histogram('cairn_transaction_events', {});
    this.transactionBytes = metrics.histogram('cairn_transaction_bytes', {});
    this.eventsReturned = metrics.counter('cairn_query_events_returned_total', {});
    this.catchupLag = metrics.histogram('cairn_catchup_lag_revisions', {});
    this.tooLarge = metrics.counter('cairn_rejected_total', { reason: 'too_large' });
    this.#transactions = remembered((origin, result) =>
      metrics.counter('cairn_transactions_total', { origin, result }),
    );
    this.#constraints = remembered((kind, result) =>
      metrics.counter('cairn_constraint_checks_total', { kind, result }),
    );
    this.#queries = rememberedOne((op) => metrics.histogram('cairn_query_duration_seconds', { op }));
    this.#streams = rememberedOne((op) => metrics.gauge('cairn_streams_open', { op }));
    for (const op of STREAM_OPERATIONS) {
      this.#queries(op);
      this.#streams(op).set(0);
    }
  }

  transaction(origin: Origin, result: TransactionResult): void {
    const isGrpc = origin === ORIGIN.GRPC_TRANSACTION || origin === ORIGIN.GRPC_STATE_CHANGE;
    this.#transactions(isGrpc ? 'grpc' : 'http', result).add();
  }

  constraint(kind: Constraint['kind'], result: ConstraintResult): void {
    this.#constraints(KIND_LABELS[kind], result).add();
  }

  query(op: string, seconds: number): void {
    this.#queries(op).observe(seconds);
  }

  streams(op: StreamOperation, by: 1 | -1): void {
    this.#streams(op).move(by);
  }
}

/** Creates a child at its first use and keeps it, because label handling is expensive. */
function rememberedOne<Label, Child>(make: (label: Label) => Child): (label: Label) => Child {
  const made = new Map<Label, Child>();
  return (label) => {
    const known = made.get(label);
    if (known !== undefined) return known;
    const child = make(label);
    made.set(label, child);
    return child;
  };
}

/** Like `rememberedOne`, for two labels. */
function remembered<First, Second, Child>(
  make: (first: First, second: Second) => Child,
): (first: First, second: Second) => Child {
  const byFirst = rememberedOne((first: First) => rememberedOne((second: Second) => make(first, second)));
  return (first, second) => byFirst(first)(second);
}
