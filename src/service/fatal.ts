/**
 * Classifies failures of requests: ended with the request, also logged, or fatal to the node.
 */
import { BrokenInvariant, DatabaseError } from '#base';
import { isCorruptRecord, isFaultOfRow } from '#query';
import { WASM_EXECUTION_ERROR } from './errors.ts';

/** Reasons of internal errors that a component is at fault for: it is counted where it runs, and never logged. */
const REASONS_OF_COMPONENTS: ReadonlySet<string> = new Set([WASM_EXECUTION_ERROR, 'InternalError']);

/**
 * Whether a failure of a request concerns the node: stored bytes fail their checksum. Transports hand such a failure to
 * the process, which stops. Nothing else that a request meets stops a node.
 */
export function isFatal(failure: unknown): boolean {
  return isCorruptRecord(failure);
}

/** Whether a failure of a request is a bug of this node: the caller gets an internal error, and the log says why. */
export function isBug(failure: unknown): boolean {
  if (!(failure instanceof DatabaseError)) return true;
  return failure.code === 'internal' && !REASONS_OF_COMPONENTS.has(failure.details.reason ?? '');
}

/** Whether rows may have been deleted under the read that failed. */
export function mayLackRows(failure: unknown): boolean {
  return isFaultOfRow(failure) || failure instanceof BrokenInvariant;
}
