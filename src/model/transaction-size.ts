/** The size of a transaction, checked before its events are (decisions 4.4). */
import { DatabaseError } from '#base';
import { TRANSACTION_BYTES_MAX, TRANSACTION_EVENTS_MAX } from './limits.ts';

/** The error when there are too many events, or too many bytes (the sum of their canonical forms). */
export function transactionTooLarge(eventCount: number, eventBytes: number): DatabaseError | undefined {
  if (eventCount > TRANSACTION_EVENTS_MAX) return tooLarge('events', eventCount, TRANSACTION_EVENTS_MAX);
  return eventBytes > TRANSACTION_BYTES_MAX
    ? tooLarge('bytes of events', eventBytes, TRANSACTION_BYTES_MAX)
    : undefined;
}

function tooLarge(what: string, found: number, max: number): DatabaseError {
  const message = `The transaction is too large: ${found} ${what}, at most ${max}`;
  return new DatabaseError('too_large', message, { details: { reason: 'TransactionTooLarge' } });
}
