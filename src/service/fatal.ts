/**
 * Classifies failures of requests: ended with the request, also logged, or fatal to the node.
 */
import { BrokenInvariant, DatabaseError } from '#base';
import { DATABASE_DAMAGED } from '#cluster';
import { isCorruptRecord, isFaultOfRow } from '#query';
import { WASM_EXECUTION_ERROR } from './errors.ts';

/** Reasons of internal errors that are no bugs: components cause them, or the log has named the damage. */
const EXPECTED_REASONS: ReadonlySet<string> = new Set([WASM_EXECUTION_ERROR, 'InternalError', DATABASE_DAMAGED]);

/**
 * Returns whether the failure of a request concerns the node: stored bytes fail their checksum. Transports then report
 * it to the process, which stops. No other failure of a request stops a node.
 */
export function isFatal(failure: unknown): boolean {
  return isCorruptRecord(failure);
}

/**
 * Returns whether the failure of a request is a bug of this node: the caller gets an internal error, and it is logged.
 */
export function isBug(failure: unknown): boolean {
  if (!(failure instanceof DatabaseError)) return true;
  return failure.code === 'internal' && !EXPECTED_REASONS.has(failure.details.reason ?? '');
}

/** Returns whether the failure may be caused by rows that were deleted during the read. */
export function mayLackRows(failure: unknown): boolean {
  return isFaultOfRow(failure) || failure instanceof BrokenInvariant;
}
