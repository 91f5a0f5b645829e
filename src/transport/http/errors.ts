/**
 * Replies to failed requests: `{"error": {"code", "message", "details"?}}` and a status (TH1, TH2).
 *
 * The specification has six codes. For statuses beyond them (413, 507, 503, 406) the nearest code is used; `reason` in
 * `details` and the status tell them apart. Clients need not read the text of a message.
 */
import { challenge } from '#auth';
import type { DatabaseError, ErrorCode } from '#base';
import { Faults, type Found } from '#model';
import { RawJson, rawObject, timestamp } from './json-text.ts';
import { jsonReply, scopeHeaders, type TextReply } from './reply.ts';

export type WireCode =
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'INVALID_ARGUMENT'
  | 'FAILED_PRECONDITION'
  | 'RESOURCE_EXHAUSTED'
  | 'INTERNAL'
  // The specification has no code for refused credentials; these are the names of gRPC.
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED';

export interface WireError {
  readonly status: number;
  readonly code: WireCode;
}

/** Covers all codes: a new code does not compile without an entry. */
const WIRE_ERRORS: Readonly<Record<ErrorCode, WireError>> = {
  invalid_argument: { status: 400, code: 'INVALID_ARGUMENT' },
  not_found: { status: 404, code: 'NOT_FOUND' },
  already_exists: { status: 409, code: 'ALREADY_EXISTS' },
  constraint_violated: { status: 409, code: 'FAILED_PRECONDITION' },
  too_large: { status: 413, code: 'RESOURCE_EXHAUSTED' },
  rate_limited: { status: 429, code: 'RESOURCE_EXHAUSTED' },
  storage_full: { status: 507, code: 'RESOURCE_EXHAUSTED' },
  busy: { status: 503, code: 'INTERNAL' },
  not_leader: { status: 503, code: 'INTERNAL' },
  unavailable: { status: 503, code: 'INTERNAL' },
  not_acceptable: { status: 406, code: 'INVALID_ARGUMENT' },
  unauthenticated: { status: 401, code: 'UNAUTHENTICATED' },
  permission_denied: { status: 403, code: 'PERMISSION_DENIED' },
  unimplemented: { status: 404, code: 'NOT_FOUND' },
  internal: { status: 500, code: 'INTERNAL' },
};

const MS_PER_SECOND = 1000;

/** The reply to a failed operation. It has no cache headers (TH3). */
export function errorReply(error: DatabaseError): TextReply {
  const { status, code } = WIRE_ERRORS[error.code];
  const { retryAfterMs, scope } = error.details;
  const wait = retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / MS_PER_SECOND)) };
  const readAt = scope === undefined ? {} : scopeHeaders(scope);
  // RFC 9110, section 11.6.1.
  const asked = error.code === 'unauthenticated' && { 'www-authenticate': challenge(error.details.reason) };
  const body = { error: rawObject({ code, message: error.message, details: wireDetails(error) }) };
  return jsonReply(status, body, { ...wait, ...readAt, ...asked });
}

/** Error for one malformed field. The message repeats the details, for people who read only it. */
export function invalidField(field: string, description: string, found?: Found): DatabaseError {
  const faults = new Faults();
  faults.add(field, description, found);
  return faults.toError('The request is malformed');
}

/**
 * The members of `details`. `reason` is the most specific name: our own code distinguishes errors that share one of the
 * six. The first fault is repeated at the top as `field` and `value`, as in the specification.
 */
function wireDetails({ code, details }: DatabaseError): RawJson {
  const { reason = code, violations, constraints, leader, refused, refusalDetails } = details;
  const first = violations?.[0];
  return rawObject({
    reason,
    field: first?.field,
    value: first?.value,
    violations: violations?.map(({ field, description, value }) => ({ field, description, value })),
    constraints: constraints?.map((each) => ({ ...each })),
    leader: leader && { ...leader },
    transaction_id: refused?.transactionId,
    refused_at: refused && timestamp(refused.atMs),
    refused_revision: refused?.revision,
    // Text of a component, so that its numbers keep their digits.
    details: refusalDetails === undefined ? undefined : new RawJson(refusalDetails),
  });
}
