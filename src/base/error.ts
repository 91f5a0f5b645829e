/**
 * The one error that a caller of Cairn can receive.
 *
 * The codes are finer than those of any wire (`too_large`, `rate_limited` and `storage_full` are one code in gRPC and
 * three in HTTP). Only transports translate them, each in one total table over `ErrorCode`, never by message text. This
 * file does not know gRPC, HTTP or MCP, and it does not log.
 *
 * A message says what is wrong, with which value, and what would be right.
 */
import type { GroupId } from './brand.ts';
import type { NodeId } from './replica.ts';

/** Every code, in the order of docs/errors.md. The list is closed: adding one fails to compile in every transport. */
export const ERROR_CODES = [
  'invalid_argument',
  'not_found',
  'already_exists',
  'constraint_violated',
  'too_large',
  'rate_limited',
  'storage_full',
  'busy',
  'not_leader',
  'unavailable',
  'not_acceptable',
  'unauthenticated',
  'permission_denied',
  'unimplemented',
  'internal',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** One malformed field of a request. All faults of a request are reported together. */
export interface FieldViolation {
  /** Path of the field as the request spells it, such as `events[3].subject`. */
  readonly field: string;
  readonly description: string;
  /** The offending value as text, cut short when it is long; absent when the field was missing. */
  readonly value?: string;
  /** The same as shown in messages: a text in quotes. */
  readonly found?: string;
}

/** One constraint that did not hold when its transaction was applied. */
export interface ConstraintViolation {
  /** Position of the constraint in the request, 0-based. */
  readonly index: number;
  readonly kind: string;
  /** The revision that the check of the constraint found. */
  readonly found: number;
  /** Value that would have satisfied the constraint, such as `at most 41`. */
  readonly required: string;
  readonly description: string;
}

/** Address of the leader, for a client that wants to connect to it directly. */
export interface LeaderAddress {
  readonly node: string;
  readonly address: string;
}

/** The instance that a request reached, and the revision at which it was judged. */
export interface ErrorScope {
  readonly databaseId: string;
  readonly revision: number;
}

/** Nodes that can answer for a group of which this node has no replica. */
export interface GroupHolders {
  readonly group: GroupId;
  readonly nodes: readonly NodeId[];
}

/** The refused attempt: the latest one under the id whose refusal is kept. */
export interface FoundRefusal {
  readonly transactionId: string;
  /** The leader's timestamp. */
  readonly atMs: number;
  /** Revision of the database then. */
  readonly revision: number;
}

export interface ErrorDetails {
  /** A finer, stable name inside the code, such as `RevisionNotFound`. */
  readonly reason?: string;
  readonly violations?: readonly FieldViolation[];
  readonly constraints?: readonly ConstraintViolation[];
  /** Path of the list that `constraints` index, as the request spells it. */
  readonly constraintsField?: string;
  readonly leader?: LeaderAddress;
  /** The leader, for callers that can look up its address. */
  readonly leaderNode?: NodeId;
  /** For this node alone, which may ask them; never sent to a client. */
  readonly holders?: GroupHolders;
  /** The group whose stored data is damaged, and its first revision that cannot be read; never sent to a client. */
  readonly damaged?: GroupId;
  readonly unreadable?: number;
  /** Absent when the request reached no instance. */
  readonly scope?: ErrorScope;
  readonly retryAfterMs?: number;
  /** JSON: details that a State Change adds to the message of its refusal. */
  readonly refusalDetails?: string;
  /** Set when an earlier refusal of the same id was looked up. */
  readonly refused?: FoundRefusal;
}

export interface ErrorContext {
  readonly details?: ErrorDetails;
  /** The underlying failure; for logs only, never sent to a client. */
  readonly cause?: unknown;
}

const NO_DETAILS: ErrorDetails = Object.freeze({});

/** An operation that failed for its caller. Expected outcomes are returned unions instead; bugs are `assert`. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, context: ErrorContext = {}) {
    super(message, 'cause' in context ? { cause: context.cause } : undefined);
    this.code = code;
    this.details = context.details ?? NO_DETAILS;
  }

  /** Returns the same error with additional details. */
  with(details: ErrorDetails): DatabaseError {
    return new DatabaseError(this.code, this.message, { details: { ...this.details, ...details }, cause: this.cause });
  }
}

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
