/**
 * Maps errors of Cairn to gRPC statuses (T5).
 *
 * The rich form (google.rpc.Status in `grpc-status-details-bin`) carries an ErrorInfo with our code and its finer
 * reason, a BadRequest with every malformed field, and a PreconditionFailure with every constraint that did not hold.
 */
import {
  type ConstraintViolation,
  cut,
  DatabaseError,
  type ErrorDetails,
  type FieldViolation,
  formatInstant,
  instantFromMs,
  type LeaderAddress,
} from '#base';
import { CONSTRAINT_NAMES, describeFault } from '#model';
import { isBug, isFatal } from '#service';
import type { Any } from '../../../proto/gen/google/protobuf/any.ts';
import { BadRequest, ErrorInfo, PreconditionFailure, RetryInfo } from '../../../proto/gen/google/rpc/error_details.ts';
import { Status } from '../../../proto/gen/google/rpc/status.ts';
import { decoded } from '../request-reader.ts';
import { BUG, type CallStatus, GRPC_STATUS, type GrpcStatusName, STATUS_OF_CODE } from './wire/status.ts';

const DOMAIN = 'cairn.dev';
const KINDS: Readonly<Record<string, string>> = CONSTRAINT_NAMES;
/** Clients accept 8 KiB of trailers by default; base64 adds a third, and the trailers also contain the message. */
const VIOLATION_BYTES_MAX = 4096;
/** Maximum bytes of the details of a State Change's refusal. */
const REFUSAL_BYTES_MAX = 2048;
/** Maximum length of a message, which is in the trailers twice: plain, and encoded as `grpc-message`. */
const MESSAGE_LENGTH_MAX = 1000;
const MESSAGE_BYTES_MAX = 1200;
const ENCODED_BYTES_MAX = 9;
const FIELD_BYTES = 3;

export interface FailureListeners {
  /** A bug that concerns one call. */
  readonly onBug: (failure: unknown) => void;
  /** Stops the node. */
  readonly onFatal: (failure: unknown) => void;
}

/** The status for a failure of an operation. An internal failure is reported without details. */
export function statusOfFailure(failure: unknown, listeners: FailureListeners): CallStatus {
  if (isFatal(failure)) listeners.onFatal(failure);
  else if (isBug(failure)) listeners.onBug(failure);
  if (failure instanceof DatabaseError) return statusOfError(failure);
  return statusOfError(new DatabaseError('internal', BUG.message));
}

/** The status of the error's code, unless gRPC requires another. */
export function statusOfError(error: DatabaseError, code: GrpcStatusName = STATUS_OF_CODE[error.code]): CallStatus {
  const message = shortened(error.message);
  const details = Status.encode({
    code: GRPC_STATUS[code],
    message,
    details: detailsOf(error),
  }).finish();
  const { leader, scope } = error.details;
  const trailers = scope && { 'x-database-id': scope.databaseId, 'x-revision': String(scope.revision) };
  const status = { code, message, details, ...(trailers === undefined ? {} : { trailers }) };
  return withLeader(status, leader);
}

/** The finer reason in the details of a status, from any node; undefined: none. */
export function reasonOf(details: Uint8Array | undefined): string | undefined {
  // Malformed details are passed on unchanged.
  const all = details && decoded(Status, details)?.details;
  const info = all?.find(({ typeUrl }) => typeUrl === typeUrlOf('ErrorInfo'));
  return info && decoded(ErrorInfo, info.value)?.metadata['reason'];
}

/** The status of a write: its trailers tell a client where the leader is. */
export function withLeader(status: CallStatus, leader: LeaderAddress | undefined): CallStatus {
  if (leader === undefined) return status;
  return {
    ...status,
    trailers: { ...status.trailers, 'x-leader-node': leader.node, 'x-leader-address': leader.address },
  };
}

function detailsOf(error: DatabaseError): readonly Any[] {
  const { violations, constraints, constraintsField = 'constraints', retryAfterMs } = error.details;
  const info = { reason: error.code, domain: DOMAIN, metadata: metadataOf(error.details) };
  const details = [any('ErrorInfo', ErrorInfo.encode(info).finish())];
  if (violations !== undefined) details.push(badRequest(violations));
  if (constraints !== undefined) details.push(preconditionFailure(constraints, constraintsField));
  if (retryAfterMs !== undefined) {
    const retryDelay = { seconds: Math.floor(retryAfterMs / 1000), nanos: (retryAfterMs % 1000) * 1_000_000 };
    details.push(any('RetryInfo', RetryInfo.encode({ retryDelay }).finish()));
  }
  return details;
}

function metadataOf({ reason, refused, refusalDetails }: ErrorDetails): Record<string, string> {
  const hasRoom = refusalDetails !== undefined && Buffer.byteLength(refusalDetails) <= REFUSAL_BYTES_MAX;
  const named = {
    ...(reason === undefined ? {} : { reason }),
    ...(hasRoom ? { details: refusalDetails } : {}),
  };
  if (refused === undefined) return named;
  return {
    ...named,
    transaction_id: refused.transactionId,
    refused_at: formatInstant(instantFromMs(refused.atMs)),
    refused_revision: String(refused.revision),
  };
}

function badRequest(violations: readonly FieldViolation[]): Any {
  const fieldViolations = violations.map((violation) => ({
    field: violation.field,
    description: describeFault(violation),
  }));
  return any('BadRequest', BadRequest.encode({ fieldViolations: withinBudget(fieldViolations) }).finish());
}

function preconditionFailure(constraints: readonly ConstraintViolation[], list: string): Any {
  const violations = constraints.map(({ index, kind, description }) => ({
    type: KINDS[kind] ?? kind,
    subject: `${list}[${index}]`,
    description,
  }));
  return any('PreconditionFailure', PreconditionFailure.encode({ violations: withinBudget(violations) }).finish());
}

/** The part of a message that a client receives; most have a hundred characters. */
function shortened(message: string): string {
  const short = cut(message, MESSAGE_LENGTH_MAX);
  const isShort = encodeURI(short.toWellFormed()).length <= MESSAGE_BYTES_MAX;
  return isShort ? short : cut(message, MESSAGE_BYTES_MAX / ENCODED_BYTES_MAX);
}

/** The violations that fit into the trailers; the message of the status counts all. */
function withinBudget<Violation extends Readonly<Record<string, string>>>(
  violations: readonly Violation[],
): Violation[] {
  const kept: Violation[] = [];
  let length = 0;
  for (const violation of violations) {
    length += Object.values(violation).reduce((sum, text) => sum + Buffer.byteLength(text) + FIELD_BYTES, 0);
    if (length > VIOLATION_BYTES_MAX) break;
    kept.push(violation);
  }
  return kept;
}

function any(name: string, value: Uint8Array): Any {
  return { typeUrl: typeUrlOf(name), value: Buffer.from(value) };
}

function typeUrlOf(name: string): string {
  return `type.googleapis.com/google.rpc.${name}`;
}
