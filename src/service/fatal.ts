import { BrokenInvariant, DatabaseError } from '#base';

/**
 * Whether a failure concerns the node and not one request: a bug that broke an invariant, or stored rows that are not
 * what we wrote. Transports throw such a failure on instead of answering it; whoever runs the process stops it.
 */
export function isFatal(failure: unknown): boolean {
  if (failure instanceof DatabaseError) return failure.details.reason === 'CorruptRecord';
  return failure instanceof BrokenInvariant;
}
