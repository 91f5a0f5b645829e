/** Parts of a transaction apart from its events: its origin, and the client's options; and its greatest size. */
import { DatabaseError } from '#base';
import { TRANSACTION_BYTES_MAX, TRANSACTION_EVENTS_MAX } from './limits.ts';

/** The numbers are those of the wire. */
export const ORIGIN = {
  UNSPECIFIED: 0,
  HTTP_TRANSACTION: 1,
  HTTP_STATE_CHANGE: 2,
  GRPC_TRANSACTION: 3,
  GRPC_STATE_CHANGE: 4,
  QUEUE_TRANSACTION: 5,
  QUEUE_STATE_CHANGE: 6,
} as const;

export type Origin = (typeof ORIGIN)[keyof typeof ORIGIN];

/** Names of the specification. */
export const ORIGIN_NAMES: Record<Origin, string> = {
  0: 'Unspecified',
  1: 'HttpTransaction',
  2: 'HttpStateChange',
  3: 'GrpcTransaction',
  4: 'GrpcStateChange',
  5: 'QueueTransaction',
  6: 'QueueStateChange',
};

export function isOrigin(value: number): value is Origin {
  return value in ORIGIN_NAMES;
}

/** Stored with the events and returned unchanged. */
export interface TransactionOptions {
  readonly lastReadRevision?: number | undefined;
  readonly principalAttributes: ReadonlyMap<string, string>;
  readonly commitMessage?: string | undefined;
  readonly correlationId?: string | undefined;
  readonly causationId?: string | undefined;
}

export const NO_OPTIONS: TransactionOptions = Object.freeze({ principalAttributes: new Map<string, string>() });

/**
 * The error when there are too many events, or too many bytes (the sum of their canonical forms); checked before the
 * events are (SPEC-TRANSACTION-ORDER-OF-CHECKS).
 */
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
