/** Minimal requests for tests of the gRPC interface. */
import type { Event } from '../../proto/gen/cairn/v1/event.ts';
import { Event as EventMessage, EventSelector } from '../../proto/gen/cairn/v1/event.ts';
import { Constraint, TransactRequest } from '../../proto/gen/cairn/v1/transaction.ts';

let databaseCount = 0;

/** A name that is unique within the process. */
export function uniqueName(word: string = 'db'): string {
  databaseCount++;
  return `${word}-${process.pid}-${databaseCount}`;
}

export function event(parts: Parameters<typeof EventMessage.fromPartial>[0] = {}): Event {
  return EventMessage.fromPartial({ id: 'e-1', specVersion: '1.0', ty: 'order.placed', source: 'orders', ...parts });
}

/** A request in the form with a `transaction` field. */
export function transaction(
  databaseName: string,
  events: readonly Event[],
  rest: { readonly constraints?: readonly Constraint[]; readonly transactionId?: string } = {},
): TransactRequest {
  return TransactRequest.fromPartial({ databaseName, transaction: { events, ...rest } });
}

export function selector(parts: Parameters<typeof EventSelector.fromPartial>[0]): EventSelector {
  return EventSelector.fromPartial(parts);
}

export function minRevision(revision: number, selected?: EventSelector): Constraint {
  return Constraint.fromPartial({ kind: { $case: 'minRevision', value: { revision, selector: selected } } });
}

export function maxRevision(revision: number, selected?: EventSelector): Constraint {
  return Constraint.fromPartial({ kind: { $case: 'maxRevision', value: { revision, selector: selected } } });
}
